/// What workers do for each wish. What fails for now stays wished; what is refused for good becomes
/// something to be seen.
#include <unistd.h>

#include <algorithm>

#include "core/model/codec.hpp"
#include "core/model/json.hpp"
#include "core/render/names.hpp"
#include "edge/fs/files.hpp"
#include "edge/kube/exec.hpp"
#include "edge/pods/code.hpp"
#include "edge/pods/errands.hpp"
#include "edge/pods/pods_backend.hpp"

namespace muster::pods {
namespace {

using std::chrono::steady_clock;

Reason not_yet(const Error& error) {
  return {.code = "cluster",
          .text = "the cluster does not take it yet: " + to_line(error),
          .fix = "nothing: it is tried again"};
}

Reason no_store_yet(const Error& error) {
  return {.code = "code_store",
          .text = "its code cannot be put into the cluster's store: " + to_line(error),
          .fix = "nothing: it is tried again"};
}

bool is_worth_repeating(const Error& error) {
  return error.kind == Kind::unavailable || error.kind == Kind::exhausted;
}

Reason may_not_send(const Error& error) {
  return {
      .code = "code_refused",
      .text = "its code is too large for a Secret, and sending it needs the role muster-exec: " +
              to_line(error),
      .fix = "ask for that role (muster help cluster), or leave files out: .musterignore"};
}

int seconds_of(Duration duration) {
  return static_cast<int>(std::chrono::duration_cast<std::chrono::seconds>(duration).count());
}

}  // namespace

void PodsBackend::work() {
  kube::Api api(deps_.cluster, cancel_.stop());
  while (auto held = wishes_.take()) {
    tend(api, held->name, held->wish);
    wishes_.done(held->name, std::move(held->wish));
    hint(held->name);
  }
}

/// Takes off the wish what was done.
void PodsBackend::tend(kube::Api& api, const std::string& name, Wish& wish) {
  if (wish.stop) stop(api, name, wish);
  if (wish.launch && !wish.stop) launch(api, name, wish);
  if (!wish.acknowledged.empty()) acknowledge(api, name, wish);
  if (!wish.code_for.empty()) send_code(api, name, wish);
  if (!wish.signals.empty()) pass_signals(api, name, wish);
  if (wish.is_orphan) remove_orphan(api, name, wish);
  if (wish.is_sought) seek(api, name, wish);
}

void PodsBackend::launch(kube::Api& api, const std::string& name, Wish& wish) {
  const auto& launch = *wish.launch;
  const auto refuse = [&](Cause cause, const Error& error) {
    deps_.log.warn("a launch was refused",
                   {{"job", wish.ref.job.str()}, {"error", to_line(error)}});
    roster_.change(name, [&](Member& member) { member.refusal = Refusal{cause, to_line(error)}; });
    wish.launch.reset();
  };
  const auto member = roster_.find(name);
  if (!launch.plan || !launch.spec || !member || !member->stop_why.empty()) {
    wish.launch.reset();
    return;
  }
  auto code = prepare_code(launch.plan->folder, *launch.spec->pod,
                           {.home = deps_.home, .served_at = deps_.served_at});
  if (!code && is_worth_repeating(code.error())) {
    roster_.change(name, [&](Member& one) { one.waits_for = no_store_yet(code.error()); });
    return;
  }
  if (!code) return refuse(Cause::blob_storage, code.error());
  auto plan = *launch.plan;
  plan.folder.store = render::code_address(code->from, deps_.served_at);
  plan.folder.token = member->token;
  const auto objects = render::render({.spec = *launch.spec,
                                       .ref = launch.ref,
                                       .home_id = deps_.home_id,
                                       .plan_bytes = encode(plan),
                                       .code_bytes = std::move(code->bytes),
                                       .code = code->from,
                                       .enforced = enforced(api)});
  if (!objects) return refuse(Cause::user_config, objects.error());
  begun_.add(name);
  const auto created = create(api, deps_.space, *objects);
  if (!created && is_final_refusal(created.error()))
    return refuse(Cause::user_config, created.error());
  if (!created) {
    roster_.change(name, [&](Member& one) { one.waits_for = not_yet(created.error()); });
    return;
  }
  const auto dir = fmt::format("{}/jobs/{}/a{}", deps_.home, wish.ref.job.str(), wish.ref.attempt);
  (void)fs::make_dirs(dir);
  (void)fs::write_whole(
      dir + "/created",
      fmt::format("{}\n{}\n{}\n", name, launch.plan->folder.snapshot, member->ranks_per_node));
  begun_.remove(name);
  roster_.change(name, [&](Member& one) {
    one.was_created = true;
    one.is_absent = false;
    one.waits_for.reset();
  });
  wish.launch.reset();
}

/// A Job that is not there yet will not be made any more: `stop_why` sees to that.
void PodsBackend::stop(kube::Api& api, const std::string& name, Wish& wish) {
  wish.launch.reset();
  const auto stopped =
      pods::stop(api, deps_.space, name, board_, wish.stop->why, seconds_of(wish.stop->grace));
  if (!stopped) {
    roster_.change(name, [&](Member& member) { member.waits_for = not_yet(stopped.error()); });
    return;
  }
  roster_.change(name, [&](Member& member) {
    if (member.stop_why.empty()) member.stop_why = wish.stop->why;
  });
  wish.stop.reset();
}

void PodsBackend::acknowledge(kube::Api& api, const std::string& name, Wish& wish) {
  const auto group = board_.group(name);
  for (auto at = wish.acknowledged.begin(); at != wish.acknowledged.end();) {
    for (const auto& pod : group.pods)
      if (pod.index == *at && pod.has_finalizer && !pod.is_gone)
        if (!release(api, deps_.space, pod.name)) return;
    roster_.change(name, [&](Member& member) { member.acknowledged.insert(*at); });
    at = wish.acknowledged.erase(at);
  }
  const auto member = roster_.find(name);
  const bool is_all = std::all_of(group.pods.begin(), group.pods.end(), [&](const auto& pod) {
    return pod.is_gone || !pod.has_finalizer ||
           (member && member->acknowledged.contains(pod.index));
  });
  const bool are_ends = member && (std::ssize(member->acknowledged) >= member->nodes ||
                                   std::ssize(group.pods) >= member->nodes);
  if (!is_all || !are_ends) return;
  // A Job that was refused, or made by a server that died before it was done, owns nothing: what
  // was made beside it must go by itself.
  const bool has_parts = member->refusal.has_value() || !member->was_created || !group.job;
  // Of a Job that somebody deleted without its pods, nobody takes those away.
  if (!group.job)
    for (const auto& pod : group.pods)
      if (!pod.is_gone && !api.remove({kube::pods(), deps_.space, pod.name})) {
        wish.acknowledged.insert(0);
        return;
      }
  // The Job goes last: while it is there, a server that comes after us finds all of it.
  if ((has_parts && !remove_parts(api, deps_.space, name)) || !remove(api, deps_.space, name)) {
    wish.acknowledged.insert(0);  // once more
    return;
  }
  begun_.remove(name);
  board_.forget(name);
  roster_.forget(name);
}

/// Into the pods that wait for it, from a file that is gone with us.
void PodsBackend::send_code(kube::Api& api, const std::string& name, Wish& wish) {
  const auto member = roster_.find(name);
  // Some may have got it meanwhile, in another way.
  wish.code_for = member ? pods_to_send(board_.group(name), *member, steady_clock::now())
                         : std::set<std::string>();
  if (wish.code_for.empty()) return;
  const auto bundle = bundle_of(member->snapshot, deps_.home);
  if (!bundle) {
    deps_.log.warn("no code to send", {{"job", name}, {"error", to_line(bundle.error())}});
    return;
  }
  std::set<std::string> left;
  for (const auto& pod : wish.code_for) {
    if (::lseek(bundle->get(), 0, SEEK_SET) != 0) return;
    std::string words;
    const kube::ExecRequest request{
        deps_.space,
        pod,
        render::kCodeContainer,
        {kAgentProgram, "agent", "receive", render::kCodeDir, "--plan", render::kPlanFile}};
    const auto sent = kube::exec(
        api.cluster(), request,
        {.in = bundle->get(), .err = [&](std::string_view bytes) { words += bytes; }}, api.stop());
    const bool is_refused = !sent && sent.error().code == 403;
    roster_.change(name, [&](Member& one) {
      one.code_refused = is_refused ? std::optional(may_not_send(sent.error())) : std::nullopt;
    });
    if (sent && *sent == 0) {
      deps_.log.info("code was sent", {{"pod", pod}});
      continue;
    }
    deps_.log.warn("the code did not arrive",
                   {{"pod", pod}, {"error", sent ? words : to_line(sent.error())}});
    left.insert(pod);
  }
  wish.code_for = std::move(left);
}

/// A signal that reaches nobody is not repeated: it would come at the wrong time.
void PodsBackend::pass_signals(kube::Api& api, const std::string& name, Wish& wish) {
  for (const auto& pod : board_.group(name).pods)
    for (const int number : wish.signals) {
      if (!pod.is_running) continue;
      const auto sent =
          kube::exec(api.cluster(),
                     {deps_.space,
                      pod.name,
                      render::kMainContainer,
                      {render::kAgentInPod, "agent", "signal", std::to_string(number)}},
                     {}, api.stop());
      if (!sent)
        deps_.log.warn("a signal did not arrive; the role muster-exec allows to send it",
                       {{"pod", pod.name}, {"signal", number}, {"error", to_line(sent.error())}});
    }
  wish.signals.clear();
}

/// Who may not read the namespace learns what it enforces by being refused.
std::string PodsBackend::enforced(kube::Api& api) {
  {
    const std::lock_guard hold(mutex_);
    if (enforced_) return *enforced_;
  }
  const auto space = api.get({kube::namespaces(), "", deps_.space});
  // Who does not know now asks again; who may not know need not.
  if (!space && space.error().code != 403 && space.error().code != 404) return "";
  std::string label;
  if (const auto parsed = space ? parse_json(*space) : Result<json::value>(json::value()); parsed) {
    std::error_code absent;
    const auto* found =
        parsed->find_pointer("/metadata/labels/pod-security.kubernetes.io~1enforce", absent);
    if (found != nullptr && found->is_string()) label = found->get_string();
  }
  const std::lock_guard hold(mutex_);
  enforced_ = label;
  return label;
}

void PodsBackend::remove_orphan(kube::Api& api, const std::string& name, Wish& wish) {
  for (const auto& pod : board_.group(name).pods)
    if (pod.has_finalizer && !pod.is_gone)
      if (!release(api, deps_.space, pod.name)) return;
  if (!remove_parts(api, deps_.space, name) || !remove(api, deps_.space, name)) return;
  begun_.remove(name);
  board_.forget(name);
  wish.is_orphan = false;
}

/// Absence is believed when the cluster was asked for the very thing.
void PodsBackend::seek(kube::Api& api, const std::string& name, Wish& wish) {
  const auto before = board_.group(name);
  const auto is_there = pods::seek(api, deps_.space, name, board_);
  if (!is_there) return;
  const auto after = board_.group(name);
  if (!show_again(api, name, after)) return;
  roster_.amend(name, [&](Member& member) {
    member.is_absent = !*is_there;
    for (const auto& pod : before.pods) {
      const auto* now = after.pod(pod.index);
      if (now != nullptr && !now->is_deleting && !now->is_gone)
        member.looked_for.erase(pod.index);
      else if (pod.is_deleting || pod.is_gone)
        member.looked_for.insert(pod.index);
    }
  });
  wish.is_sought = false;
}

/// What lost its labels is ours all the same: the watches are to show it again.
bool PodsBackend::show_again(kube::Api& api, const std::string& name, const Group& group) {
  const render::Labels labels{{render::kHomeLabel, render::label_value(deps_.home_id)},
                              {render::kClusterLabel, render::label_value(deps_.name)},
                              {render::kPlaceLabel, deps_.place}};
  if (group.job && group.job->is_unlabelled &&
      !relabel(api, {kube::jobs(), deps_.space, name}, labels))
    return false;
  return std::all_of(group.pods.begin(), group.pods.end(), [&](const auto& pod) {
    return !pod.is_unlabelled || pod.is_gone ||
           relabel(api, {kube::pods(), deps_.space, pod.name}, labels);
  });
}

}  // namespace muster::pods
