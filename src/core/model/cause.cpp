#include "core/model/cause.hpp"

#include <vector>

#include "base/check.hpp"

namespace muster {
namespace {

using enum Cause;
using C = CauseClass;
using B = Budget;

constexpr CauseRow kRows[] = {
    {none, "", C::none, B::none, "it has not ended", ""},
    {success, "success", C::success, B::none, "every rank ended with exit code 0", ""},
    {user_code, "user_code", C::user, B::user, "the command ended with an error of its own",
     "read the end of its log: muster logs ID"},
    {user_import, "user_import", C::user, B::user, "a module could not be imported",
     "install it in the environment the job runs in"},
    {user_config, "user_config", C::user, B::user,
     "the command or the cluster refused its configuration",
     "mend the arguments, the configuration file or the profile"},
    {missing_file, "missing_file", C::user, B::user, "a file the command needs is not there",
     "check the path as seen from the job's folder"},
    {permission, "permission", C::user, B::user, "the command may not use a file it needs",
     "check the owner and mode of that file"},
    {segfault, "segfault", C::user, B::user, "the command crashed (invalid memory access)",
     "run it under a debugger, or check native extensions against their libraries"},
    {exec_failed, "exec_failed", C::user, B::user, "the program could not be started",
     "check its name, its PATH and its execute permission"},
    {setup_failed, "setup_failed", C::user, B::user, "the set-up step failed",
     "read what it printed: muster logs --setup ID"},
    {disk_full, "disk_full", C::user, B::user, "the disk was full",
     "free some space, or write elsewhere"},
    {shm_too_small, "shm_too_small", C::user, B::user, "shared memory was too small",
     "ask for more shared memory, or fewer data loader workers"},
    {port_in_use, "port_in_use", C::user, B::user, "a port the command wanted was taken",
     "let it use MASTER_PORT, or another port"},
    {driver_mismatch, "driver_mismatch", C::user, B::user,
     "the GPU driver does not fit the program",
     "use a build for this driver, or a node with a newer one"},
    {time_limit, "time_limit", C::user, B::user, "it ran into its time limit",
     "give it more with --time, or checkpoint and resume"},
    {pids_limit, "pids_limit", C::user, B::user, "it started more processes than it may",
     "start fewer processes"},
    {gpu_oom, "gpu_oom", C::memory, B::memory, "a GPU ran out of memory",
     "use a smaller batch, or a GPU with more memory"},
    {host_oom, "host_oom", C::memory, B::memory,
     "it used more memory than it may, and the kernel ended it",
     "ask for more with --memory, or use less"},
    {eviction, "eviction", C::infrastructure, B::eviction, "the node was taken away",
     "nothing: it is restarted; checkpoint often"},
    {queue_preempted, "queue_preempted", C::infrastructure, B::eviction,
     "a job with a higher priority took its place", "nothing: it is restarted when there is room"},
    {node_fault_gpu, "node_fault_gpu", C::infrastructure, B::infrastructure,
     "a GPU of the node failed", "the node should be checked: muster node check"},
    {node_fault_net, "node_fault_net", C::infrastructure, B::infrastructure,
     "the network of the node failed", "the node should be checked: muster node check"},
    {nccl_timeout, "nccl_timeout", C::infrastructure, B::infrastructure,
     "a collective operation timed out", "look at the rank that stopped first"},
    {peer_lost, "peer_lost", C::infrastructure, B::infrastructure, "a rank lost its peer",
     "look at the rank that ended first"},
    {network_dns, "network_dns", C::infrastructure, B::infrastructure,
     "a name could not be resolved", "check the DNS of the cluster"},
    {blob_storage, "blob_storage", C::infrastructure, B::infrastructure, "the blob store failed",
     "check the store, then resubmit"},
    {image_pull, "image_pull", C::infrastructure, B::infrastructure,
     "the image could not be pulled", "check its name and the pull secret"},
    {lost, "lost", C::infrastructure, B::infrastructure,
     "its supervisor disappeared, so how it ended is not known",
     "nothing: it is restarted; if it repeats, look at the node's memory and log"},
    {host_reboot, "host_reboot", C::infrastructure, B::infrastructure, "the machine was restarted",
     "nothing: it is restarted"},
    {never_started, "never_started", C::infrastructure, B::infrastructure,
     "it could not be started on its node",
     "see the evidence; muster doctor checks this machine, with --cluster NAME a cluster"},
    {barrier_timeout, "barrier_timeout", C::infrastructure, B::infrastructure,
     "not all ranks arrived in time", "look at the rank that is named"},
    {removed_externally, "removed_externally", C::infrastructure, B::infrastructure,
     "somebody removed it outside muster", "ask who did; resubmit"},
    {corrupt_input, "corrupt_input", C::infrastructure, B::infrastructure,
     "what it should run could not be verified",
     "muster snapshot verify --repair, then submit again"},
    {hang, "hang", C::other, B::hang, "it made no progress any more",
     "look at the stacks of the rank that stopped first"},
    {cancelled, "cancelled", C::other, B::none, "somebody asked for it to stop", ""},
    {killed_unknown, "killed_unknown", C::other, B::user,
     "it was killed, not by muster and not for memory",
     "ask who ran kill; the kernel log may tell"},
    {crash_loop, "crash_loop", C::other, B::none, "it failed in the same way again and again",
     "mend the failure, then resubmit"},
};

}  // namespace

std::span<const CauseRow> causes() { return kRows; }

const CauseRow& row_of(Cause cause) {
  const auto index = static_cast<std::size_t>(cause);
  MUSTER_CHECK(index < std::size(kRows) && kRows[index].cause == cause, "cause {} has no row",
               index);
  return kRows[index];
}

template <>
std::span<const Named<Cause>> names<Cause>() {
  static const auto kNames = [] {
    std::vector<Named<Cause>> rows;
    for (const auto& row : kRows) rows.push_back({row.cause, row.name});
    return rows;
  }();
  return kNames;
}

template <>
std::span<const Named<CauseClass>> names<CauseClass>() {
  static constexpr Named<CauseClass> kNames[] = {{C::none, ""},
                                                 {C::success, "success"},
                                                 {C::user, "user"},
                                                 {C::memory, "memory"},
                                                 {C::infrastructure, "infrastructure"},
                                                 {C::other, "other"}};
  return kNames;
}

template <>
std::span<const Named<Budget>> names<Budget>() {
  static constexpr Named<Budget> kNames[] = {{B::none, ""},
                                             {B::user, "user"},
                                             {B::memory, "memory"},
                                             {B::hang, "hang"},
                                             {B::infrastructure, "infrastructure"},
                                             {B::eviction, "eviction"}};
  return kNames;
}

}  // namespace muster
