// Real processes of this machine, under a home in a temporary folder.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "contract/backends/stage.hpp"
#include "edge/process/attempt_dir.hpp"
#include "edge/process/slot_pool.hpp"

namespace muster::contract {
namespace {

class LocalStage final : public Stage {
 public:
  explicit LocalStage(const BackendKind& kind) : kind_(kind), home_id_(to_hex(random_bytes(8))) {
    auto pattern = (std::filesystem::temp_directory_path() / "muster-contract-XXXXXX").string();
    home_ = ::mkdtemp(pattern.data());
    EXPECT_TRUE(std::filesystem::exists(MUSTER_BINARY)) << "build the target muster first";
    open();
  }
  ~LocalStage() override {
    backend_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(home_, ignored);
    const process::SlotPool sweeper(home_id_, process::TierChoice::best);
  }

  Backend& backend() override { return *backend_; }

  std::vector<std::string> command(Part part) const override {
    // The word is printed when the command behaves as asked, and not before.
    const auto shell = [](const char* text) -> std::vector<std::string> {
      return {"/bin/sh", "-c", text};
    };
    switch (part) {
      case Part::exits_0: return shell("echo began");
      case Part::exits_3: return shell("echo began; exit 3");
      case Part::runs_until_stopped: return shell("echo began; exec sleep 1000");
      case Part::ignores_term:
        return shell("trap '' TERM; echo began; while :; do sleep 0.1; done");
    }
    return {};
  }

  void wait() override { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

  int starts(const AttemptRef& ref) override {
    std::stringstream text;
    text << std::ifstream(process::attempt_dir(home_, ref, 0) + "/" + process::log_name(0, "out"))
                .rdbuf();
    const auto log = text.str();
    return static_cast<int>(std::count(log.begin(), log.end(), '\n'));
  }

  bool reopen() override {
    backend_.reset();
    open();
    return true;
  }

 private:
  void open() {
    auto opened = kind_.open({.home = home_,
                              .home_id = home_id_,
                              .binary = MUSTER_BINARY,
                              .build_id = "contract",
                              .nodes = stage_nodes(),
                              .log = log_});
    ASSERT_TRUE(opened) << to_text(opened.error());
    backend_ = std::move(*opened);
  }

  BackendKind kind_;
  std::string home_;
  std::string home_id_;
  NoLog log_;
  std::unique_ptr<Backend> backend_;
};

}  // namespace

std::unique_ptr<Stage> local_stage(const BackendKind& kind) {
  return std::make_unique<LocalStage>(kind);
}

}  // namespace muster::contract
