#include "samples.hpp"

#include <csignal>

namespace muster::golden {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kNoon{1'772'366'400'000'000};  // 2026-03-01T12:00:00Z

std::vector<Placement> sample_placements() {
  Placement first{.node = NodeName("node-0"),
                  .first_rank = 0,
                  .ranks = 2,
                  .cpus = {2500},
                  .memory = {std::int64_t{4} << 30},
                  .gpus = {0, 1}};
  Placement second = first;
  second.node = NodeName("node-1");
  second.first_rank = 2;
  second.gpus = {2, 3};
  return {first, second};
}

Attempt lost_attempt() {
  Attempt attempt{.n = 1, .epoch = 41, .state = AttemptState::ended, .port = 20001};
  attempt.placements = sample_placements();
  attempt.cause = Cause::lost;
  attempt.evidence = {"node 1: its supervisor disappeared"};
  attempt.placed_at = kNoon + 1s;
  attempt.started_at = kNoon + 2s;
  attempt.ended_at = kNoon + 60s;
  return attempt;
}

Attempt failed_attempt() {
  Attempt attempt{.n = 2, .epoch = 42, .state = AttemptState::ended, .port = 20002};
  attempt.placements = sample_placements();
  attempt.cause = Cause::user_code;
  attempt.exit_code = 3;
  attempt.first_failed_rank = 1;
  attempt.evidence = {"rank 1 ended with exit code 3", "its log said \xff"};
  attempt.placed_at = kNoon + 61s;
  attempt.started_at = kNoon + 62s;
  attempt.ended_at = kNoon + 90s + 250ms;
  attempt.cpu_s = 12.5;
  attempt.peak_bytes = 123456789;
  attempt.oom_kills = 1;
  return attempt;
}

AttemptEnded ended_event() {
  const auto attempt = failed_attempt();
  return {.attempt = attempt.n,
          .cause = attempt.cause,
          .exit_code = attempt.exit_code,
          .signal = SIGTERM,
          .first_failed_rank = attempt.first_failed_rank,
          .evidence = attempt.evidence,
          .cpu_s = attempt.cpu_s,
          .peak_bytes = attempt.peak_bytes,
          .oom_kills = attempt.oom_kills,
          .started_at = attempt.started_at,
          .ended_at = attempt.ended_at};
}

Job sample_status(const JobSpec& spec) {
  Job job{.seq = 7, .id = JobId("ann_1772366400_0badcafe"), .name = spec.name, .user = spec.user};
  job.key = spec.key;
  job.request_hash = spec.request_hash;
  job.cluster = spec.cluster;
  job.queue = spec.queue;
  job.env_id = spec.env_id;
  job.priority = spec.priority;
  job.request = spec.request;
  job.retries = spec.retries;
  job.grace = spec.grace;
  job.state = JobState::failed;
  job.attempts = 2;
  job.spent.infrastructure = 1;
  job.cause = Cause::user_code;
  job.exit_code = 3;
  job.submitted_at = kNoon;
  job.started_at = kNoon + 2s;
  job.ended_at = kNoon + 90s + 250ms;
  return job;
}

}  // namespace

JobSpec sample_spec() {
  JobSpec spec{.command = {"python3", "train.py", "--lr", "0.1", "\xff"}, .dir = "/home/ann/mnist"};
  spec.name = "train";
  spec.user = "ann";
  spec.cluster = "local";
  spec.queue = "night";
  spec.experiment = "mnist";
  spec.tags = {{"owner", "ann"}, {"size", "small"}};
  spec.priority = 5;
  spec.request = {.nodes = 2,
                  .procs_per_node = 2,
                  .gpus_per_node = 2,
                  .cpus_per_node = {2500},
                  .memory_per_node = {std::int64_t{4} << 30}};
  spec.retries = {.user = 1, .memory = 2, .hang = 3, .infrastructure = 4};
  spec.time_limit = 90min;
  spec.grace = 30s + 500ms;
  spec.signal_to = SignalTo::all;
  spec.dataloader_workers = 4;
  spec.env_id = std::string(64, 'e');
  spec.env_names = {"LR", "SEED"};
  spec.parent = "ann_1772366000_00c0ffee";
  spec.key = "nightly-1";
  spec.request_hash = std::string(64, 'f');
  spec.umask = 027;
  spec.nice = 10;
  spec.limits = {{"nofile", 1024}, {"stack", 8 << 20}};
  return spec;
}

ExitRecord sample_record() {
  RankExit calm{.rank = 0, .exit = 0, .signal = 0, .started = kNoon + 62s, .ended = kNoon + 90s};
  calm.ended_run_us = 90'000'000;
  calm.cpu_us = 1'234'567;
  calm.peak_bytes = 1 << 20;
  calm.out_bytes = 10;
  calm.err_bytes = 20;
  calm.out_xxh3 = "0123456789abcdef";
  calm.err_xxh3 = "fedcba9876543210";
  RankExit killed = calm;
  killed.rank = 1;
  killed.signal = SIGKILL;
  killed.oom_kills = 1;
  return {.ranks = {calm, killed}, .killed_by = "abort", .why = "asked for"};
}

JobDetail sample_job() {
  const auto spec = sample_spec();
  return {.job = sample_status(spec), .spec = spec, .attempts = {lost_attempt(), failed_attempt()}};
}

std::vector<EventBody> sample_events() {
  return {
      Submitted{JobId("ann_1772366400_0badcafe"), sample_spec()},
      Placed{.attempt = 2, .epoch = 42, .placements = sample_placements(), .port = 20002},
      PortMoved{.attempt = 2, .port = 20003},
      Seated{.attempt = 2, .nodes = {NodeName("gpu-0"), NodeName("gpu-1")}},
      Started{.attempt = 2},
      NodeEnded{.attempt = 2,
                .end = {.node = 1,
                        .record = sample_record(),
                        .loss = Cause::none,
                        .evidence = "as recorded"}},
      GangStopped{.attempt = 2, .first_failed_rank = 1},
      CancelRequested{.by = "ann"},
      ended_event(),
      Requeued{.budget = Budget::infrastructure, .not_before = {1'000'000}},
      Finished{
          .state = JobState::failed, .cause = Cause::user_code, .exit_code = 3, .signal = SIGTERM},
  };
}

process::ShimMark sample_mark() {
  return {.build_id = std::string(40, 'b'),
          .attempt = 2,
          .epoch = 42,
          .pid = 4711,
          .start_ticks = 123456,
          .boot_id = "11111111-2222-3333-4444-555555555555",
          .slot = {"/sys/fs/cgroup/memory/m/s0", "/sys/fs/cgroup/cpuacct/m/s0",
                   "/sys/fs/cgroup/freezer/m/s0"}};
}

}  // namespace muster::golden
