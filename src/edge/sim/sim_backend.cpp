#include "edge/sim/sim_backend.hpp"

#include <algorithm>
#include <charconv>
#include <csignal>

namespace muster::sim {
namespace {

constexpr Duration kLaunchDelay = std::chrono::milliseconds(2);
constexpr Duration kNever = std::chrono::hours(24 * 365 * 50);

Result<int> number_of(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    return fail(Kind::usage, fmt::format("not a number: \"{}\"", text));
  return number;
}

int node_count(const Action& action) {
  if (const auto* launch = std::get_if<Launch>(&action))
    return static_cast<int>(launch->placements.size());
  return 0;
}

}  // namespace

Result<Script> parse_script(const std::vector<std::string>& argv) {
  Script script;
  for (std::size_t i = 1; i < argv.size(); ++i) {
    const std::string_view word = argv[i];
    const auto eq = word.find('=');
    const auto key = word.substr(0, eq);
    const auto value = eq == std::string_view::npos ? std::string_view() : word.substr(eq + 1);
    if (key == "term") {
      script.ignores_term = value == "ignore";
      script.exits_zero_on_term = value == "exit0";
      continue;
    }
    TRY(const int number, number_of(value));
    if (key == "run")
      script.run = std::chrono::milliseconds(number);
    else if (key == "exit")
      script.exit = number;
    else if (key == "signal")
      script.signal = number;
    else if (key == "rank")
      script.rank = number;
    else
      return fail(Kind::usage, fmt::format("unknown word \"{}\" in a virtual process", word));
  }
  return script;
}

SimBackend::SimBackend(std::vector<Node> nodes, Faults faults, Rng rng)
    : nodes_(std::move(nodes)), faults_(faults), rng_(rng) {}

Result<Inventory> SimBackend::inventory() { return Inventory{nodes_}; }
void SimBackend::on_change(std::function<void(std::vector<AttemptRef>)> hint) {
  hint_ = std::move(hint);
}

void SimBackend::hint(const AttemptRef& ref) {
  if (hint_ && !strikes(faults_.hint_lost)) hint_({ref});
}

Sight SimBackend::sight_of(const Name& name) const {
  const auto found = shims_.find(name);
  if (found == shims_.end()) return NotStarted{};
  const auto& shim = found->second;
  if (shim.port_taken) return *shim.port_taken;
  if (shim.record) return Ended{*shim.record};
  if (shim.lost) return *shim.lost;
  if (!shim.has_started) return Alive{.state = AttemptState::preparing};
  Alive alive{.state = shim.killed_at ? AttemptState::stopping : AttemptState::running};
  return alive;
}

Result<std::vector<Observation>> SimBackend::observe(std::span<const Watched> attempts) {
  if (strikes(faults_.perform_fails))
    return fail(Kind::unavailable, "the virtual machine does not answer");
  std::vector<Observation> seen;
  for (const auto& [ref, nodes] : attempts)
    for (int node = 0; node < nodes; ++node) {
      const Name name{ref, node};
      const Sight sight = sight_of(name);
      const auto old = before_.find(name);
      const bool is_stale = old != before_.end() && strikes(faults_.stale_sight);
      seen.push_back({ref, node, is_stale ? old->second : sight});
      if (strikes(faults_.twice))
        seen.push_back({ref, node, old != before_.end() ? old->second : sight});
      if (is_stale) hint(ref);  // the true one follows
      before_[name] = sight;
    }
  if (faults_.twice != 0 && seen.size() > 1 && rng_.one_in(4)) std::swap(seen.front(), seen.back());
  return seen;
}

Result<> SimBackend::perform(const Action& action) {
  if (strikes(faults_.perform_fails))
    return fail(Kind::unavailable, fmt::format("the virtual machine refused an action ({} nodes)",
                                               node_count(action)));
  if (const auto* one = std::get_if<Launch>(&action)) return launch(*one);
  if (const auto* one = std::get_if<Stop>(&action)) return stop(*one);
  return {};
}

Result<> SimBackend::launch(const Launch& launch) {
  TRY(const auto script, parse_script(launch.plan->argv));
  const auto first = shims_.find({launch.ref, 0});
  const bool is_first = first == shims_.end() || first->second.port_taken;
  const bool port_taken = is_first && strikes(faults_.port_taken);
  for (int node = 0; node < std::ssize(launch.placements); ++node) {
    const Name name{launch.ref, node};
    const auto found = shims_.find(name);
    if (found != shims_.end() && !found->second.port_taken) continue;  // launched before
    shims_.erase(name);
    if (strikes(faults_.launch_lost)) {
      hint(launch.ref);
      continue;
    }
    Shim shim{.plan = launch.plan->nodes[static_cast<std::size_t>(node)],
              .script = script,
              .time_limit = launch.plan->time_limit,
              .starts = now_ + kLaunchDelay,
              .ends = now_ + kNever};
    if (port_taken) shim.port_taken = PortTaken{launch.port};
    if (port_taken) hint(launch.ref);
    shims_.emplace(name, std::move(shim));
  }
  return {};
}

Result<> SimBackend::stop(const Stop& stop) {
  for (int node = 0; node < stop.nodes; ++node) {
    const Name name{stop.ref, node};
    auto [at, is_new] = shims_.try_emplace(name);
    auto& shim = at->second;
    if (shim.record || shim.lost) continue;
    if (is_new || !shim.has_started || shim.port_taken) {
      // It never started: a tombstone makes sure that it never will.
      shim.port_taken.reset();
      shim.record = ExitRecord{.ranks = {}, .killed_by = stop.why, .why = {}};
      hint(stop.ref);
      continue;
    }
    if (shim.killed_by.empty()) shim.killed_by = stop.why;
    const RunTime at_kill =
        shim.script.ignores_term ? now_ + stop.grace : now_ + std::chrono::milliseconds(1);
    if (!shim.killed_at || at_kill < *shim.killed_at) shim.killed_at = at_kill;
  }
  return {};
}

void SimBackend::start(const Name& name, Shim& shim) {
  if (strikes(faults_.refused)) {
    shim.lost = Lost{Cause::never_started, "no space left on device"};
    return hint(name.ref);
  }
  for (const auto& [other, running] : shims_)
    if (other.ref.seq == name.ref.seq && other.ref.attempt != name.ref.attempt &&
        running.has_started && !running.record && !running.lost)
      violation_ = fmt::format("attempts {} and {} of job {} live at once", other.ref.attempt,
                               name.ref.attempt, name.ref.job.str());
  shim.has_started = true;
  ++starts_[name.ref];
  const bool fails_here =
      shim.script.rank >= name.node * static_cast<int>(shim.plan.ranks.size()) &&
      shim.script.rank < (name.node + 1) * static_cast<int>(shim.plan.ranks.size());
  const bool has_failure = shim.script.exit != 0 || shim.script.signal != 0;
  const bool waits_for_peer =
      has_failure && shim.script.rank >= 0 && !fails_here;  // a peer of the failing rank would hang
  shim.ends = waits_for_peer ? now_ + kNever : now_ + shim.script.run;
  if (shim.time_limit.count() > 0 && now_ + shim.time_limit < shim.ends) {
    shim.killed_by = "time_limit";
    shim.killed_at = now_ + shim.time_limit;
  }
  if (strikes(faults_.shim_dies))
    shim.dies = now_ + Duration(static_cast<std::int64_t>(
                           rng_.below(static_cast<std::uint64_t>(shim.script.run.count()) + 1)));
  hint(name.ref);
}

void SimBackend::finish(const Name& name, Shim& shim) {
  ExitRecord record;
  const bool was_killed = shim.killed_at && *shim.killed_at <= shim.ends;
  if (was_killed) record.killed_by = shim.killed_by;
  for (const auto& plan : shim.plan.ranks) {
    const bool is_marked = shim.script.rank < 0 || shim.script.rank == plan.rank;
    RankExit rank{.rank = plan.rank, .started = wall_, .ended = wall_, .ended_run_us = now_.us};
    if (was_killed && !shim.script.exits_zero_on_term)
      rank.signal = shim.script.ignores_term ? SIGKILL : SIGTERM;
    if (!was_killed && is_marked) {
      rank.exit = shim.script.signal != 0 ? 0 : shim.script.exit;
      rank.signal = shim.script.signal;
    }
    record.ranks.push_back(rank);
  }
  shim.record = std::move(record);
  hint(name.ref);
}

RunTime SimBackend::next_of(const Shim& shim) const {
  if (shim.record || shim.lost || shim.port_taken) return {INT64_MAX};
  if (!shim.has_started) return shim.starts;
  RunTime next = shim.ends;
  if (shim.killed_at) next = std::min(next, *shim.killed_at);
  if (shim.dies) next = std::min(next, *shim.dies);
  return next;
}

std::optional<RunTime> SimBackend::next_change() const {
  RunTime next{INT64_MAX};
  for (const auto& [name, shim] : shims_) next = std::min(next, next_of(shim));
  return next.us == INT64_MAX ? std::nullopt : std::optional(next);
}

void SimBackend::advance(RunTime to, WallTime wall) {
  wall_ = wall;
  for (auto next = next_change(); next && *next <= to; next = next_change()) {
    now_ = std::max(now_, *next);
    for (auto& [name, shim] : shims_) {
      if (next_of(shim) > now_) continue;
      if (!shim.has_started)
        start(name, shim);
      else if (shim.dies && *shim.dies <= now_) {
        shim.lost = Lost{Cause::lost, "the supervisor disappeared"};
        hint(name.ref);
      } else
        finish(name, shim);
    }
  }
  now_ = std::max(now_, to);
}

void SimBackend::lose(const AttemptRef& ref, int node, Lost loss) {
  const auto found = shims_.find({ref, node});
  if (found == shims_.end() || found->second.record) return;
  found->second.lost = std::move(loss);
  hint(ref);
}

int SimBackend::living(JobSeq job) const {
  int count = 0;
  for (const auto& [name, shim] : shims_)
    count += name.ref.seq == job && shim.has_started && !shim.record && !shim.lost ? 1 : 0;
  return count;
}

int SimBackend::starts(const AttemptRef& ref) const {
  const auto found = starts_.find(ref);
  return found == starts_.end() ? 0 : found->second;
}

}  // namespace muster::sim
