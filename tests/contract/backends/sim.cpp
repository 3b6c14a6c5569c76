// Virtual processes: time passes when the stage says so.
#include "edge/sim/sim_backend.hpp"

#include <gtest/gtest.h>

#include "contract/backends/stage.hpp"

namespace muster::contract {
namespace {

class SimStage final : public Stage {
 public:
  explicit SimStage(const BackendKind& kind) {
    auto opened = kind.open({.home = {},
                             .home_id = {},
                             .binary = {},
                             .build_id = {},
                             .nodes = stage_nodes(),
                             .log = log_});
    EXPECT_TRUE(opened) << to_text(opened.error());
    if (opened) backend_.reset(dynamic_cast<sim::SimBackend*>(opened->release()));
  }

  Backend& backend() override { return *backend_; }

  std::vector<std::string> command(Part part) const override {
    switch (part) {
      case Part::exits_0: return {"sim", "run=20"};
      case Part::exits_3: return {"sim", "run=20", "exit=3"};
      case Part::runs_until_stopped: return {"sim", "run=1000000000"};
      case Part::ignores_term: return {"sim", "run=1000000000", "term=ignore"};
    }
    return {};
  }

  void wait() override {
    now_ = now_ + std::chrono::milliseconds(1);
    backend_->advance({now_.us}, {now_.us});
  }

  int starts(const AttemptRef& ref) override { return backend_->starts(ref); }

 private:
  NoLog log_;
  RunTime now_;
  std::unique_ptr<sim::SimBackend> backend_;
};

}  // namespace

std::unique_ptr<Stage> sim_stage(const BackendKind& kind) {
  return std::make_unique<SimStage>(kind);
}

}  // namespace muster::contract
