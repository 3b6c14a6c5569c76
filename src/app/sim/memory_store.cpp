#include "app/sim/memory_store.hpp"

#include "core/model/codec.hpp"
#include "edge/sqlite/batch.hpp"

namespace muster {
namespace {

tl::unexpected<Error> clash(std::string what) {
  return fail(Kind::conflict, std::move(what), "report this; nothing was written");
}

std::pair<std::string, std::string> key_of(const JobSpec& spec) { return {spec.user, spec.key}; }

}  // namespace

Result<Loaded> MemoryStore::load() {
  Loaded loaded;
  loaded.jobs.reserve(live_.size());
  for (const JobSeq seq : live_) {
    TRY(auto row, job(seq));
    loaded.jobs.push_back(std::move(*row));
  }
  loaded.last_seq = last_seq_;
  loaded.last_event = last_event_;
  loaded.id_key = id_key_;
  loaded.run = run_;
  return loaded;
}

Result<> MemoryStore::commit(const Batch& batch) {
  TRY_VOID(refuse_clashes(batch));
  const auto fault = std::exchange(fault_, std::nullopt);
  if (fault == CommitFault::before)
    return fail(Kind::exhausted, "no room to write the store", "this failure was asked for");
  apply(batch);
  if (fault == CommitFault::after)
    return fail(Kind::unavailable, "the disk failed under the store", "this failure was asked for");
  return {};
}

/// All that SQLite's constraints would refuse, before the first change.
Result<> MemoryStore::refuse_clashes(const Batch& batch) const {
  TRY(const auto submissions, submissions_of(batch));
  if (!batch.events.empty() && batch.events.front().sequence <= last_event_)
    return clash(fmt::format("there is an event {} already", batch.events.front().sequence));
  std::set<std::string> new_ids;
  for (const auto& row : batch.jobs) {
    const auto found = jobs_.find(row.seq);
    if (!submissions.contains(row.seq)) {
      if (found == jobs_.end()) return not_updatable(row.seq);
      if (found->second.is_final && !is_final(row.state)) return not_updatable(row.seq);
      continue;
    }
    if (found != jobs_.end()) return clash(fmt::format("there is a job {} already", row.seq));
    if (ids_.contains(row.id.str()) || !new_ids.insert(row.id.str()).second)
      return clash(fmt::format("there is a job {} already", row.id.str()));
  }
  std::set<std::pair<std::string, std::string>> new_keys;
  for (const auto& [seq, submission] : submissions) {
    const auto key = key_of(submission.event->spec);
    if (key.second.empty()) continue;
    if (keys_.contains(key) || !new_keys.insert(key).second)
      return clash(fmt::format("the key of job {} is taken", seq));
  }
  return {};
}

void MemoryStore::apply(const Batch& batch) {
  for (const auto& event : batch.events) {
    last_event_ = event.sequence;
    const auto* submitted = std::get_if<Submitted>(&event.body);
    if (submitted == nullptr && history_ == History::dropped) continue;
    if (submitted != nullptr) {
      jobs_[event.job].submission = events_.size();
      if (!submitted->spec.key.empty())
        keys_[key_of(submitted->spec)] = {event.job, {}, submitted->spec.request_hash};
    }
    events_.push_back({event.sequence, event.at, event.actor, event.job, kind_of(event.body),
                       encode_body(event.body)});
  }
  for (const auto& [seq, attempt] : batch.ended)
    attempts_[seq][attempt.n] = {attempt.state, encode(attempt)};
  for (const auto& job : batch.jobs) {
    auto& row = jobs_[job.seq];
    if (row.id.empty()) {  // never changes after the submission
      row.id = job.id;
      ids_[job.id.str()] = job.seq;
    }
    row.is_final = is_final(job.state);
    row.body = encode(job);
    if (row.is_final) {
      live_.erase(job.seq);
    } else {
      live_.insert(job.seq);
    }
    last_seq_ = std::max(last_seq_, job.seq);
    if (job.live) attempts_[job.seq][job.live->n] = {job.live->state, encode(*job.live)};
  }
  run_ = batch.now.run;
}

Result<std::optional<KeyHit>> MemoryStore::find_key(std::string_view user, std::string_view key) {
  const auto found = keys_.find({std::string(user), std::string(key)});
  if (found == keys_.end()) return std::nullopt;
  KeyHit hit = found->second;
  hit.id = jobs_.at(hit.seq).id;
  return hit;
}

Result<JobSpec> MemoryStore::spec(JobSeq seq) {
  const auto found = jobs_.find(seq);
  if (found == jobs_.end()) return no_job(seq);
  return spec_of_row(seq, kEventVersion, events_.at(found->second.submission).body);
}

Result<std::optional<Job>> MemoryStore::job(JobSeq seq) {
  const auto found = jobs_.find(seq);
  if (found == jobs_.end()) return std::nullopt;
  TRY(auto job, job_of_row(seq, found->second.body));
  TRY(job.live, live_attempt(seq));
  return job;
}

Result<std::optional<Attempt>> MemoryStore::live_attempt(JobSeq seq) const {
  const auto found = attempts_.find(seq);
  if (found == attempts_.end()) return std::nullopt;
  const auto& rows = found->second;
  const auto live = std::find_if(rows.rbegin(), rows.rend(), [](const auto& row) {
    return row.second.state != AttemptState::ended;
  });
  if (live == rows.rend()) return std::nullopt;
  TRY(auto attempt, attempt_of_row(seq, live->second.body));
  return attempt;
}

Result<std::vector<Event>> MemoryStore::events() const {
  std::vector<Event> events;
  events.reserve(events_.size());
  for (const auto& row : events_) {
    TRY(auto body, decode_body(row.kind, kEventVersion, row.body));
    events.push_back({row.sequence, row.at, row.actor, row.job, std::move(body)});
  }
  return events;
}

Result<std::vector<Attempt>> MemoryStore::attempts(JobSeq job) const {
  std::vector<Attempt> attempts;
  const auto found = attempts_.find(job);
  if (found == attempts_.end()) return attempts;
  for (const auto& [n, row] : found->second) {
    TRY(auto attempt, attempt_of_row(job, row.body));
    attempts.push_back(std::move(attempt));
  }
  return attempts;
}

}  // namespace muster
