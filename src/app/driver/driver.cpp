#include "app/driver/driver.hpp"

#include <algorithm>

namespace muster::driver {
namespace {

using engine::Input;

constexpr Duration kRetry = std::chrono::seconds(1);
/// Out of sight, with nobody to tell when that is over.
constexpr Duration kLookAgain = std::chrono::seconds(5);
constexpr Duration kFullLook = std::chrono::minutes(10);

engine::Ticket ticket_of(const Input& input) {
  if (const auto* submit = std::get_if<engine::SubmitJob>(&input)) return submit->ticket;
  if (const auto* abort = std::get_if<engine::AbortJob>(&input)) return abort->ticket;
  if (const auto* signal = std::get_if<engine::SignalJob>(&input)) return signal->ticket;
  return 0;
}

/// Every command of the turn gets the same error: nothing of it was done.
std::vector<engine::Reply> refuse_all(const std::vector<Input>& inbox, const Error& error) {
  std::vector<engine::Reply> replies;
  for (const auto& input : inbox)
    if (const auto ticket = ticket_of(input); ticket != 0)
      replies.push_back({ticket, tl::unexpected(error)});
  return replies;
}

AttemptRef ref_of(const Action& action) {
  return std::visit([](const auto& one) { return one.ref; }, action);
}

std::optional<RunTime> earlier(std::optional<RunTime> a, std::optional<RunTime> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace

Driver::Driver(DriverDeps deps) : deps_(std::move(deps)) {}

Result<> Driver::load(Now now) {
  TRY(auto loaded, deps_.store.load());
  last_event_ = loaded.last_event;
  engine_.emplace(engine::Seedling{.jobs = std::move(loaded.jobs),
                                   .last_seq = loaded.last_seq,
                                   .last_event = loaded.last_event,
                                   .id_key = loaded.id_key});
  later_.clear();
  unseen_.clear();
  next_full_look_ = now.run;  // look at everything in this very turn
  return {};
}

void Driver::look_up_keys(std::vector<Input>& inbox) {
  for (auto& input : inbox) {
    auto* submit = std::get_if<engine::SubmitJob>(&input);
    if (submit == nullptr || submit->spec.key.empty()) continue;
    const auto hit = deps_.store.find_key(submit->spec.user, submit->spec.key);
    if (hit && *hit)
      submit->known = engine::KnownKey{(*hit)->seq, (*hit)->id, (*hit)->request_hash};
  }
}

std::vector<AttemptRef> Driver::due(Now now) {
  std::vector<AttemptRef> refs;
  while (!later_.empty() && later_.begin()->first <= now.run) {
    refs.push_back(later_.begin()->second);
    later_.erase(later_.begin());
  }
  if (!unseen_.empty() && now.run >= next_unseen_) {
    refs.insert(refs.end(), unseen_.begin(), unseen_.end());
    unseen_.clear();
  }
  if (now.run >= next_full_look_) {
    next_full_look_ = now.run + kFullLook;
    for (auto& [ref, nodes] : engine_->live_attempts()) refs.push_back(std::move(ref));
  }
  return refs;
}

void Driver::observe(Now now, std::vector<Input>& inbox, const std::vector<AttemptRef>& hints) {
  std::vector<Watched> watched;
  for (const auto& ref : hints)
    if (const auto nodes = engine_->nodes_of(ref)) watched.push_back({ref, *nodes});
  std::sort(watched.begin(), watched.end(),
            [](const auto& a, const auto& b) { return a.ref < b.ref; });
  watched.erase(std::unique(watched.begin(), watched.end(),
                            [](const auto& a, const auto& b) { return a.ref == b.ref; }),
                watched.end());
  if (watched.empty()) return;
  auto seen = deps_.backend.observe(watched);
  if (!seen) {
    deps_.log.warn("the backend cannot be observed", {{"error", to_line(seen.error())}});
    return;
  }
  for (auto& observation : *seen) {
    if (std::holds_alternative<Unreachable>(observation.sight)) {
      if (unseen_.empty()) next_unseen_ = now.run + kLookAgain;
      unseen_.insert(observation.ref);
    }
    inbox.push_back(engine::Seen{std::move(observation)});
  }
}

void Driver::look_later(Now now, const AttemptRef& ref) { later_.emplace(now.run + kRetry, ref); }

void Driver::perform_launch(Now now, Launch& launch) {
  auto equipment = deps_.equip(launch);
  if (equipment) {
    launch.plan = std::move(equipment->plan);
    launch.spec = std::move(equipment->spec);
    const auto done = deps_.backend.perform(launch);
    if (done) return;
    deps_.log.warn("launch failed", {{"job", launch.ref.job.str()},
                                     {"attempt", launch.ref.attempt},
                                     {"error", to_line(done.error())}});
  } else {
    // Without a plan it can never start: make sure of that, and say why.
    deps_.log.error("no plan for a launch",
                    {{"job", launch.ref.job.str()}, {"error", to_line(equipment.error())}});
    (void)deps_.backend.perform(Stop{launch.ref, static_cast<int>(launch.placements.size()),
                                     "never_started: " + to_line(equipment.error()), Duration(0)});
  }
  look_later(now, launch.ref);
}

void Driver::perform(Now now, std::vector<Action>& actions) {
  for (auto& action : actions) {
    if (auto* launch = std::get_if<Launch>(&action)) {
      perform_launch(now, *launch);
    } else if (const auto done = deps_.backend.perform(action); !done) {
      const auto ref = ref_of(action);
      deps_.log.warn(
          "action failed",
          {{"job", ref.job.str()}, {"attempt", ref.attempt}, {"error", to_line(done.error())}});
      look_later(now, ref);
    }
  }
}

Turn Driver::turn(Now now, std::vector<Input> inbox, std::vector<AttemptRef> hints) {
  Turn turn;
  if (!engine_) {
    if (const auto loaded = load(now); !loaded) {
      deps_.log.error("the store cannot be loaded", {{"error", to_line(loaded.error())}});
      return {.replies = refuse_all(inbox, loaded.error()), .wake = now.run + kRetry};
    }
  }
  const bool full = now.run >= next_full_look_;
  for (auto& ref : due(now)) hints.push_back(std::move(ref));
  if (full)
    if (auto inventory = deps_.backend.inventory())
      inbox.insert(inbox.begin(), engine::InventorySeen{std::move(*inventory)});
  look_up_keys(inbox);
  observe(now, inbox, hints);

  auto out = engine_->step(now, inbox);
  if (!out.events.empty()) {
    const auto last = out.events.back().sequence;
    const auto committed = deps_.store.commit({.now = now,
                                               .events = std::move(out.events),
                                               .jobs = out.jobs,
                                               .ended = std::move(out.ended)});
    if (!committed) {
      // What is in memory did not happen: forget it and start again from the store.
      deps_.log.error("commit failed", {{"error", to_line(committed.error())}});
      engine_.reset();
      return {.replies = refuse_all(inbox, committed.error()),
              .wake = now.run + kRetry,
              .last_event = last_event_};
    }
    last_event_ = last;
  }
  perform(now, out.actions);
  turn.replies = std::move(out.replies);
  turn.changed = std::move(out.jobs);
  turn.last_event = last_event_;
  turn.wake = earlier(out.wake, next_full_look_);
  if (!later_.empty()) turn.wake = earlier(turn.wake, later_.begin()->first);
  if (!unseen_.empty()) turn.wake = earlier(turn.wake, next_unseen_);
  return turn;
}

}  // namespace muster::driver
