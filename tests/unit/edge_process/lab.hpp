/// A world of its own for tests with real processes: a home, a backend, small plans, and patience.
#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "edge/process/local_backend.hpp"
#include "edge/process/node_order.hpp"
#include "edge/process/proc.hpp"

namespace muster::process::testing {

/// This test program; run with "tool" it is one of the jobs in tools.cpp.
std::string self_path();
/// Looks again and again until it is so; false when it never was.
bool eventually(const std::function<bool()>& is_so,
                std::chrono::milliseconds patience = std::chrono::seconds(30));
std::string content_of(const std::string& path);
/// Live processes with this text in their command line or environment.
std::vector<ProcessId> processes_with(const std::string& text);
/// It is no more, or only a zombie nobody has waited for.
bool is_gone(ProcessId id);
/// The best tier this user has here.
std::string best_tier();

class Lab {
 public:
  explicit Lab(TierChoice tier);
  ~Lab();
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  const std::string& home() const { return home_; }
  const std::string& home_id() const { return home_id_; }
  /// A text that is in the environment of every process of this lab's jobs, and nowhere else.
  const std::string& tag() const { return tag_; }
  LocalBackend& backend();
  /// The server goes; its jobs do not.
  void end_server() { backend_.reset(); }
  void use_binary(std::string path) { binary_ = std::move(path); }

  AttemptRef ref(const std::string& name) const;
  Plan plan(const std::string& name, std::vector<std::string> argv, int ranks = 1) const;
  Plan shell(const std::string& name, const std::string& script, int ranks = 1) const;
  void launch(const Plan& plan, int port = 0);
  void stop(const Plan& plan, std::chrono::milliseconds grace, const std::string& why = "abort");
  void acknowledge(const Plan& plan);
  Sight sight(const Plan& plan, int node = 0);
  bool wait_running(const Plan& plan);
  /// Fails the test when it does not end.
  ExitRecord wait_ended(const Plan& plan, int node = 0);
  Lost wait_lost(const Plan& plan);
  std::string file(const Plan& plan, const std::string& name, int node = 0) const;
  std::string path(const Plan& plan, const std::string& name, int node = 0) const;
  NodeOrder order(const Plan& plan) const;
  /// The supervisor of this plan's first node, from its shim.json.
  ProcessId shim_of(const Plan& plan) const;

 private:
  TierChoice tier_;
  std::string home_;
  std::string home_id_;
  std::string tag_;
  std::string binary_ = self_path();
  std::vector<Plan> launched_;
  NoLog log_;
  std::unique_ptr<LocalBackend> backend_;
};

/// Both tiers, one after the other.
class InBothTiers : public ::testing::TestWithParam<TierChoice> {
 protected:
  Lab lab{GetParam()};
};
std::string tier_word(const ::testing::TestParamInfo<TierChoice>& info);

}  // namespace muster::process::testing

#define MUSTER_IN_BOTH_TIERS(Suite)                                                             \
  INSTANTIATE_TEST_SUITE_P(Tiers, Suite, ::testing::Values(TierChoice::best, TierChoice::none), \
                           tier_word)
