/// The traces one attempt leaves on one node: `<home>/jobs/<JOB>/a<attempt>/n<node>/` with its lock
/// and the two records. What they mean together is decided here alone. Any thread.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "core/model/exit_record.hpp"
#include "core/model/job.hpp"
#include "edge/process/cgroup.hpp"

namespace muster::process {

std::string attempt_dir(std::string_view home, const AttemptRef& ref, int node);
/// "rank-00003.out"; suffixes are out, err, idx.
std::string log_name(int rank, std::string_view suffix);

/// shim.json: somebody is, or was, running this attempt here. In place before any rank starts.
struct ShimMark {
  std::string build_id;
  int attempt = 0;
  std::int64_t epoch = 0;
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;
  std::string boot_id;
  Slot slot;
};
std::string to_json(const ShimMark& mark);
Result<ShimMark> parse_mark(std::string_view text);
/// exit.json: the record with its attempt and epoch beside it.
std::string exit_text(const ExitRecord& record, int attempt, std::int64_t epoch);

enum class LockKind { look, own };
/// The attempt's lock, or nothing when somebody has it. Lookers share it; an owner keeps it for
/// life.
Result<std::optional<UniqueFd>> lock_attempt(int dir_fd, LockKind kind);

struct Traces {
  enum class Meaning { not_started, alive, ended, died, rebooted };
  Meaning meaning = Meaning::not_started;
  std::optional<ShimMark> mark;
  std::optional<ExitRecord> record;
};
/// An error means that it could not be seen, which says nothing about the attempt.
Result<Traces> look_at(const std::string& dir, int attempt);

/// Makes sure that an attempt which never started never will: a record without ranks. Gives what is
/// there afterwards; `alive` when somebody else was quicker.
Result<Traces> leave_tombstone(const std::string& dir, int attempt, const std::string& killed_by);

}  // namespace muster::process
