#include "app/sim/simulation.hpp"

#include <algorithm>
#include <csignal>
#include <memory>

#include "app/driver/driver.hpp"
#include "app/sim/memory_store.hpp"
#include "app/sim/oracle.hpp"
#include "core/plan/plan.hpp"
#include "edge/sim/sim_backend.hpp"

namespace muster::sim {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kFaultyPhase = hours(2);
constexpr Duration kQuietPhase = hours(24 * 20);
constexpr RunTime kNeverTime{INT64_MAX};

/// Each fault is on in about half of the seeds, at a random rate.
std::uint64_t rate(Rng& rng) { return rng.one_in(2) ? 0 : 3 + rng.below(60); }

Faults random_faults(Rng& rng) {
  return {.launch_lost = rate(rng),
          .perform_fails = rate(rng),
          .shim_dies = rate(rng),
          .refused = rate(rng),
          .port_taken = rate(rng),
          .stale_sight = rate(rng),
          .twice = rate(rng),
          .hint_lost = rate(rng)};
}

std::vector<Node> random_nodes(Rng& rng) {
  std::vector<Node> nodes;
  const auto count = 1 + rng.below(4);
  for (std::uint64_t i = 0; i < count; ++i)
    nodes.push_back({.name = NodeName(fmt::format("n{}", i)),
                     .cpus = {static_cast<std::int64_t>(1000 * (1 + rng.below(8)))},
                     .memory = {static_cast<std::int64_t>(1 + rng.below(64)) << 30},
                     .gpus = static_cast<int>(rng.below(5))});
  return nodes;
}

JobSpec random_spec(Rng& rng, int number) {
  JobSpec spec{.command = {"sim", fmt::format("run={}", rng.below(1'200'000))},
               .user = rng.one_in(2) ? "ann" : "bob"};
  if (rng.one_in(3)) spec.command.push_back(fmt::format("exit={}", rng.below(4)));
  if (rng.one_in(8))
    spec.command.push_back(fmt::format("signal={}", rng.one_in(2) ? SIGSEGV : SIGKILL));
  if (rng.one_in(5)) spec.command.emplace_back(rng.one_in(2) ? "term=ignore" : "term=exit0");
  spec.key = fmt::format("key-{}", number);
  spec.request_hash = fmt::format("hash-{}", number);
  spec.name = fmt::format("job-{}", number);
  spec.priority = static_cast<int>(rng.below(3)) - 1;
  spec.request = {.nodes = static_cast<int>(1 + rng.below(3)),
                  .procs_per_node = static_cast<int>(1 + rng.below(2)),
                  .gpus_per_node = static_cast<int>(rng.below(3)),
                  .cpus_per_node = {static_cast<std::int64_t>(500 * (1 + rng.below(4)))}};
  if (rng.one_in(4))
    spec.command.push_back(
        fmt::format("rank={}", rng.below(static_cast<std::uint64_t>(spec.request.ranks()))));
  if (rng.one_in(6)) spec.time_limit = seconds(1 + rng.below(600));
  spec.retries.user = static_cast<int>(rng.below(3));
  return spec;
}

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed)
      : rng_(seed),
        crash_rate_(rate(rng_)),
        commit_rate_(rate(rng_)),
        jump_rate_(rate(rng_)),
        nodes_(random_nodes(rng_)),
        backend_(nodes_, random_faults(rng_), rng_.split()) {
    verdict_.seed = seed;
    backend_.on_change([this](std::vector<AttemptRef> refs) {
      hints_.insert(hints_.end(), refs.begin(), refs.end());
    });
    const int jobs = static_cast<int>(1 + rng_.below(25));
    for (int i = 0; i < jobs; ++i) {
      Client client{.spec = random_spec(rng_, i),
                    .next_try = {static_cast<std::int64_t>(rng_.below(3'600'000'000))}};
      if (rng_.one_in(5))
        client.abort_at =
            client.next_try + Duration(static_cast<std::int64_t>(rng_.below(1'200'000'000)));
      clients_.push_back(std::move(client));
    }
    boot();
  }

  Verdict run() {
    while (now_.run < RunTime{} + kFaultyPhase && verdict_.broken.empty())
      tick(RunTime{} + kFaultyPhase);
    backend_.calm();
    crash_rate_ = commit_rate_ = jump_rate_ = 0;
    const RunTime end = now_.run + kQuietPhase;
    while (now_.run < end && verdict_.broken.empty() &&
           !(all_acked() && driver_->engine() && only_impossible_left()))
      tick(end);
    judge();
    return verdict_;
  }

 private:
  struct Client {
    JobSpec spec;
    RunTime next_try;
    std::optional<JobId> acked;
    JobSeq seq = 0;
    std::optional<RunTime> abort_at;
    bool abort_sent = false;
    bool abort_acked = false;
  };

  void boot() {
    driver_ = std::make_unique<driver::Driver>(driver::DriverDeps{
        .store = store_, .backend = backend_, .log = log_, .equip = [this](const Launch& launch) {
          return equip(launch);
        }});
    wake_ = now_.run;
  }

  Result<driver::Equipment> equip(const Launch& launch) {
    TRY(const auto spec, store_.spec(launch.ref.seq));
    return driver::Equipment{
        .plan = std::make_shared<const Plan>(plan::make_plan(
            spec, launch, launch.ref.attempt,
            {.home_id = "sim", .master_addr = "sim", .job_dir = "sim", .tools_dir = "sim"})),
        .spec = nullptr};
  }

  bool strikes(std::uint64_t one_in) { return one_in != 0 && rng_.one_in(one_in); }

  RunTime next_moment(RunTime limit) const {
    RunTime next = std::min(limit, wake_.value_or(kNeverTime));
    if (!hints_.empty()) next = std::min(next, now_.run + milliseconds(1));
    if (const auto change = backend_.next_change()) next = std::min(next, *change);
    for (const auto& client : clients_) {
      if (!client.acked) next = std::min(next, client.next_try);
      if (client.acked && client.abort_at && !client.abort_acked)
        next = std::min(next, *client.abort_at);
    }
    return std::max(next, now_.run + Duration(1));
  }

  std::vector<engine::Input> due_commands() {
    std::vector<engine::Input> inbox;
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      auto& client = clients_[i];
      if (!client.acked && client.next_try <= now_.run) {
        client.next_try = now_.run + seconds(1);
        inbox.push_back(engine::SubmitJob{.ticket = 2 * i + 1, .spec = client.spec});
      } else if (client.acked && client.abort_at && *client.abort_at <= now_.run &&
                 !client.abort_acked) {
        client.abort_at = now_.run + seconds(1);
        client.abort_sent = true;
        inbox.push_back(
            engine::AbortJob{.ticket = 2 * i + 2, .seq = client.seq, .by = client.spec.user});
      }
    }
    return inbox;
  }

  void deliver(const std::vector<engine::Reply>& replies) {
    for (const auto& reply : replies) {
      auto& client = clients_[(reply.ticket - 1) / 2];
      if (!reply.answer) continue;  // the client tries again with the same key
      if (reply.ticket % 2 == 0) {
        client.abort_acked = true;
        continue;
      }
      if (client.acked && *client.acked != reply.answer->id)
        verdict_.broken = fmt::format("key {} was answered with two ids", client.spec.key);
      client.acked = reply.answer->id;
      client.seq = reply.answer->seq;
    }
  }

  void tick(RunTime limit) {
    const RunTime next = next_moment(limit);
    now_.wall = now_.wall + (next - now_.run);
    now_.run = next;
    if (strikes(jump_rate_))
      now_.wall =
          now_.wall + (rng_.one_in(2) ? Duration(hours(24 * 3650)) : -Duration(hours(24 * 3650)));
    backend_.advance(now_.run, now_.wall);
    if (strikes(crash_rate_)) {
      ++verdict_.crashes;
      hints_.clear();
      boot();
    }
    if (strikes(commit_rate_)) {
      ++verdict_.failed_commits;
      store_.fail_next_commit(rng_.one_in(2) ? CommitFault::before : CommitFault::after);
    }
    const bool dies_before_answer = strikes(crash_rate_);
    auto turn = driver_->turn(now_, due_commands(), std::exchange(hints_, {}));
    wake_ = turn.wake;
    if (dies_before_answer)
      boot();
    else
      deliver(turn.replies);
    for (const auto& job : turn.changed) trace(job);
    if (!backend_.violation().empty()) verdict_.broken = backend_.violation();
  }

  void trace(const Job& job) {
    verdict_.trace = Rng(verdict_.trace ^
                         static_cast<std::uint64_t>(job.seq * 31 + static_cast<int>(job.state)) ^
                         static_cast<std::uint64_t>(now_.run.us))
                         .next();
  }

  bool all_acked() const {
    return std::all_of(clients_.begin(), clients_.end(), [](const auto& client) {
      return client.acked && (!client.abort_at || client.abort_acked);
    });
  }

  /// Jobs that no inventory of this world can hold wait for ever, rightly.
  bool only_impossible_left() {
    const auto loaded = store_.load();
    return std::none_of(loaded->jobs.begin(), loaded->jobs.end(), [&](const Job& job) {
      return sched::could_ever_fit(driver_->engine()->view(), job.cluster, job.request);
    });
  }

  void judge() {
    if (!verdict_.broken.empty()) return;
    verdict_.jobs = static_cast<int>(store_.job_count());
    std::vector<LedgerRow> ledger;
    for (const auto& client : clients_) {
      if (!client.acked) {
        verdict_.broken = fmt::format("{} was never acknowledged", client.spec.key);
        return;
      }
      ledger.push_back({.id = *client.acked,
                        .seq = client.seq,
                        .spec = client.spec,
                        .abort_sent = client.abort_sent});
    }
    verdict_.broken = find_broken_promise(
        {.store = store_, .backend = backend_, .view = driver_->engine()->view(), .ledger = ledger},
        verdict_.attempts);
  }

  Rng rng_;
  std::uint64_t crash_rate_, commit_rate_, jump_rate_;
  std::vector<Node> nodes_;
  MemoryStore store_;
  SimBackend backend_;
  NoLog log_;
  std::unique_ptr<driver::Driver> driver_;
  std::vector<Client> clients_;
  std::vector<AttemptRef> hints_;
  std::optional<RunTime> wake_;
  Now now_{.wall = {1'760'000'000'000'000}, .run = {}};
  Verdict verdict_;
};

}  // namespace

Verdict simulate(std::uint64_t seed) { return Simulation(seed).run(); }

}  // namespace muster::sim
