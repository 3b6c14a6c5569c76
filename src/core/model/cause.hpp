/// Why an attempt ended: a closed list, one row each with its class, the budget a retry is paid
/// from, and what a person can do about it.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "core/model/names.hpp"

namespace muster {

enum class Cause : std::uint8_t {
  none,  // it has not ended
  success,
  user_code,
  user_import,
  user_config,
  missing_file,
  permission,
  segfault,
  exec_failed,
  setup_failed,
  disk_full,
  shm_too_small,
  port_in_use,
  driver_mismatch,
  time_limit,
  pids_limit,
  gpu_oom,
  host_oom,
  eviction,
  queue_preempted,
  node_fault_gpu,
  node_fault_net,
  nccl_timeout,
  peer_lost,
  network_dns,
  blob_storage,
  image_pull,
  lost,
  host_reboot,
  never_started,
  barrier_timeout,
  removed_externally,
  corrupt_input,
  hang,
  cancelled,
  killed_unknown,
  crash_loop,
};

enum class CauseClass : std::uint8_t { none, success, user, memory, infrastructure, other };
enum class Budget : std::uint8_t { none, user, memory, hang, infrastructure, eviction };

struct CauseRow {
  Cause cause;
  std::string_view name;
  CauseClass cause_class;
  Budget budget;            // none: never retried
  std::string_view text;    // one line: what it means
  std::string_view advice;  // one line: what to do
};

std::span<const CauseRow> causes();
const CauseRow& row_of(Cause cause);

template <>
std::span<const Named<Cause>> names<Cause>();
template <>
std::span<const Named<CauseClass>> names<CauseClass>();
template <>
std::span<const Named<Budget>> names<Budget>();

}  // namespace muster
