#include "edge/sqlite/batch.hpp"

#include <set>

#include "core/model/codec.hpp"

namespace muster {
namespace {

template <class T>
Result<T> as_damage(Result<T> result, std::string_view what) {
  if (!result) {
    auto& error = result.error();
    if (error.kind != Kind::corrupt && error.why.empty()) error.why = error.what;
    error.kind = Kind::corrupt;
    if (error.fix.empty())
      error.fix.emplace_back("put back a copy of the store (store.db.before-N, or your backup)");
  }
  return within(std::move(result), what);
}

tl::unexpected<Error> bad_batch(std::string what) {
  return fail(Kind::internal, "a batch cannot be written: " + std::move(what),
              "report this; nothing was written");
}

}  // namespace

Result<Submissions> submissions_of(const Batch& batch) {
  Submissions submissions;
  std::int64_t last = 0;
  for (const auto& event : batch.events) {
    if (event.sequence <= last)
      return bad_batch(fmt::format("event {} comes after event {}", event.sequence, last));
    last = event.sequence;
    const auto* submitted = std::get_if<Submitted>(&event.body);
    if (submitted == nullptr) continue;
    if (!submissions.emplace(event.job, Submission{event.sequence, submitted}).second)
      return bad_batch(fmt::format("job {} is submitted twice", event.job));
  }
  std::set<JobSeq> rows;
  for (const auto& job : batch.jobs)
    if (!rows.insert(job.seq).second)
      return bad_batch(fmt::format("job {} is twice in it", job.seq));
  for (const auto& [seq, submission] : submissions)
    if (!rows.contains(seq))
      return bad_batch(fmt::format("job {} is submitted, but has no row", seq));
  return submissions;
}

Result<Job> job_of_row(JobSeq seq, std::string_view body) {
  return as_damage(decode_job(body), fmt::format("job {}", seq));
}

Result<Attempt> attempt_of_row(JobSeq seq, std::string_view body) {
  return as_damage(decode_attempt(body), fmt::format("an attempt of job {}", seq));
}

Result<JobSpec> spec_of_row(JobSeq seq, int version, std::string_view body) {
  const auto where = fmt::format("the submission of job {}", seq);
  TRY(auto event, as_damage(decode_body("submitted", version, body), where));
  auto* submitted = std::get_if<Submitted>(&event);
  if (submitted == nullptr) return as_damage<JobSpec>(fail(Kind::corrupt, "another event"), where);
  return std::move(submitted->spec);
}

tl::unexpected<Error> no_job(JobSeq seq) {
  return fail(Kind::not_found, fmt::format("no job with number {}", seq),
              "list them: muster query");
}

tl::unexpected<Error> not_updatable(JobSeq seq) {
  return bad_batch(fmt::format("job {} is unknown, or would cease to be final", seq));
}

}  // namespace muster
