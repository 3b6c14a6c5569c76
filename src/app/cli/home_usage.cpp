#include "app/cli/home_usage.hpp"

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "edge/fs/files.hpp"

namespace muster {
namespace {

struct Part {
  const char* name;
  const char* what;
};
constexpr Part kParts[] = {
    {"store", "jobs, attempts and events"},
    {"logs", "what jobs and their set-ups printed"},
    {"folders", "what jobs wrote into their folders"},
    {"outputs", "MUSTER_OUTPUT_DIR of jobs"},
    {"checkpoints", "MUSTER_CHECKPOINT_DIR of jobs"},
    {"snapshots", "code, packed: muster snapshot prune"},
    {"trees", "code, unpacked for jobs: muster snapshot prune"},
    {"venvs", "Python environments: muster snapshot prune"},
    {"cache", "what was seen of your folders; losing it costs time"},
    {"others", "the program's copy, environments, the server's log"},
};

/// Which part a name of the home itself is; logs and such are within jobs.
std::string part_of(std::string_view name) {
  if (name.starts_with("store.db")) return "store";
  if (name == "chunks") return "snapshots";
  if (name == "trees" || name == "venvs" || name == "cache") return std::string(name);
  return "others";
}

std::string part_of_node(std::string_view name) {
  return name == "up" || name == "wk" || name == "dir" ? "folders" : "logs";
}

class Sorter {
 public:
  void add(const std::string& part, const std::string& path) {
    usages[part].add(fs::usage_of(path, counted_));
  }
  void add_job(const std::string& dir) {
    for (const auto& name : fs::entries(dir)) {
      const auto path = dir + "/" + name;
      if (name == "outputs" || name == "checkpoint")
        add(name == "outputs" ? "outputs" : "checkpoints", path);
      else
        for (const auto& node : fs::entries(path)) add_node(path + "/" + node);
    }
  }

  std::map<std::string, fs::Usage> usages;

 private:
  void add_node(const std::string& dir) {
    const auto names = fs::entries(dir);
    if (names.empty()) add("logs", dir);
    for (const auto& name : names) add(part_of_node(name), dir + "/" + name);
  }
  fs::Counted counted_;
};

}  // namespace

std::vector<HomePart> home_parts(const Paths& paths) {
  Sorter sorter;
  for (const auto& name : fs::entries(paths.state)) {
    const auto path = paths.state + "/" + name;
    if (name != "jobs") {
      sorter.add(part_of(name), path);
      continue;
    }
    for (const auto& id : fs::entries(path)) sorter.add_job(path + "/" + id);
  }
  if (!paths.cache.starts_with(paths.state + "/")) sorter.add("cache", paths.cache);
  std::vector<HomePart> parts;
  for (const auto& [name, what] : kParts) parts.push_back({name, what, sorter.usages[name]});
  return parts;
}

std::vector<JobUsage> job_usages(const std::string& home) {
  fs::Counted counted;
  std::vector<JobUsage> jobs;
  for (const auto& id : fs::entries(home + "/jobs"))
    jobs.push_back({id, fs::usage_of(home + "/jobs/" + id, counted)});
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const auto& a, const auto& b) { return a.usage.bytes > b.usage.bytes; });
  return jobs;
}

}  // namespace muster
