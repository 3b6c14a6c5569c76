#include "app/server/reasons.hpp"

#include <algorithm>

#include "core/sched/why.hpp"

namespace muster::server {
namespace {

/// What the cluster says about an attempt that does not run or cannot be seen; each thing once.
std::vector<Reason> as_seen(const driver::Picture& picture, const Job& job) {
  std::vector<Reason> reasons;
  for (const auto& [seq, reason] : picture.waits_for) {
    if (seq != job.seq) continue;
    const bool is_told = std::any_of(reasons.begin(), reasons.end(), [&](const auto& other) {
      return other.code == reason.code && other.text == reason.text;
    });
    if (!is_told) reasons.push_back(reason);
  }
  return reasons;
}

/// A job that is on its way has one reason, too: what it is waiting for.
std::vector<Reason> on_the_way(const driver::Picture& picture, const Job& job) {
  if (auto seen = as_seen(picture, job); !seen.empty() && !is_final(job.state)) return seen;
  switch (job.state) {
    case JobState::starting:
      return {{.code = "starting",
               .text = "its processes are being started",
               .fix = "nothing: it runs in a moment"}};
    case JobState::stopping:
      return {{.code = "stopping",
               .text = fmt::format("asked to stop{}; killed when its grace is over",
                                   job.cancelled_by.empty() ? "" : " by " + job.cancelled_by),
               .fix = "nothing: it ends by itself"}};
    default: return {};
  }
}

/// Jobs before this one that no node can hold: nobody waits for them.
std::int64_t passed_before(const driver::Picture& picture, const Job& job) {
  return std::count_if(picture.passed_over.begin(), picture.passed_over.end(),
                       [&](const auto& other) {
                         return other.first > job.priority ||
                                (other.first == job.priority && other.second < job.seq);
                       });
}

}  // namespace

Result<QueuePlaces> queue_places(Records& records, const std::vector<JobRow>& rows) {
  const bool any = std::any_of(rows.begin(), rows.end(),
                               [](const auto& row) { return row.job.state == JobState::queued; });
  return any ? queue_places(records) : QueuePlaces{};
}

Result<QueuePlaces> queue_places(Records& records) {
  QueuePlaces places;
  TRY(const auto queue, records.queue());
  for (std::size_t i = 0; i < queue.size(); ++i) places[queue[i]] = static_cast<std::int64_t>(i);
  return places;
}

namespace {

sched::Question question_of(const driver::Picture& picture, Now now, const Job& job,
                            const QueuePlaces& places) {
  const auto place = places.find(job.seq);
  const auto before = place == places.end() ? 0 : place->second;
  return {.view = picture.view,
          .holders = picture.holders,
          .job = job,
          .ahead = std::max<std::int64_t>(before - passed_before(picture, job), 0),
          .now = now};
}

}  // namespace

std::vector<Reason> reasons_of(const driver::Picture& picture, Now now, const Job& job,
                               const QueuePlaces& places) {
  if (job.state != JobState::queued) return on_the_way(picture, job);
  return sched::why_waiting(question_of(picture, now, job, places));
}

std::optional<Reason> first_reason(const driver::Picture& picture, Now now, const Job& job,
                                   const QueuePlaces& places) {
  if (is_final(job.state)) return std::nullopt;
  auto question = question_of(picture, now, job, places);
  question.is_first_enough = true;
  auto reasons =
      job.state == JobState::queued ? sched::why_waiting(question) : on_the_way(picture, job);
  return reasons.empty() ? std::nullopt : std::optional(std::move(reasons.front()));
}

Result<std::vector<Reason>> reasons_for(Office& office, Records& records, const Job& job) {
  QueuePlaces places;
  if (job.state == JobState::queued) {
    TRY(places[job.seq], records.queued_ahead(job.priority, job.seq));
  }
  return reasons_of(*office.driver.picture(), office.clock.now(), job, places);
}

}  // namespace muster::server
