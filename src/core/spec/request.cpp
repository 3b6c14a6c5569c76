#include "core/spec/config_keys.hpp"
#include "core/spec/resolve.hpp"

// -n N means N GPUs with a process each. Up to one node's worth stays on one node; more takes whole
// nodes. --nodes and --procs-per-node say otherwise.
namespace muster::spec {
namespace {

int gpus_of_a_node(const Profile& profile, std::span<const Node> nodes) {
  if (profile.gpus_per_node) return *profile.gpus_per_node;
  int most = 0;
  for (const auto& node : nodes) most = std::max(most, node.gpus);
  return most;
}

tl::unexpected<Error> clash(std::string_view a, std::string_view b) {
  return fail(Kind::usage, fmt::format("{} and {} say different things", a, b),
              fmt::format("use one of them"));
}

Result<> check_clashes(const SubmitOptions& o) {
  if (o.procs && o.gpus.value_or(0) > 0) return clash("--procs (no GPUs)", "-n (GPUs)");
  if (o.procs && o.procs_per_node) return clash("--procs", "--procs-per-node");
  if (o.procs && o.single) return clash("--procs", "--single");
  if (o.single && o.procs_per_node.value_or(1) != 1) return clash("--single", "--procs-per-node");
  return {};
}

/// --procs N, and everything with 0 GPUs.
Result<Request> cpu_request(const SubmitOptions& o) {
  Request request;
  request.nodes = o.nodes.value_or(1);
  request.procs_per_node = o.procs_per_node.value_or(1);
  if (!o.procs) return request;
  if (*o.procs % request.nodes != 0)
    return fail(
        Kind::usage,
        fmt::format("{} processes do not spread evenly over {} nodes", *o.procs, request.nodes),
        fmt::format("use a multiple of {}", request.nodes));
  request.procs_per_node = *o.procs / request.nodes;
  return request;
}

/// How many GPUs in all when -n is absent.
int default_gpus(const SubmitOptions& o, const Profile& profile, int per_node) {
  const bool is_shaped = o.nodes || o.procs_per_node;
  if (profile.gpus && !is_shaped) return *profile.gpus;
  if (per_node == 0) return 0;
  return o.nodes.value_or(1) * (o.single ? 1 : o.procs_per_node.value_or(1));
}

tl::unexpected<Error> not_a_multiple(int n, int per_node) {
  const int below = n / per_node * per_node;
  return fail(Kind::usage,
              fmt::format("{} GPUs do not fill nodes of {}: more than one node takes whole nodes",
                          n, per_node),
              fmt::format("use -n {} or -n {}", below, below + per_node));
}

Result<> spread(Request& request, int n, int per_node, const SubmitOptions& o) {
  if (!o.nodes) {
    if (n > per_node && n % per_node != 0) return not_a_multiple(n, per_node);
    request.nodes = n <= per_node ? 1 : n / per_node;
  } else {
    request.nodes = *o.nodes;
    if (n % request.nodes != 0)
      return fail(Kind::usage,
                  fmt::format("{} GPUs do not spread evenly over {} nodes", n, request.nodes),
                  fmt::format("use -n {} or -n {}", std::max(n / request.nodes, 1) * request.nodes,
                              (n / request.nodes + 1) * request.nodes));
  }
  request.gpus_per_node = n / request.nodes;
  if (request.gpus_per_node > per_node)
    return fail(Kind::usage,
                fmt::format("{} GPUs on each of {} nodes, but a node has {}", request.gpus_per_node,
                            request.nodes, per_node),
                fmt::format("use at most -n {}, or more --nodes", request.nodes * per_node));
  return {};
}

tl::unexpected<Error> no_gpus(int n, const Profile& profile) {
  auto failed =
      fail(Kind::usage, fmt::format("{} GPUs asked for, but \"{}\" has none", n, profile.name),
           fmt::format("for {} processes without GPUs: --procs {}", n, n));
  if (profile.kind != "local")
    failed.value().fix.push_back(
        fmt::format("if it has some: set clusters.{}.gpus_per_node", profile.name));
  return failed;
}

Result<Request> shape(const SubmitOptions& o, const Profile& profile, std::span<const Node> nodes) {
  const int per_node = gpus_of_a_node(profile, nodes);
  const int n = o.procs ? 0 : o.gpus ? *o.gpus : default_gpus(o, profile, per_node);
  if (n == 0) return cpu_request(o);
  if (per_node == 0) return no_gpus(n, profile);
  Request request;
  TRY_VOID(spread(request, n, per_node, o));
  request.procs_per_node = o.single ? 1 : o.procs_per_node.value_or(request.gpus_per_node);
  return request;
}

constexpr std::int64_t kMaxRanks = 10'000'000;
constexpr std::int64_t kMaxMilliCpus = 100'000'000;

Result<> check_sizes(const Request& request, MilliCpus each) {
  if (request.nodes > kMaxNodes)
    return fail(Kind::usage, fmt::format("{} nodes are more than the {} that a job may have",
                                         request.nodes, kMaxNodes));
  const std::int64_t ranks = std::int64_t{request.nodes} * request.procs_per_node;
  if (ranks > kMaxRanks)
    return fail(Kind::usage, fmt::format("{} processes are more than the {} that a job may have",
                                         ranks, kMaxRanks));
  if (each.count > kMaxMilliCpus / request.procs_per_node)
    return fail(Kind::usage, fmt::format("{} processes of {} cpus are more than any node has",
                                         request.procs_per_node, to_text(each)));
  return {};
}

}  // namespace

Result<Request> resolve_request(const SubmitOptions& options, const Profile& profile,
                                std::span<const Node> nodes) {
  TRY_VOID(check_clashes(options));
  TRY(auto request, shape(options, profile, nodes));
  const MilliCpus each = options.cpus.value_or(MilliCpus{1000});
  TRY_VOID(check_sizes(request, each));
  request.cpus_per_node = MilliCpus{each.count * request.procs_per_node};
  request.memory_per_node = options.memory.value_or(Bytes{});
  return request;
}

}  // namespace muster::spec
