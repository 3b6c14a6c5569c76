/// What the driver asks and is told: from memory alone.
#include <algorithm>

#include "base/text.hpp"
#include "core/render/names.hpp"
#include "edge/fs/files.hpp"
#include "edge/pods/code.hpp"
#include "edge/pods/pods_backend.hpp"
#include "edge/process/attempt_dir.hpp"

namespace muster::pods {
namespace {

/// In the attempt's folder once its Job was made: a Job that is missing later was deleted.
constexpr const char* kCreatedMark = "/created";

/// Of a node; any rank where it is not known how many there are.
RankRange ranks_of(const Member& member, int node) {
  if (member.ranks_per_node == 0) return {0, INT32_MAX};
  return {node * member.ranks_per_node, member.ranks_per_node};
}

Reason suspended() {
  return {
      .code = "suspended",
      .text = "its Job is suspended, not by muster: a queue of the cluster or a person holds it",
      .fix = "wait for the queue, or ask who runs the cluster"};
}

std::optional<ExitRecord> record_of(const Sight& sight) {
  const auto* ended = std::get_if<Ended>(&sight);
  if (ended == nullptr || ended->record.ranks.empty()) return std::nullopt;
  return ended->record;
}

}  // namespace

std::string PodsBackend::name_of(const AttemptRef& ref) const {
  return render::object_name(ref, deps_.home_id);
}

std::string PodsBackend::attempt_dir(const AttemptRef& ref, int node) const {
  return process::attempt_dir(deps_.home, ref, node);
}

void PodsBackend::on_change(std::function<void(std::vector<AttemptRef>)> hint) {
  const std::lock_guard hold(mutex_);
  hint_ = std::move(hint);
}

void PodsBackend::hint(const std::string& name) {
  const auto member = roster_.find(name);
  if (!member) return;
  const std::lock_guard hold(mutex_);
  if (hint_) hint_({member->ref});
}

Result<std::vector<Observation>> PodsBackend::observe(std::span<const Watched> attempts) {
  std::vector<Observation> all;
  const auto blind = board_.blindness();
  for (const auto& [ref, nodes] : attempts) {
    const auto name = name_of(ref);
    remember(ref, nodes, name);
    const auto member = *roster_.find(name);
    const auto group = board_.group(name);
    for (int node = 0; node < nodes; ++node) {
      if (blind.empty())
        all.push_back(observe_node(ref, node, group, member));
      else
        all.push_back({ref, node, Unreachable{blind}, {}});
    }
  }
  return all;
}

/// The first time this server hears of it: an earlier one may have made its Job.
void PodsBackend::remember(const AttemptRef& ref, int nodes, const std::string& name) {
  if (roster_.knows(name)) {
    roster_.change(name, [&](Member& member) { member.nodes = nodes; });
    return;
  }
  const auto mark = fs::read_file(
      fmt::format("{}/jobs/{}/a{}{}", deps_.home, ref.job.str(), ref.attempt, kCreatedMark));
  roster_.change(name, [&](Member& member) {
    member.ref = ref;
    member.nodes = nodes;
    member.token = attempt_token(deps_.key, name);
    if (!mark) return;
    member.was_created = true;
    const auto lines = split(*mark, '\n');
    if (lines.size() > 1) member.snapshot = lines[1];
    if (lines.size() > 2)
      member.ranks_per_node = static_cast<int>(parse_whole(lines[2], 1, INT32_MAX).value_or(0));
  });
}

Around PodsBackend::around_of(const Group& group, const Member& member, const PodRow& row) {
  Around around{.stop_why = member.stop_why,
                .first_rank = row.index * std::max(member.ranks_per_node, 1)};
  if (around.stop_why.empty() && group.job) around.stop_why = group.job->stop_why;
  around.is_suspended = group.job && group.job->is_suspended;
  // The controller ends the rest of a failed Job: for us, one of a gang failed. Whoever was not
  // told to end has ended by himself, and may be the one; who was deleted is not.
  const bool is_told = row.is_deleting || row.is_gone;
  const bool has_culprit = std::any_of(group.pods.begin(), group.pods.end(), [&](const auto& pod) {
    return pod.name != row.name &&
           ((pod.phase == Phase::failed && !pod.is_deleting) || !pod.disruption.empty());
  });
  if (around.stop_why.empty() && row.disruption.empty() && has_culprit && is_told)
    around.stop_why = "gang";
  return around;
}

Observation PodsBackend::observe_node(const AttemptRef& ref, int node, const Group& group,
                                      const Member& member) {
  const auto* row = group.pod(node);
  if (row == nullptr) return {ref, node, missing_pod(group, member, name_of(ref)), {}};
  auto sight = sight_of(*row, around_of(group, member, *row));
  if (auto* alive = std::get_if<Alive>(&sight); alive != nullptr && row->wants_code)
    if (member.code_refused) alive->waits_for = member.code_refused;
  return {ref, node, ended_pod(*row, member, std::move(sight)), NodeName(row->node)};
}

/// An end is told when its log is here: afterwards the pod may go. That nobody of ours removed it
/// is told when the cluster was asked for all there is of the attempt.
Sight PodsBackend::ended_pod(const PodRow& row, const Member& member, Sight sight) {
  const auto* lost = std::get_if<Lost>(&sight);
  if (lost != nullptr && lost->cause == Cause::removed_externally &&
      !member.looked_for.contains(row.index)) {
    want_sought(member.ref, row.job);
    return Alive{.state = AttemptState::stopping};
  }
  const bool is_end = std::holds_alternative<Ended>(sight) || std::holds_alternative<Lost>(sight);
  // Without a container (a node on paper, some virtual ones) the log is asked for once, at the end.
  const bool has_log = row.has_started && !row.is_gone && (is_end || row.has_container);
  if (has_log && (!is_end || !member.drawn.contains(row.index))) {
    drawer_->draw({.space = deps_.space,
                   .pod = row.name,
                   .dir = attempt_dir(member.ref, row.index),
                   .ranks = ranks_of(member, row.index),
                   .is_over = is_end,
                   .record = record_of(sight)});
    if (is_end) return Alive{.state = AttemptState::running};
  }
  return sight;
}

Sight PodsBackend::missing_pod(const Group& group, const Member& member, const std::string& name) {
  if (member.refusal) return Lost{member.refusal->cause, member.refusal->evidence};
  if (group.job) {
    // Stopped before the pod was made: none comes any more.
    if (!group.job->stop_why.empty()) return Ended{{.ranks = {}, .killed_by = group.job->stop_why}};
    return Alive{.state = AttemptState::preparing,
                 .failed_rank = -1,
                 .waits_for = group.job->is_suspended ? suspended() : member.waits_for};
  }
  return missing_job(member, name);
}

Sight PodsBackend::missing_job(const Member& member, const std::string& name) {
  if (!member.stop_why.empty()) return Ended{{.ranks = {}, .killed_by = member.stop_why}};
  if (wishes_.is_launching(name))
    return Alive{
        .state = AttemptState::launching, .failed_rank = -1, .waits_for = member.waits_for};
  if (!member.was_created) return NotStarted{};
  // It was made: the watch may only not have shown it yet.
  if (!member.is_absent) {
    want_sought(member.ref, name);
    return Alive{.state = AttemptState::launching};
  }
  return Lost{Cause::removed_externally, fmt::format("Job {} was deleted, not by muster", name)};
}

void PodsBackend::want_sought(const AttemptRef& ref, const std::string& name) {
  Wish wish{.ref = ref};
  wish.is_sought = true;
  wishes_.add(name, std::move(wish));
}

Result<> PodsBackend::perform(const Action& action) {
  const auto ref = std::visit([](const auto& one) { return one.ref; }, action);
  const auto name = name_of(ref);
  Wish wish{.ref = ref};
  if (const auto* launch = std::get_if<Launch>(&action)) {
    wish.launch = *launch;
    roster_.change(name, [&](Member& member) {
      member.ref = ref;
      member.nodes = static_cast<int>(launch->placements.size());
      // Before its pods are there: they may ask at once.
      member.token = attempt_token(deps_.key, name);
      if (launch->plan) member.snapshot = launch->plan->folder.snapshot;
      if (!launch->placements.empty()) member.ranks_per_node = launch->placements[0].ranks;
    });
  } else if (const auto* stop = std::get_if<Stop>(&action)) {
    wish.stop = *stop;
    roster_.change(name, [&](Member& member) {
      member.ref = ref;
      member.nodes = stop->nodes;
    });
  } else if (const auto* done = std::get_if<Acknowledge>(&action)) {
    wish.acknowledged.insert(done->node);
    roster_.change(name, [&](Member& member) { member.ref = ref; });
  } else if (const auto* signal = std::get_if<Signal>(&action)) {
    wish.signals.push_back(signal->number);
  }
  wishes_.add(name, std::move(wish));
  return {};
}

}  // namespace muster::pods
