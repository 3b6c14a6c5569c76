// Thousands of seeded histories of the real driver and engine over a virtual machine.
#include "app/sim/simulation.hpp"

#include <cstdlib>
#include <string>

namespace {

using muster::sim::simulate;

std::uint64_t from_env(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(Simulation, NoSeedBreaksAPromise) {
  const auto first = from_env("MUSTER_SIM_SEED", 1);
  const auto count =
      std::getenv("MUSTER_SIM_SEED") != nullptr ? 1 : from_env("MUSTER_SIM_SEEDS", 1000);
  long jobs = 0, attempts = 0, crashes = 0, commits = 0;
  for (auto seed = first; seed < first + count; ++seed) {
    const auto verdict = simulate(seed);
    jobs += verdict.jobs;
    attempts += verdict.attempts;
    crashes += verdict.crashes;
    commits += verdict.failed_commits;
    ASSERT_EQ(verdict.broken, "")
        << "replay: MUSTER_SIM_SEED=" << seed
        << " build/tests/prop --gtest_filter=Simulation.NoSeedBreaksAPromise";
  }
  std::printf("%llu seeds, %ld jobs, %ld attempts, %ld crashes, %ld failed commits\n",
              static_cast<unsigned long long>(count), jobs, attempts, crashes, commits);
  EXPECT_GT(jobs, 0);
}

TEST(Simulation, TheSameSeedGivesTheSameHistory) {
  for (std::uint64_t seed = 1; seed < 1000; seed += 50)
    EXPECT_EQ(simulate(seed).trace, simulate(seed).trace) << "seed " << seed;
}

}  // namespace
