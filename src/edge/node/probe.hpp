/// What this machine has for jobs: cpus (affinity and cgroup quota counted), memory (the smaller of
/// the machine's and the cgroup's), GPUs. Reads /proc, /sys and /dev; any thread.
#pragma once
#include <string>
#include <vector>

#include "base/error.hpp"
#include "core/model/plan.hpp"
#include "core/model/resources.hpp"
#include "core/spec/config.hpp"

namespace muster::node {

/// Where the system's own files are; tests put others there.
struct Roots {
  std::string proc = "/proc";
  std::string cgroup = "/sys/fs/cgroup";
  std::string dev = "/dev";
};

struct Machine {
  MilliCpus cpus;
  Bytes memory;  // all of it: the reserve is still inside
  int gpus = 0;
};

Result<Machine> probe_machine(const Roots& roots = {});

/// The nodes a backend on this machine offers: the profile's groups (NAME-0, NAME-1, ...; what a
/// group leaves open is its share of the machine), or one node "local". 5 % of each node's memory
/// is kept back.
std::vector<Node> machine_nodes(const Machine& machine, const spec::Profile& profile);

/// What `get_cores` prints inside a job: the request (MUSTER_CPUS), else the cgroup's quota, else
/// the cpus this process may run on; whole cores, at least 1.
int cores_for_job(const Environment& env, const Roots& roots = {});

}  // namespace muster::node
