#include "edge/process/local_backend.hpp"

#include "edge/process/attempt_dir.hpp"
#include "edge/process/sight_board.hpp"
#include "edge/process/watcher.hpp"

namespace muster {

using process::Adopt;
using process::LaunchNodes;
using process::SeatKey;
using process::Traces;

LocalBackend::LocalBackend(LocalDeps deps)
    : deps_(std::move(deps)),
      board_(std::make_unique<process::SightBoard>()),
      watcher_(std::make_unique<process::Watcher>(deps_, *board_)) {}

LocalBackend::~LocalBackend() = default;

Result<Inventory> LocalBackend::inventory() { return Inventory{deps_.nodes}; }

std::string_view LocalBackend::tier() const { return watcher_->tier(); }

void LocalBackend::on_change(std::function<void(std::vector<AttemptRef>)> hint) {
  watcher_->on_change(std::move(hint));
}

Result<std::vector<Observation>> LocalBackend::observe(std::span<const Watched> attempts) {
  std::vector<Observation> seen;
  for (const auto& watched : attempts)
    for (int node = 0; node < watched.nodes; ++node) {
      auto known = board_->find({watched.ref, node});
      seen.push_back({watched.ref, node, known ? std::move(*known) : look(watched.ref, node)});
    }
  return seen;
}

/// The files of an attempt this object has not heard of: quick, and left to the watcher as soon as
/// there is somebody to talk to or something to clean up.
Sight LocalBackend::look(const AttemptRef& ref, int node) {
  const auto found = process::look_at(process::attempt_dir(deps_.home, ref, node), ref.attempt);
  if (!found) return Unreachable{to_line(found.error())};
  Sight sight = NotStarted{};
  switch (found->meaning) {
    case Traces::Meaning::not_started: return sight;
    case Traces::Meaning::ended: sight = Ended{*found->record}; break;
    case Traces::Meaning::alive:
      sight = Alive{AttemptState::preparing, -1};  // it says itself when its ranks run
      break;
    case Traces::Meaning::rebooted:
      sight = Lost{Cause::host_reboot, "the machine was restarted while it ran"};
      break;
    case Traces::Meaning::died:
      sight = Unreachable{"its supervisor is gone; what it left is being killed"};
      break;
  }
  const SeatKey key{ref, node};
  const bool needs_care =
      found->meaning == Traces::Meaning::alive || found->meaning == Traces::Meaning::died;
  if (board_->put_first(key, sight) && needs_care) watcher_->post(Adopt{key});
  return sight;
}

Result<> LocalBackend::perform(const Action& action) {
  if (const auto* launch = std::get_if<Launch>(&action)) {
    if (!launch->plan) return fail(Kind::internal, "a launch without a plan");
    std::vector<int> nodes;
    for (const auto& node : launch->plan->nodes) {
      const SeatKey key{launch->ref, node.index};
      const auto known = board_->find(key);
      if (known && !std::holds_alternative<PortTaken>(*known)) continue;
      board_->put(key, Alive{AttemptState::preparing, -1});
      nodes.push_back(node.index);
    }
    if (!nodes.empty()) watcher_->post(LaunchNodes{*launch, std::move(nodes)});
    return {};
  }
  if (const auto* stop = std::get_if<Stop>(&action)) watcher_->post(*stop);
  if (const auto* signal = std::get_if<Signal>(&action)) watcher_->post(*signal);
  if (const auto* acknowledge = std::get_if<Acknowledge>(&action)) watcher_->post(*acknowledge);
  return {};
}

}  // namespace muster
