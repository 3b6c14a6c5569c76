#include "app/server/fold_check.hpp"

#include "core/lifecycle/apply.hpp"
#include "core/model/codec.hpp"

namespace muster::server {
namespace {

constexpr std::size_t kPage = 10'000;

Result<lifecycle::Fold> fold_all(Records& records) {
  lifecycle::Fold fold;
  std::int64_t after = 0;
  for (;;) {
    TRY(const auto rows, records.events(after, std::nullopt, kPage));
    for (const auto& row : rows) {
      TRY(auto body, decode_body(row.kind, row.version, row.body));
      fold.feed({.sequence = row.sequence,
                 .at = row.at,
                 .actor = row.actor,
                 .job = row.job,
                 .body = std::move(body)});
      after = row.sequence;
    }
    if (rows.size() < kPage) return fold;
  }
}

std::string without_live(Job job) {
  job.live.reset();
  return encode(job);
}

}  // namespace

Result<std::string> fold_difference(Records& records) {
  TRY(const auto fold, fold_all(records));
  TRY(const auto rows, records.list({}));
  if (rows.size() != fold.jobs.size())
    return fmt::format("{} jobs in events, {} in tables", fold.jobs.size(), rows.size());
  for (const auto& [seq, job] : fold.jobs) {
    TRY(const auto detail, records.detail(seq));
    if (without_live(detail.job) != without_live(job))
      return fmt::format("job {}: table {} fold {}", job.id.str(), without_live(detail.job),
                         without_live(job));
    if (std::ssize(detail.attempts) != job.attempts)
      return fmt::format("job {}: {} attempts in events, {} in tables", job.id.str(), job.attempts,
                         detail.attempts.size());
    for (const auto& attempt : detail.attempts) {
      const auto found = fold.attempts.find({seq, attempt.n});
      if (found == fold.attempts.end())
        return fmt::format("attempt {} of {} is in no event", attempt.n, job.id.str());
      if (encode(found->second) != encode(attempt))
        return fmt::format("attempt {} of {}: table {} fold {}", attempt.n, job.id.str(),
                           encode(attempt), encode(found->second));
    }
  }
  return std::string();
}

}  // namespace muster::server
