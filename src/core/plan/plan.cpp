#include "core/plan/plan.hpp"

#include <algorithm>

namespace muster::plan {
namespace {

/// Shell text in these is evaluated before the command, in this order.
constexpr const char* kPresteps[] = {"MUSTER_PRESTEP", "AMLARC_PRESTEP", "AMLARC_RESTEP"};
constexpr const char* kThreadVariables[] = {"OMP_NUM_THREADS", "MKL_NUM_THREADS",
                                            "NUMEXPR_NUM_THREADS", "OPENBLAS_NUM_THREADS"};

void set_default(Environment& env, const char* name, const std::string& value) {
  env.emplace(name, value);
}

std::string gpu_list(const std::vector<int>& gpus) {
  std::string list;
  for (const int gpu : gpus) list += fmt::format("{}{}", list.empty() ? "" : ",", gpu);
  return list;
}

/// The command behind its presteps: a failing prestep is the job's failure.
std::vector<std::string> argv_of(const JobSpec& spec, const Environment& env) {
  std::string script;
  for (const char* name : kPresteps)
    if (const auto found = env.find(name); found != env.end() && !found->second.empty())
      script += fmt::format("eval \"${}\" || exit $?\n", name);
  if (script.empty()) return spec.command;
  std::vector<std::string> argv{"/bin/sh", "-c", script + "exec \"$@\"", "muster"};
  argv.insert(argv.end(), spec.command.begin(), spec.command.end());
  return argv;
}

Environment shared_env(const JobSpec& spec, const Launch& launch, std::int64_t epoch,
                       const Surroundings& around) {
  Environment env = around.env;
  env["MUSTER_JOB_ID"] = launch.ref.job.str();
  env["MUSTER_ATTEMPT"] = std::to_string(launch.ref.attempt);
  env["MUSTER_EPOCH"] = std::to_string(epoch);
  env["MUSTER_HOME_ID"] = around.home_id;
  env["MUSTER_CHECKPOINT_DIR"] = around.job_dir + "/checkpoint";
  env["MUSTER_OUTPUT_DIR"] = around.job_dir + "/outputs";
  env["MUSTER_RESUME_FROM"] = around.resume_from;
  env["MUSTER_PREEMPT_FILE"] = fmt::format("{}/a{}/preempt", around.job_dir, launch.ref.attempt);
  env["MUSTER_DONE_FILE"] = fmt::format("{}/a{}/done", around.job_dir, launch.ref.attempt);
  env["MUSTER_PREV_CAUSE"] = name_of(around.previous);
  env["WORLD_SIZE"] = std::to_string(spec.request.ranks());
  env["LOCAL_WORLD_SIZE"] = std::to_string(spec.request.procs_per_node);
  env["MASTER_ADDR"] = around.master_addr;
  env["MASTER_PORT"] = std::to_string(launch.port);
  set_default(env, "PYTHONUNBUFFERED", "1");
  const auto threads = std::to_string(threads_per_process(
      spec.request.cpus_per_node, spec.request.procs_per_node, spec.dataloader_workers));
  for (const char* name : kThreadVariables) set_default(env, name, threads);
  auto& path = env["PATH"];
  if (path.empty()) path = kUsualPath;
  path += ":" + around.tools_dir;
  return env;
}

NodePlan node_plan(const Placement& placement, int index) {
  NodePlan node{.index = index, .placement = placement};
  for (int local = 0; local < placement.ranks; ++local) {
    RankPlan rank{.rank = placement.first_rank + local, .local_rank = local};
    rank.env = {{"RANK", std::to_string(rank.rank)},
                {"LOCAL_RANK", std::to_string(local)},
                {"NODE_RANK", std::to_string(index)},
                {"MUSTER_NODE", placement.node.str()},
                {"MUSTER_CPUS", to_text(placement.cpus)},
                {"CUDA_VISIBLE_DEVICES", placement.gpus.empty() ? "-1" : gpu_list(placement.gpus)}};
    node.ranks.push_back(std::move(rank));
  }
  return node;
}

FolderPlan folder_of(const JobSpec& spec, const Surroundings& around) {
  if (spec.code.snapshot.empty()) return {.keep = spec.keep};
  FolderPlan folder{.snapshot = spec.code.snapshot,
                    .store = around.store,
                    .trees = around.trees,
                    .name = spec.code.top.substr(spec.code.top.rfind('/') + 1),
                    .below = spec.code.below,
                    .links = {},
                    .setup = spec.code.setup,
                    .requirements = spec.code.requirements,
                    .venvs = around.venvs,
                    .keep = spec.keep};
  if (folder.name.empty()) folder.name = "code";
  for (const auto& name : spec.code.links) folder.links[name] = spec.code.top + "/" + name;
  return folder;
}

}  // namespace

int threads_per_process(MilliCpus cpus, int processes, int dataloader_workers) {
  const auto cores = cpus.count / 1000 / std::max(processes, 1) / std::max(dataloader_workers, 1);
  return static_cast<int>(std::max<std::int64_t>(cores, 1));
}

Plan make_plan(const JobSpec& spec, const Launch& launch, std::int64_t epoch,
               const Surroundings& around) {
  Plan plan{.ref = launch.ref,
            .epoch = epoch,
            .dir = spec.dir,
            .folder = folder_of(spec, around),
            .time_limit = spec.time_limit,
            .grace = spec.grace,
            .signal_to = spec.signal_to,
            .memory_limit = spec.request.memory_per_node,
            .umask = spec.umask,
            .nice = spec.nice,
            .limits = spec.limits};
  // In a pod nobody has the person's folders: without code it begins where its image says.
  if (spec.pod && spec.code.snapshot.empty()) plan.dir.clear();
  plan.env = shared_env(spec, launch, epoch, around);
  plan.argv = argv_of(spec, plan.env);
  for (int index = 0; index < std::ssize(launch.placements); ++index)
    plan.nodes.push_back(node_plan(launch.placements[static_cast<std::size_t>(index)], index));
  plan.folders = {around.job_dir + "/checkpoint", around.job_dir + "/outputs"};
  return plan;
}

}  // namespace muster::plan
