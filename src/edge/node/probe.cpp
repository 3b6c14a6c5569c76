#include "edge/node/probe.hpp"

#include <dirent.h>
#include <sched.h>

#include <cerrno>
#include <memory>

#include "base/text.hpp"
#include "edge/fs/files.hpp"
#include "edge/node/cgroup_limits.hpp"

namespace muster::node {
namespace {

/// The cpus this process may run on. The set grows until the kernel is content: machines have more
/// than the 1,024 of the fixed type.
int affinity_cpus() {
  for (int cpus = 1024; cpus <= 1024 * 1024; cpus *= 4) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(cpus));
    if (set == nullptr) return 1;
    const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus));
    const bool done = ::sched_getaffinity(0, size, set) == 0;
    const int error = errno;
    const int count = done ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (done) return std::max(count, 1);
    if (error != EINVAL) return 1;
  }
  return 1;
}

Result<Bytes> total_memory(const Roots& roots) {
  const std::string path = roots.proc + "/meminfo";
  TRY(const auto text, fs::read_file(path));
  for (auto line : split(text, '\n')) {
    if (!line.starts_with("MemTotal:")) continue;
    line = trimmed(line.substr(9));
    TRY(const auto kilobytes, parse_whole(line.substr(0, line.find(' ')), 0, INT64_MAX / 1024));
    return Bytes{kilobytes * 1024};
  }
  return fail(Kind::corrupt, fmt::format("{} has no MemTotal", path));
}

/// /dev/nvidia0, /dev/nvidia1, ...; nvidiactl, nvidia-uvm and others are not GPUs.
int count_gpus(const Roots& roots) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(roots.dev.c_str()), ::closedir);
  if (!dir) return 0;
  int count = 0;
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string_view name = entry->d_name;
    if (name.starts_with("nvidia") && name.size() > 6 &&
        name.find_first_not_of("0123456789", 6) == std::string_view::npos)
      ++count;
  }
  return count;
}

constexpr std::int64_t kReserve = 20;  // one part in twenty stays with the system

Bytes less_reserve(Bytes memory) { return Bytes{memory.count - memory.count / kReserve}; }

/// Node number `i` of a group, when `total` nodes share the machine.
Node node_of(const spec::NodeGroup& group, int i, const Machine& machine, std::int64_t total,
             const std::string& cluster) {
  Node node{.name = NodeName(fmt::format("{}-{}", group.name, i)), .cluster = cluster};
  const MilliCpus share{std::max<std::int64_t>(machine.cpus.count / total, 1)};
  node.cpus = group.cpus.value_or(share);
  node.memory = less_reserve(group.memory.value_or(Bytes{machine.memory.count / total}));
  // Two nodes must not give out the same GPU: only a node that is alone has the machine's.
  node.gpus = group.gpus.value_or(total == 1 ? machine.gpus : 0);
  node.is_spot = group.is_spot;
  node.labels = group.labels;
  return node;
}

}  // namespace

Result<Machine> probe_machine(const Roots& roots) {
  Machine machine;
  TRY(machine.memory, total_memory(roots));
  machine.cpus = MilliCpus{affinity_cpus() * std::int64_t{1000}};
  machine.gpus = count_gpus(roots);
  const auto limits = cgroup_limits(roots);
  if (limits.cpus) machine.cpus = std::min(machine.cpus, *limits.cpus);
  if (limits.memory) machine.memory = std::min(machine.memory, *limits.memory);
  return machine;
}

std::vector<Node> machine_nodes(const Machine& machine, const spec::Profile& profile) {
  // Elsewhere there is nothing of this machine, and what is there is known by looking.
  if (profile.kind != "local") return {};
  if (profile.nodes.empty())
    return {Node{.name = NodeName("local"),
                 .cluster = profile.name,
                 .cpus = machine.cpus,
                 .memory = less_reserve(machine.memory),
                 .gpus = machine.gpus}};
  std::int64_t total = 0;
  for (const auto& group : profile.nodes) total += group.count;
  std::vector<Node> nodes;
  for (const auto& group : profile.nodes)
    for (int i = 0; i < group.count; ++i)
      nodes.push_back(node_of(group, i, machine, total, profile.name));
  return nodes;
}

int cores_for_job(const Environment& env, const Roots& roots) {
  const auto whole = [](MilliCpus cpus) {
    return static_cast<int>(std::max<std::int64_t>(cpus.count / 1000, 1));
  };
  const auto asked = env.find("MUSTER_CPUS");
  if (asked != env.end())
    if (const auto cpus = parse_cpus(asked->second); cpus && cpus->count > 0) return whole(*cpus);
  const int affinity = affinity_cpus();
  const auto limits = cgroup_limits(roots);
  return limits.cpus ? std::min(whole(*limits.cpus), affinity) : affinity;
}

}  // namespace muster::node
