/// One value of each kind with every field set, the same for ever: golden files are made of them.
#pragma once
#include <vector>

#include "core/model/event.hpp"
#include "edge/process/attempt_dir.hpp"
#include "edge/sqlite/records.hpp"

namespace muster::golden {

JobSpec sample_spec();
ExitRecord sample_record();
/// Attempt 1, which lost a supervisor, and attempt 2, which failed by itself.
JobDetail sample_job();
/// One body of every kind, in the order of the variant.
std::vector<EventBody> sample_events();
process::ShimMark sample_mark();

}  // namespace muster::golden
