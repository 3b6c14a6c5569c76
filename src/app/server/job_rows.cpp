#include "app/server/job_rows.hpp"

#include "app/server/reasons.hpp"
#include "app/server/row_cells.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"

namespace muster::server {
namespace {

/// About 1 KiB each; beyond that many the server reads them again rather than grow.
constexpr std::size_t kMostKept = 20'000;
constexpr std::uint64_t kFinal = 0;  // in the place of a hash: nothing changes any more

}  // namespace

Result<std::shared_ptr<const JobRows::Kept>> JobRows::find(Records& records,
                                                           const StoredJob& stored) {
  const auto hash = stored.is_final ? kFinal : xxh3(stored.body);
  {
    const std::lock_guard hold(mutex_);
    const auto found = kept_.find(stored.seq);
    if (found != kept_.end() && found->second->body == hash) return found->second;
  }
  TRY(auto row, records.row(stored.seq));
  auto text = row_cells(row);
  row.job.live.reset();
  auto kept = std::make_shared<const Kept>(
      Kept{.body = hash, .job = std::move(row.job), .text = std::move(text)});
  const std::lock_guard hold(mutex_);
  if (kept_.size() >= kMostKept) kept_.clear();
  kept_[stored.seq] = kept;
  return kept;
}

Result<std::string> JobRows::list(Records& records, const JobFilter& filter,
                                  const driver::Picture& picture, Now now) {
  std::string out(kRowTitles);
  static const QueuePlaces kNobody;
  std::optional<QueuePlaces> places;  // looked up when a job is queued
  const auto see = [&](const StoredJob& stored) -> Result<> {
    TRY(const auto kept, find(records, stored));
    if (kept->job.state == JobState::queued && !places) {
      TRY(places, queue_places(records));
    }
    out += kept->text;
    if (auto reason = first_reason(picture, now, kept->job, places ? *places : kNobody))
      out += printable(reason->text);
    out += '\n';
    return {};
  };
  TRY_VOID(records.each(filter, see));
  return out;
}

}  // namespace muster::server
