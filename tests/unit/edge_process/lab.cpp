#include "lab.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "edge/process/attempt_dir.hpp"
#include "edge/process/files.hpp"

namespace muster::process::testing {

std::string self_path() {
  char buffer[4096];
  const auto size = ::readlink("/proc/self/exe", buffer, sizeof buffer);
  return std::string(buffer, static_cast<std::size_t>(std::max<ssize_t>(0, size)));
}

bool eventually(const std::function<bool()>& is_so, std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < until) {
    if (is_so()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return is_so();
}

std::string content_of(const std::string& path) {
  return read_file(AT_FDCWD, path).value_or(std::string());
}

std::vector<ProcessId> processes_with(const std::string& text) {
  std::vector<ProcessId> found;
  for (const auto& row : all_processes()) {
    if (row.state == 'Z' || row.id.pid == ::getpid()) continue;
    const auto base = fmt::format("/proc/{}/", row.id.pid);
    const auto both = content_of(base + "cmdline") + content_of(base + "environ");
    if (both.find(text) != std::string::npos) found.push_back(row.id);
  }
  return found;
}

bool is_gone(ProcessId id) {
  const auto row = row_of(id.pid);
  return !row || row->id != id || row->state == 'Z';
}

std::string best_tier() {
  const SlotPool pool(to_hex(random_bytes(8)), TierChoice::best);
  return std::string(pool.tier());
}

Lab::Lab(TierChoice tier) : tier_(tier), home_id_(to_hex(random_bytes(8))), tag_("tag" + home_id_) {
  std::string name = std::filesystem::temp_directory_path() / "muster-lab-XXXXXX";
  home_ = ::mkdtemp(name.data());
}

Lab::~Lab() {
  // Acknowledged shims go at once; the others would wait for a second.
  for (const auto& plan : launched_)
    for (const auto& node : plan.nodes) (void)backend().perform(Acknowledge{plan.ref, node.index});
  for (const auto& plan : launched_) {
    const auto shim = shim_of(plan);
    EXPECT_TRUE(eventually([&] { return is_gone(shim); })) << plan.ref.job.str();
  }
  end_server();
  EXPECT_TRUE(eventually([&] { return processes_with(home_id_).empty(); })) << "left behind";
  std::filesystem::remove_all(home_);
  {
    const SlotPool sweeper(home_id_, tier_);
  }
}

LocalBackend& Lab::backend() {
  if (!backend_)
    backend_ = std::make_unique<LocalBackend>(LocalDeps{.home = home_,
                                                        .home_id = home_id_,
                                                        .binary = binary_,
                                                        .build_id = "test",
                                                        .nodes = {},
                                                        .log = log_,
                                                        .tier = tier_});
  return *backend_;
}

AttemptRef Lab::ref(const std::string& name) const { return {1, JobId("me_1_" + name), 1}; }

Plan Lab::plan(const std::string& name, std::vector<std::string> argv, int ranks) const {
  Plan plan{.ref = ref(name), .epoch = 7, .argv = std::move(argv), .dir = home_};
  plan.env = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"LAB", tag_}};
  plan.grace = std::chrono::seconds(20);
  NodePlan node{.index = 0};
  for (int rank = 0; rank < ranks; ++rank)
    node.ranks.push_back({rank, rank, {{"RANK", std::to_string(rank)}}});
  plan.nodes.push_back(std::move(node));
  return plan;
}

Plan Lab::shell(const std::string& name, const std::string& script, int ranks) const {
  return plan(name, {"/bin/sh", "-c", script}, ranks);
}

void Lab::launch(const Plan& plan, int port) {
  const Launch action{plan.ref, {}, port, std::make_shared<const Plan>(plan)};
  launched_.push_back(plan);
  ASSERT_TRUE(backend().perform(action));
}

void Lab::stop(const Plan& plan, std::chrono::milliseconds grace, const std::string& why) {
  const Stop action{plan.ref, static_cast<int>(plan.nodes.size()), why, grace};
  ASSERT_TRUE(backend().perform(action));
}

void Lab::acknowledge(const Plan& plan) {
  ASSERT_TRUE(backend().perform(Acknowledge{plan.ref, 0}));
}

Sight Lab::sight(const Plan& plan, int node) {
  const Watched watched[] = {{plan.ref, static_cast<int>(plan.nodes.size())}};
  return backend().observe(watched)->at(static_cast<std::size_t>(node)).sight;
}

bool Lab::wait_running(const Plan& plan) {
  return eventually([&] {
    const auto now = sight(plan);
    const auto* alive = std::get_if<Alive>(&now);
    return alive != nullptr && alive->state == AttemptState::running;
  });
}

ExitRecord Lab::wait_ended(const Plan& plan, int node) {
  std::optional<ExitRecord> record;
  const bool ended = eventually([&] {
    const auto now = sight(plan, node);
    if (const auto* seen = std::get_if<Ended>(&now)) record = seen->record;
    return record.has_value();
  });
  EXPECT_TRUE(ended) << plan.ref.job.str() << " did not end, sight " << sight(plan, node).index();
  return record.value_or(ExitRecord{{RankExit{.rank = -1, .exit = -1}}, "", "did not end"});
}

Lost Lab::wait_lost(const Plan& plan) {
  std::optional<Lost> lost;
  EXPECT_TRUE(eventually([&] {
    const auto now = sight(plan);
    if (const auto* seen = std::get_if<Lost>(&now)) lost = *seen;
    return lost.has_value();
  }));
  return lost.value_or(Lost{Cause::none, "not lost"});
}

std::string Lab::path(const Plan& plan, const std::string& name, int node) const {
  return attempt_dir(home_, plan.ref, node) + "/" + name;
}

std::string Lab::file(const Plan& plan, const std::string& name, int node) const {
  return content_of(path(plan, name, node));
}

NodeOrder Lab::order(const Plan& plan) const {
  return {
      .home = home_, .home_id = home_id_, .build_id = "test", .node = 0, .slot = {}, .plan = plan};
}

ProcessId Lab::shim_of(const Plan& plan) const {
  const auto mark = parse_mark(file(plan, "shim.json"));
  return mark ? ProcessId{mark->pid, mark->start_ticks} : ProcessId{};
}

std::string tier_word(const ::testing::TestParamInfo<TierChoice>& info) {
  return info.param == TierChoice::best ? "Best" : "None";
}

}  // namespace muster::process::testing
