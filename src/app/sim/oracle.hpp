/// What must be true at the end of a simulated history, whatever went wrong in it.
#pragma once
#include <string>
#include <vector>

#include "app/sim/memory_store.hpp"
#include "core/sched/view.hpp"
#include "edge/sim/sim_backend.hpp"

namespace muster::sim {

/// One acknowledged submission.
struct LedgerRow {
  JobId id;
  JobSeq seq = 0;
  JobSpec spec;
  bool abort_sent = false;
};

struct Scene {
  MemoryStore& store;
  SimBackend& backend;
  const sched::View& view;
  const std::vector<LedgerRow>& ledger;
};

/// The first promise that does not hold, in words; empty when all hold. Counts the attempts.
std::string find_broken_promise(const Scene& scene, int& attempts);

/// Differences between the fold of all events and the tables; empty when they agree.
std::string fold_difference(MemoryStore& store);

}  // namespace muster::sim
