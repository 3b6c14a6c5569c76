// The files of a home, as docs/reference/home.md names them, made by the program itself.
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <thread>

#include "base/text.hpp"
#include "edge/logs/tail.hpp"
#include "edge/process/attempt_dir.hpp"
#include "golden.hpp"

namespace muster::golden {
namespace {

using namespace std::chrono_literals;

/// What differs from run to run, by its name in the reference. `before` is the path up to it.
std::string named_in(const std::vector<std::string>& before, const std::string& part) {
  if (before == std::vector<std::string>{"jobs"}) return "ID";
  if (before == std::vector<std::string>{"env"}) return "<sha256>";
  return part.starts_with("muster-") ? "muster-<buildid>" : part;
}

/// A home of its own whose server is stopped at the end.
class Home {
 public:
  Home() {
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-home-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;
  ~Home() {
    (void)muster("abort --all");
    (void)muster("wait --timeout 20s held");
    (void)muster("serve --stop");
    // The last of a server may still tidy up behind its answer.
    std::error_code ignored;
    for (int i = 0; i < 500 && std::filesystem::exists(path_); ++i) {
      std::filesystem::remove_all(path_, ignored);
      std::this_thread::sleep_for(10ms);
    }
  }
  const std::filesystem::path& path() const { return path_; }

  int muster(const std::string& words) const {
    const auto line =
        fmt::format("MUSTER_HOME={} {} {} >/dev/null 2>&1", path_.string(), MUSTER_BINARY, words);
    return std::system(line.c_str());
  }
  /// Every path, with what differs from run to run replaced by its name in the reference.
  std::set<std::string> tree() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) {
      std::vector<std::string> parts;
      for (const auto& part : entry.path().lexically_relative(path_))
        parts.push_back(named_in(parts, part.string()));
      names.insert(join(parts, "/"));
    }
    return names;
  }

 private:
  std::filesystem::path path_;
};

TEST(GoldenHome, EveryFileHasItsAgreedName) {
  ASSERT_TRUE(std::filesystem::exists(MUSTER_BINARY)) << "build the target muster first";
  const Home home;
  ASSERT_EQ(home.muster("run --here -- sh -c 'echo out; echo err >&2'"), 0);
  const auto tree = home.tree();
  for (const auto* name :
       {"server.pid", "server.lock", "server.log", "socket", "store.db", "bin/muster-<buildid>",
        "bin/tools/get_cores", "env/<sha256>", "jobs/ID/checkpoint", "jobs/ID/outputs",
        "jobs/ID/a1/n0/lock", "jobs/ID/a1/n0/shim.json", "jobs/ID/a1/n0/exit.json",
        "jobs/ID/a1/n0/rank-00000.out", "jobs/ID/a1/n0/rank-00000.err",
        "jobs/ID/a1/n0/rank-00000.idx"})
    EXPECT_TRUE(tree.contains(name)) << name;
  EXPECT_FALSE(tree.contains("jobs/ID/a1/n0/ctl")) << "its server lives";
  // What is there and not in the reference should be, or should not be there.
  const auto page = source_text("docs/reference/home.md");
  for (const auto& path : tree) {
    const auto name = std::filesystem::path(path).filename().string();
    const bool is_node = path == "jobs/ID/a1" || path == "jobs/ID/a1/n0";
    const bool is_log = name.starts_with("rank-00000");
    const bool is_sqlite = name.starts_with("store.db-");
    if (is_node || is_log || is_sqlite) continue;
    EXPECT_NE(page.find(name), page.npos) << path << " is not in docs/reference/home.md";
  }
}

TEST(GoldenHome, ASupervisorWithoutAServerListensOnItsSocket) {
  ASSERT_TRUE(std::filesystem::exists(MUSTER_BINARY)) << "build the target muster first";
  const Home home;
  ASSERT_EQ(home.muster("submit --name held -- sleep 1000"), 0);
  const auto has = [&](const std::string& name) {
    for (int i = 0; i < 1000; ++i) {
      if (home.tree().contains(name)) return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  };
  ASSERT_TRUE(has("jobs/ID/a1/n0/shim.json"));
  ASSERT_EQ(home.muster("serve --stop"), 0);
  EXPECT_TRUE(has("jobs/ID/a1/n0/ctl"));
}

TEST(GoldenHome, AttemptsAndLogsAreNamedByTheirNumbers) {
  EXPECT_EQ(process::attempt_dir("/h", {7, JobId("ID"), 2}, 3), "/h/jobs/ID/a2/n3");
  EXPECT_EQ(process::log_name(0, "out"), "rank-00000.out");
  EXPECT_EQ(process::log_name(12345, "idx"), "rank-12345.idx");
  EXPECT_EQ(logs::kIndexRow, 24U);
}

}  // namespace
}  // namespace muster::golden
