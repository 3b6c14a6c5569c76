// The scenarios of scenarios.json on virtual nodes: the product's own driver and engine, virtual
// time.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "app/driver/driver.hpp"
#include "app/sim/memory_store.hpp"
#include "base/text.hpp"
#include "base/time.hpp"
#include "core/model/json.hpp"
#include "core/plan/plan.hpp"
#include "edge/sim/sim_backend.hpp"

namespace muster::sim {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

json::array scenarios() {
  std::ifstream file(MUSTER_SOURCE_DIR "/tests/conformance/scenarios.json");
  std::stringstream text;
  text << file.rdbuf();
  return json::parse(text.str()).as_array();
}

std::vector<Node> two_nodes() {
  std::vector<Node> nodes;
  for (const char* name : {"a", "b"})
    nodes.push_back({.name = NodeName(name), .cpus = {2000}, .memory = {1 << 30}, .gpus = 0});
  return nodes;
}

/// A rank's deed as the argv of a virtual process.
std::vector<std::string> argv_of(std::string_view deed, int failing_rank) {
  std::vector<std::string> argv{"sim", "run=1000000000"};
  const auto words = split(deed, ' ');
  if (words.size() == 2) {
    argv[1] = words[0] == "later" ? "run=3000" : "run=1";
    argv.push_back(fmt::format("{}={}", words[0] == "signal" ? "signal" : "exit", words[1]));
  }
  if (deed == "save") argv.emplace_back("term=exit0");
  if (deed == "ignore") argv.emplace_back("term=ignore");
  if (failing_rank >= 0) argv.push_back(fmt::format("rank={}", failing_rank));
  return argv;
}

/// One job in one virtual world, from its submission to its end.
class Play {
 public:
  explicit Play(const json::object& scene) : scene_(scene), backend_(two_nodes(), {}, Rng(1)) {
    backend_.on_change([this](std::vector<AttemptRef> refs) {
      hints_.insert(hints_.end(), refs.begin(), refs.end());
    });
    boot();
  }

  Job run() {
    turn({engine::SubmitJob{.ticket = 1, .spec = spec()}});
    const RunTime end = now_.run + hours(24);
    while (now_.run < end && !is_final(job().state)) {
      if (scene_.contains("then") && job().state == JobState::running && !is_disturbed_) disturb();
      pass();
    }
    return job();
  }

  std::vector<Attempt> attempts() { return *store_.attempts(1); }

 private:
  std::string text(std::string_view key) const {
    const auto* found = field(scene_, key);
    return found == nullptr ? "" : std::string(found->as_string());
  }
  int number(std::string_view key, int otherwise) const {
    const auto* found = field(scene_, key);
    return found == nullptr ? otherwise : static_cast<int>(found->as_int64());
  }

  JobSpec spec() const {
    JobSpec spec{.command = {"sim"}, .user = "ann"};
    spec.name = "scene";
    spec.request = {.nodes = number("nodes", 1), .procs_per_node = 1, .cpus_per_node = {1500}};
    spec.retries.user = number("retries", 0);
    if (!text("time_limit").empty()) spec.time_limit = *parse_duration(text("time_limit"));
    return spec;
  }

  void boot() {
    driver_ = std::make_unique<driver::Driver>(driver::DriverDeps{
        .store = store_, .backend = backend_, .log = log_, .equip = [this](const Launch& launch) {
          return equip(launch);
        }});
  }

  Result<driver::Equipment> equip(const Launch& launch) {
    TRY(const auto spec, store_.spec(launch.ref.seq));
    auto plan = plan::make_plan(
        spec, launch, launch.ref.attempt,
        {.home_id = "sim", .master_addr = "sim", .job_dir = "sim", .tools_dir = "sim"});
    const auto& does = scene_.at("does").as_array();
    const auto at = std::min(static_cast<std::size_t>(launch.ref.attempt), does.size()) - 1;
    plan.argv = argv_of(does[at].as_string(), number("failing_rank", -1));
    return driver::Equipment{.plan = std::make_shared<const Plan>(std::move(plan)),
                             .spec = nullptr};
  }

  void disturb() {
    is_disturbed_ = true;
    const auto what = text("then");
    const AttemptRef ref{1, job().id, 1};
    if (what == "abort") turn({engine::AbortJob{.ticket = 2, .seq = 1, .by = "ann"}});
    if (what == "kill server") boot();
    if (what == "evict") backend_.lose(ref, 0, {Cause::eviction, "evicted"});
    if (what == "lose node") backend_.lose(ref, number("nodes", 1) - 1, {Cause::lost, "gone"});
  }

  void pass() {
    auto next = now_.run + seconds(1);
    if (!hints_.empty()) next = now_.run + Duration(1);
    if (const auto change = backend_.next_change()) next = std::min(next, *change);
    next = std::max(next, now_.run + Duration(1));
    now_.wall = now_.wall + (next - now_.run);
    now_.run = next;
    backend_.advance(now_.run, now_.wall);
    turn({});
  }

  void turn(std::vector<engine::Input> inbox) {
    (void)driver_->turn(now_, std::move(inbox), std::exchange(hints_, {}));
  }

  Job job() { return **store_.job(1); }

  const json::object& scene_;
  MemoryStore store_;
  SimBackend backend_;
  NoLog log_;
  std::unique_ptr<driver::Driver> driver_;
  std::vector<AttemptRef> hints_;
  bool is_disturbed_ = false;
  Now now_{.wall = {1'760'000'000'000'000}, .run = {}};
};

void compare(const json::object& ends, const Job& job, const std::vector<Attempt>& attempts) {
  json::object seen{{"state", name_of(job.state)}};
  json::array causes;
  for (const auto& attempt : attempts) causes.push_back(json::value(name_of(attempt.cause)));
  seen["causes"] = std::move(causes);
  if (ends.contains("exit_code")) seen["exit_code"] = job.exit_code;
  if (ends.contains("signal")) seen["signal"] = job.signal;
  if (ends.contains("first_failed_rank"))
    seen["first_failed_rank"] = attempts.back().first_failed_rank;
  for (const auto& [key, wanted] : ends) {
    if (key == "says") continue;
    EXPECT_EQ(json::serialize(seen[key]), json::serialize(wanted)) << key;
  }
}

TEST(Conformance, OnVirtualNodes) {
  int played = 0;
  for (const auto& one : scenarios()) {
    const auto& scene = one.as_object();
    const auto* not_on = field(scene, "not_on");
    if (not_on != nullptr && not_on->as_object().contains("sim")) continue;
    SCOPED_TRACE(std::string(scene.at("name").as_string()));
    Play play(scene);
    const auto job = play.run();
    compare(scene.at("ends").as_object(), job, play.attempts());
    ++played;
  }
  EXPECT_GT(played, 10);
}

}  // namespace
}  // namespace muster::sim
