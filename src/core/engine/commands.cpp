/// What people ask for: submit, abort, signal.
#include "base/hash.hpp"
#include "core/engine/world.hpp"
#include "core/lifecycle/apply.hpp"
#include "core/sched/why.hpp"

namespace muster::engine {
namespace {

/// Ids are made of a small alphabet, so that they are safe in paths, labels and shells.
std::string id_word(const std::string& user) {
  std::string word;
  for (const char c : user)
    word += (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ? c
            : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a')
                                   : '-';
  return word.empty() ? "user" : word.substr(0, 32);
}

JobId make_id(const std::string& user, WallTime at, JobSeq seq, std::uint64_t key) {
  return JobId(fmt::format("{}_{}_{:08x}", id_word(user), at.us / 1'000'000,
                           permute32(static_cast<std::uint32_t>(seq), key)));
}

tl::unexpected<Error> key_conflict(const std::string& key, const JobId& id) {
  return fail(Kind::conflict,
              fmt::format("key \"{}\" already names job {} with another request", key, id.str()),
              "use another --key, or repeat the first request exactly");
}

}  // namespace

void Engine::World::take(const SubmitJob& command) {
  const auto& spec = command.spec;
  std::optional<KnownKey> known = command.known;
  if (const auto found = keys.find({spec.user, spec.key});
      !spec.key.empty() && found != keys.end()) {
    const auto& job = jobs.at(found->second);
    known = KnownKey{job.seq, job.id, job.request_hash};
  }
  if (known) {
    Reply reply{command.ticket, Answer{.seq = known->seq, .id = known->id, .existed = true}};
    if (known->request_hash != spec.request_hash) reply.answer = key_conflict(spec.key, known->id);
    out.replies.push_back(std::move(reply));
    return;
  }
  const JobSeq seq = ++last_seq;
  const Submitted submitted{.id = make_id(spec.user, now.wall, seq, id_key), .spec = spec};
  Job& job = jobs.emplace(seq, lifecycle::born(seq, now.wall, submitted)).first->second;
  if (!spec.key.empty()) keys[{spec.user, spec.key}] = seq;
  emit(job, submitted, spec.user);
  out.replies.push_back(
      {command.ticket, Answer{.seq = seq,
                              .id = job.id,
                              .warnings = sched::why_never(view, job.cluster, job.request)}});
}

void Engine::World::take(const AbortJob& command) {
  const auto found = jobs.find(command.seq);
  if (found == jobs.end()) {  // final already: nothing to do, and that is fine
    out.replies.push_back({command.ticket, Answer{.seq = command.seq, .existed = true}});
    return;
  }
  Job& job = found->second;
  out.replies.push_back({command.ticket, Answer{.seq = job.seq, .id = job.id}});
  if (is_final(job.state)) return;  // ended in this very step
  if (job.cancelled_by.empty()) emit(job, CancelRequested{.by = command.by}, command.by);
  if (job.live)
    out.actions.push_back(Stop{ref_of(job, job.live->n),
                               static_cast<int>(job.live->placements.size()), "abort", job.grace});
  else
    emit(job, Finished{.state = JobState::cancelled, .cause = Cause::cancelled}, command.by);
}

void Engine::World::take(const SignalJob& command) {
  const auto found = jobs.find(command.seq);
  // Before it runs nobody would hear it, and nothing remembers it.
  const bool can_hear = found != jobs.end() && found->second.live &&
                        (found->second.live->state == AttemptState::running ||
                         found->second.live->state == AttemptState::stopping);
  if (!can_hear) {
    out.replies.push_back(
        {command.ticket, fail(Kind::conflict, "the job has no running attempt to signal",
                              "see its state: muster query")});
    return;
  }
  const Job& job = found->second;
  out.actions.push_back(Signal{ref_of(job, job.live->n),
                               static_cast<int>(job.live->placements.size()), command.number});
  out.replies.push_back({command.ticket, Answer{.seq = job.seq, .id = job.id}});
}

}  // namespace muster::engine
