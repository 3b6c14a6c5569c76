/// One simulated history from one seed: the product's own driver and engine over a virtual machine
/// and a store in memory, with crashes, failed commits, clock jumps, lost, repeated and reordered
/// observations; then a quiet phase in which everything must come to its end. The oracle keeps a
/// ledger of every acknowledged fact.
#pragma once
#include <cstdint>
#include <string>

namespace muster::sim {

struct Verdict {
  std::uint64_t seed = 0;
  std::string broken;  // empty: every promise held
  int jobs = 0;
  int attempts = 0;
  int crashes = 0;
  int failed_commits = 0;
  std::uint64_t trace = 0;  // hash of the history: equal seeds give equal traces
};

Verdict simulate(std::uint64_t seed);

}  // namespace muster::sim
