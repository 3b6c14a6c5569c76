/// Why jobs wait, from the store and the published picture: never asks the driver's thread.
#pragma once
#include <optional>
#include <unordered_map>
#include <vector>

#include "app/server/office.hpp"
#include "core/model/reason.hpp"

namespace muster::server {

/// For each queued job, how many come before it.
using QueuePlaces = std::unordered_map<JobSeq, std::int64_t>;

Result<QueuePlaces> queue_places(Records& records);
/// Only looked up when a row is queued.
Result<QueuePlaces> queue_places(Records& records, const std::vector<JobRow>& rows);
std::vector<Reason> reasons_of(const driver::Picture& picture, Now now, const Job& job,
                               const QueuePlaces& places);
/// The one that matters most, if there is any, without the work for the others.
std::optional<Reason> first_reason(const driver::Picture& picture, Now now, const Job& job,
                                   const QueuePlaces& places);
Result<std::vector<Reason>> reasons_for(Office& office, Records& records, const Job& job);

}  // namespace muster::server
