/// What workers do for each wish. What fails for now stays wished; what is refused for good becomes
/// something to be seen.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "core/model/codec.hpp"
#include "core/model/json.hpp"
#include "core/render/names.hpp"
#include "edge/blob/open.hpp"
#include "edge/fs/files.hpp"
#include "edge/kube/exec.hpp"
#include "edge/pods/errands.hpp"
#include "edge/pods/pods_backend.hpp"
#include "edge/tree/bundle.hpp"

namespace muster::pods {
namespace {

struct Code {
  render::CodeFrom from = render::CodeFrom::none;
  std::string bytes;
};

/// Small code rides in a Secret; what is larger is sent into the pods when they ask for it.
Result<Code> code_of(const FolderPlan& folder, const std::string& home) {
  if (folder.snapshot.empty()) return Code{};
  const auto id = tree::from_hex(folder.snapshot);
  if (!id) return fail(Kind::corrupt, "the plan names no snapshot: " + folder.snapshot);
  TRY(const auto store, open_blob_store("file://" + home + "/chunks"));
  Code code{.from = render::CodeFrom::secret, .bytes = {}};
  const auto written = snapshot::write_bundle(*store, *id, [&](std::string_view bytes) -> Result<> {
    if (code.bytes.size() + bytes.size() > render::kLargestSecretCode)
      return fail(Kind::exhausted, "too large for a Secret");
    code.bytes.append(bytes);
    return {};
  });
  if (!written && written.error().kind != Kind::exhausted)
    return tl::unexpected<Error>(written.error());
  if (!written) code = {.from = render::CodeFrom::stream, .bytes = {}};
  return code;
}

/// The whole bundle in a file without a name.
Result<UniqueFd> bundle_of(const std::string& snapshot, const std::string& home) {
  const auto id = tree::from_hex(snapshot);
  if (!id) return fail(Kind::not_found, "the attempt's snapshot is not known");
  UniqueFd file(::open(home.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file) return fail_errno(fmt::format("cannot make a file in {}", home), errno);
  TRY(const auto store, open_blob_store("file://" + home + "/chunks"));
  TRY_VOID(snapshot::write_bundle(*store, *id, [&](std::string_view bytes) -> Result<> {
    while (!bytes.empty()) {
      const auto put = ::write(file.get(), bytes.data(), bytes.size());
      if (put <= 0) return fail_errno("cannot write the code's bundle", errno);
      bytes.remove_prefix(static_cast<std::size_t>(put));
    }
    return {};
  }));
  return file;
}

Reason not_yet(const Error& error) {
  return {.code = "cluster",
          .text = "the cluster does not take it yet: " + to_line(error),
          .fix = "nothing: it is tried again"};
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
  const auto refuse = [&](const Error& error) {
    deps_.log.warn("a launch was refused",
                   {{"job", wish.ref.job.str()}, {"error", to_line(error)}});
    roster_.change(name, [&](Member& member) {
      member.refusal = Refusal{Cause::never_started, to_line(error)};
    });
    wish.launch.reset();
  };
  const auto member = roster_.find(name);
  if (!launch.plan || !launch.spec || !member || !member->stop_why.empty()) {
    wish.launch.reset();
    return;
  }
  auto code = code_of(launch.plan->folder, deps_.home);
  if (!code) return refuse(code.error());
  const auto objects = render::render({.spec = *launch.spec,
                                       .ref = launch.ref,
                                       .home_id = deps_.home_id,
                                       .plan_bytes = encode(*launch.plan),
                                       .code_bytes = std::move(code->bytes),
                                       .code = code->from,
                                       .enforced = enforced(api)});
  if (!objects) return refuse(objects.error());
  begun_.add(name);
  const auto created = create(api, deps_.space, *objects);
  if (!created && is_final_refusal(created.error())) return refuse(created.error());
  if (!created) {
    roster_.change(name, [&](Member& one) { one.waits_for = not_yet(created.error()); });
    return;
  }
  const auto dir = fmt::format("{}/jobs/{}/a{}", deps_.home, wish.ref.job.str(), wish.ref.attempt);
  (void)fs::make_dirs(dir);
  (void)fs::write_whole(dir + "/created", name + "\n" + launch.plan->folder.snapshot + "\n");
  begun_.remove(name);
  roster_.change(name, [&](Member& one) {
    one.was_created = true;
    one.is_absent = false;
    one.snapshot = launch.plan->folder.snapshot;
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
  // The Job goes last: while it is there, a server that comes after us finds all of it.
  if ((has_parts && !remove_parts(api, deps_.space, name)) || !remove(api, deps_.space, name)) {
    wish.acknowledged.insert(0);  // once more
    return;
  }
  begun_.remove(name);
  board_.forget(name);
  roster_.forget(name);
}

/// Into every pod that waits for it, from a file that is gone with us.
void PodsBackend::send_code(kube::Api& api, const std::string& name, Wish& wish) {
  const auto member = roster_.find(name);
  const auto bundle = member ? bundle_of(member->snapshot, deps_.home)
                             : Result<UniqueFd>(fail(Kind::not_found, "nobody knows this attempt"));
  if (!bundle) {
    deps_.log.warn("no code to send", {{"job", name}, {"error", to_line(bundle.error())}});
    return;
  }
  std::set<std::string> left;
  for (const auto& pod : wish.code_for) {
    if (::lseek(bundle->get(), 0, SEEK_SET) != 0) return;
    std::string words;
    const kube::ExecRequest request{deps_.space,
                                    pod,
                                    render::kCodeContainer,
                                    {kAgentProgram, "agent", "receive", render::kCodeDir}};
    const auto sent = kube::exec(
        api.cluster(), request,
        {.in = bundle->get(), .err = [&](std::string_view bytes) { words += bytes; }}, api.stop());
    const bool is_refused = !sent && sent.error().code == 403;
    roster_.change(name, [&](Member& one) {
      one.code_refused = is_refused ? std::optional(may_not_send(sent.error())) : std::nullopt;
    });
    if (sent && *sent == 0) continue;
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
  roster_.amend(name, [&](Member& member) {
    member.is_absent = !*is_there;
    for (const auto& pod : before.pods)
      if (pod.is_deleting || pod.is_gone) member.looked_for.insert(pod.index);
  });
  wish.is_sought = false;
}

}  // namespace muster::pods
