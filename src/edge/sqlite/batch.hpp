/// What any Store asks of a batch before it writes it, and how rows become values again. Pure;
/// shared by every implementation of the port, so that they refuse and accept the same.
#pragma once
#include <cstdint>
#include <map>
#include <string_view>

#include "port/store.hpp"

namespace muster {

/// A job that is new in a batch: its event, and that event's number.
struct Submission {
  std::int64_t sequence = 0;
  const Submitted* event = nullptr;
};
using Submissions = std::map<JobSeq, Submission>;

/// The new jobs of a batch. Refuses a batch that no engine in its right mind would write: events
/// that do not ascend, a row given twice, a submission without its row. Kind::internal.
Result<Submissions> submissions_of(const Batch& batch);

/// Rows that cannot be read are damage, whatever the codec calls it; `what` names the row.
Result<Job> job_of_row(JobSeq seq, std::string_view body);
Result<Attempt> attempt_of_row(JobSeq seq, std::string_view body);
/// The spec out of the body of a Submitted event.
Result<JobSpec> spec_of_row(JobSeq seq, int version, std::string_view body);

/// The refusals that every Store words alike.
tl::unexpected<Error> no_job(JobSeq seq);
tl::unexpected<Error> not_updatable(JobSeq seq);

}  // namespace muster
