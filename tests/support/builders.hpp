/// Short builders for values that tests need. No tests inside.
#pragma once
#include <string>
#include <vector>

#include "core/model/event.hpp"
#include "core/model/observation.hpp"

namespace muster::test {

inline JobSpec spec_of(std::vector<std::string> command = {"true"}) {
  JobSpec spec{.command = std::move(command), .dir = "/tmp", .name = "train", .user = "ann"};
  spec.env_id = std::string(64, 'a');
  return spec;
}

inline Node node_of(const std::string& name, int cpus, std::int64_t gib = 16, int gpus = 0) {
  return {.name = NodeName(name), .cpus = {cpus * 1000}, .memory = {gib << 30}, .gpus = gpus};
}

inline ExitRecord record_of(int ranks, int exit = 0, int signal = 0) {
  ExitRecord record;
  for (int rank = 0; rank < ranks; ++rank)
    record.ranks.push_back({.rank = rank, .exit = exit, .signal = signal, .ended_run_us = rank});
  return record;
}

}  // namespace muster::test
