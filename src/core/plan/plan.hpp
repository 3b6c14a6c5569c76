/// Spec -> ranks, environment, launch line: the same on every backend. Pure.
#pragma once
#include "core/model/action.hpp"
#include "core/model/plan.hpp"

namespace muster::plan {

/// What the place of execution adds to the spec.
struct Surroundings {
  Environment env;          // the submitter's, as stored
  std::string home_id;      // marks our processes
  std::string master_addr;  // where rank 0 listens
  std::string job_dir;      // checkpoint/ and outputs/ live below
  std::string tools_dir;    // holds get_cores; added to PATH
  std::string resume_from;  // the newest complete checkpoint, or empty
  std::string store;        // where snapshots are
  std::string trees;        // where restored ones are kept
  std::string venvs;        // where Python environments are kept
  Cause previous = Cause::none;
};

/// The PATH of a job whose submitter had none.
inline constexpr std::string_view kUsualPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

Plan make_plan(const JobSpec& spec, const Launch& launch, std::int64_t epoch,
               const Surroundings& around);

/// Threads a process may use: cores / local processes (/ data loader workers), at least 1.
int threads_per_process(MilliCpus cpus, int processes, int dataloader_workers);

}  // namespace muster::plan
