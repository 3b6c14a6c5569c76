#include "app/cli/exec_job.hpp"

#include <unistd.h>

#include <optional>

#include "app/cli/client.hpp"
#include "app/cli/files.hpp"
#include "app/cli/output.hpp"
#include "app/cli/terminal.hpp"
#include "base/text.hpp"
#include "core/model/json.hpp"
#include "core/render/kube_job.hpp"
#include "core/render/names.hpp"
#include "edge/kube/exec.hpp"
#include "edge/kube/list.hpp"
#include "edge/pods/pod_row.hpp"
#include "edge/process/attempt_dir.hpp"
#include "edge/process/enter.hpp"

namespace muster {
namespace {

/// Where the pods of a job are, whatever its profile says today.
struct PodPlace {
  std::string kubeconfig;
  std::string context;
  std::string space;
};

/// Where a rank of a job is.
struct Spot {
  AttemptRef ref;
  int node = 0;
  std::optional<PodPlace> pod;  // of a job on a cluster
};

Result<> check_state(const json::object& job, const std::string& id) {
  const auto state = text_at(job, "state");
  if (state == "running" || state == "stopping") return {};
  const auto named_state = named<JobState>(state);
  const bool is_over = named_state && is_final(*named_state);
  return fail(Kind::conflict,
              fmt::format("job {} {}: there is nothing to run a command beside", id,
                          is_over ? fmt::format("has ended ({})", state)
                                  : fmt::format("does not run yet ({})", state)),
              is_over ? fmt::format("run it again: muster resubmit {}", id)
                      : fmt::format("what it waits for: muster why {}", id));
}

Result<Spot> spot_of(const json::object& job, int rank) {
  const std::string id(text_at(job, "id"));
  TRY_VOID(check_state(job, id));
  const auto& attempts = list_at(job, "attempts");
  if (attempts.empty() || !attempts.back().is_object())
    return fail(Kind::corrupt, "the server tells of no attempt");
  const auto& attempt = attempts.back().get_object();
  Spot spot{
      .ref = {.seq = 0, .job = JobId(id), .attempt = static_cast<int>(number_at(attempt, "n"))},
      .node = 0,
      .pod = {}};
  if (const auto* pod = field(job, "pod"); pod != nullptr && pod->is_object()) {
    const auto& settings = pod->get_object();
    spot.pod = PodPlace{.kubeconfig = std::string(text_at(settings, "kubeconfig")),
                        .context = std::string(text_at(settings, "context")),
                        .space = std::string(text_at(settings, "namespace"))};
  }
  int first = 0;
  for (const auto& count : list_at(attempt, "ranks_per_node")) {
    const int ranks = static_cast<int>(count.to_number<std::int64_t>());
    if (rank < first + ranks) return spot;
    first += ranks;
    ++spot.node;
  }
  return fail(Kind::not_found, fmt::format("job {} has no rank {}", id, rank),
              fmt::format("it has {} ranks, from 0", first));
}

Result<int> exec_here(Context& context, const Spot& spot, const ExecWish& wish) {
  TRY(const auto traces,
      process::look_at(process::attempt_dir(context.paths.state, spot.ref, spot.node),
                       spot.ref.attempt));
  TRY(const auto place, process::find_rank(spot.ref.job.str(), spot.ref.attempt, wish.rank));
  std::vector<std::string> joins;
  if (traces.mark) joins = process::open_cgroup(traces.mark->slot)->join_files();
  TRY(const auto failure, process::become_neighbour(place, joins, wish.argv));
  context.err->write(fmt::format("muster: {}\n", printable(failure.why)));
  return failure.exit;
}

struct Pod {
  std::string name;
  bool is_running = false;
};

kube::ApiResult<std::optional<Pod>> find_pod(kube::Api& api, const std::string& space,
                                             const Spot& spot) {
  std::optional<Pod> found;
  const auto labels =
      fmt::format("{}={},{}={}", render::kJobLabel, render::label_value(spot.ref.job.str()),
                  render::kAttemptLabel, spot.ref.attempt);
  const kube::ListSink sink{.begin = [&] { found.reset(); },
                            .item =
                                [&](const json::object& object) {
                                  const auto row = pods::read_pod(object);
                                  if (row && row->index == spot.node)
                                    found = Pod{row->name, row->is_running};
                                }};
  API_TRY_VOID(kube::list(api, {kube::pods(), space}, {.labels = labels, .fields = ""}, sink));
  return found;
}

Error explained(kube::ApiError error, const std::string& space) {
  if (error.code == 403)
    error.fix = {
        fmt::format("whoever runs the cluster applies the role muster-exec and binds it to you: "
                    "muster cluster roles muster-exec --namespace {} | kubectl apply -f -",
                    space)};
  return error;
}

Result<int> exec_in_pod(Context& context, const Spot& spot, const ExecWish& wish) {
  TRY(auto target,
      kube::load({.path = spot.pod->kubeconfig, .context = spot.pod->context, .env = context.env}));
  const auto space = spot.pod->space.empty() ? target.space : spot.pod->space;
  TRY(const auto cluster,
      kube::Cluster::open(std::move(target), {.retries = 2, .env = context.env}));
  kube::Api api(cluster);
  TRY(const auto pod, find_pod(api, space, spot));
  if (!pod || !pod->is_running)
    return fail(Kind::conflict, fmt::format("the pod of rank {} does not run", wish.rank),
                fmt::format("what it waits for: muster why {}", spot.ref.job.str()));
  kube::ExecRequest request{
      .space = space,
      .pod = pod->name,
      .container = render::kMainContainer,
      .argv = {render::kAgentInPod, "agent", "exec", "--rank", std::to_string(wish.rank), "--"}};
  request.argv.insert(request.argv.end(), wish.argv.begin(), wish.argv.end());
  kube::ExecStreams streams{.in = STDIN_FILENO};
  streams.out = [&](std::string_view bytes) { context.out->write(bytes); };
  streams.err = [&](std::string_view bytes) { context.err->write(bytes); };
  std::optional<RawTerminal> terminal;
  if (context.in_is_tty && context.out_is_tty) {
    TRY(auto taken, RawTerminal::take());
    terminal.emplace(std::move(taken));
    request.is_terminal = true;
    streams.resized = terminal->resized();
    streams.size = [&] {
      const auto size = terminal->size();
      return kube::TerminalSize{size.columns, size.rows};
    };
  }
  const auto code = kube::exec(*cluster, request, streams);
  terminal.reset();  // before anything is printed
  if (!code) return tl::unexpected<Error>(explained(code.error(), space));
  return *code;
}

}  // namespace

Result<int> exec_in_job(Context& context, const ExecWish& wish) {
  TRY(const auto document, call_again(context, {.route = "jobs.get", .id = wish.id}));
  TRY(const auto job, parse_json(document));
  if (!job.is_object()) return fail(Kind::corrupt, "the server's answer cannot be read");
  TRY(const auto spot, spot_of(job.get_object(), wish.rank));
  return spot.pod ? exec_in_pod(context, spot, wish) : exec_here(context, spot, wish);
}

}  // namespace muster
