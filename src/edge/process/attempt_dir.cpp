#include "edge/process/attempt_dir.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "core/model/codec.hpp"
#include "core/model/json.hpp"
#include "edge/process/files.hpp"
#include "edge/process/lines.hpp"
#include "edge/process/proc.hpp"

namespace muster::process {
namespace {

using Meaning = Traces::Meaning;

std::string text_in(const json::object& in, std::string_view name) {
  const auto* value = field(in, name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::int64_t number_in(const json::object& in, std::string_view name) {
  const auto* value = field(in, name);
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

bool is_absent(const Error& error) { return error.kind == Kind::not_found; }

bool is_absent_or_rotten(const Error& error) {
  return is_absent(error) || error.kind == Kind::corrupt;
}

/// Could a supervisor have written it for this attempt? The job itself can write here as well.
bool is_believable(std::string_view text, const ExitRecord& record, int attempt) {
  const auto parsed = parse_json(text);
  if (!parsed || !parsed->is_object() || number_in(parsed->get_object(), "attempt") != attempt)
    return false;
  if (record.ranks.empty() && record.killed_by.empty()) return false;
  return std::all_of(record.ranks.begin(), record.ranks.end(), [](const RankExit& rank) {
    return rank.rank >= 0 && rank.exit >= 0 && rank.exit <= 255 && rank.signal >= 0 &&
           rank.signal <= SIGRTMAX;
  });
}

/// The exit record, when there is one that can be believed. Half a record (power loss) is none.
Result<std::optional<ExitRecord>> read_record(int dir_fd, int attempt) {
  const auto text = read_file(dir_fd, "exit.json");
  if (!text && is_absent_or_rotten(text.error())) return std::optional<ExitRecord>();
  if (!text) return tl::unexpected<Error>(text.error());
  auto record = decode_exit_record(*text);
  if (!record || !is_believable(*text, *record, attempt)) return std::optional<ExitRecord>();
  return std::optional<ExitRecord>(std::move(*record));
}

/// What the files mean when nobody holds the lock.
Result<Traces> left_behind(int dir_fd, int attempt) {
  TRY(auto record, read_record(dir_fd, attempt));
  if (record) return Traces{Meaning::ended, {}, std::move(record)};
  const auto text = read_file(dir_fd, "shim.json");
  if (!text && is_absent(text.error())) return Traces{};
  if (!text && text.error().kind == Kind::corrupt) return Traces{Meaning::died, {}, {}};
  if (!text) return tl::unexpected<Error>(text.error());
  auto mark = parse_mark(*text);
  if (!mark) return Traces{Meaning::died, {}, {}};
  const bool same_boot = mark->boot_id == boot_id();
  return Traces{same_boot ? Meaning::died : Meaning::rebooted, std::move(*mark), {}};
}

}  // namespace

std::string attempt_dir(std::string_view home, const AttemptRef& ref, int node) {
  return fmt::format("{}/jobs/{}/a{}/n{}", home, ref.job.str(), ref.attempt, node);
}

std::string log_name(int rank, std::string_view suffix) {
  return fmt::format("rank-{:05}.{}", rank, suffix);
}

std::string to_json(const ShimMark& mark) {
  json::value cgroup = nullptr;
  if (mark.slot.exists())
    cgroup = json::object{{"memory", mark.slot.memory},
                          {"cpuacct", mark.slot.cpuacct},
                          {"freezer", mark.slot.freezer}};
  const auto tier = tier_of(mark.slot);
  return json::serialize(json::object{{"v", 1},
                                      {"protocol", kShimProtocol},
                                      {"buildid", mark.build_id},
                                      {"attempt", mark.attempt},
                                      {"epoch", mark.epoch},
                                      {"pid", mark.pid},
                                      {"start_ticks", static_cast<std::int64_t>(mark.start_ticks)},
                                      {"boot_id", mark.boot_id},
                                      {"cgroup", cgroup},
                                      {"tier", std::string(tier)}});
}

Result<ShimMark> parse_mark(std::string_view text) {
  TRY(const auto value, parse_json(text));
  if (!value.is_object()) return fail(Kind::corrupt, "shim.json is not an object");
  const auto& in = value.get_object();
  ShimMark mark{.build_id = text_in(in, "buildid"),
                .attempt = static_cast<int>(number_in(in, "attempt")),
                .epoch = number_in(in, "epoch"),
                .pid = static_cast<pid_t>(number_in(in, "pid")),
                .start_ticks = static_cast<std::uint64_t>(number_in(in, "start_ticks")),
                .boot_id = text_in(in, "boot_id"),
                .slot = {}};
  if (const auto* cgroup = field(in, "cgroup"); cgroup != nullptr && cgroup->is_object()) {
    const auto& dirs = cgroup->get_object();
    mark.slot = {text_in(dirs, "memory"), text_in(dirs, "cpuacct"), text_in(dirs, "freezer")};
  }
  return mark;
}

std::string exit_text(const ExitRecord& record, int attempt, std::int64_t epoch) {
  auto text = encode(record);
  text.insert(1, fmt::format("\"v\":1,\"attempt\":{},\"epoch\":{},", attempt, epoch));
  return text;
}

Result<std::optional<UniqueFd>> lock_attempt(int dir_fd, LockKind kind) {
  const int flags = O_RDWR | O_CLOEXEC | (kind == LockKind::own ? O_CREAT : 0);
  UniqueFd lock(::openat(dir_fd, "lock", flags, 0600));
  if (!lock) return fail_errno("cannot open the attempt's lock", errno);
  const int how = kind == LockKind::own ? LOCK_EX : LOCK_SH;
  if (::flock(lock.get(), how | LOCK_NB) == 0) return std::optional<UniqueFd>(std::move(lock));
  if (errno == EWOULDBLOCK) return std::optional<UniqueFd>();
  return fail_errno("cannot lock the attempt", errno);
}

Result<Traces> look_at(const std::string& dir, int attempt) {
  const auto dir_fd = open_dir(dir);
  if (!dir_fd && is_absent(dir_fd.error())) return Traces{};
  if (!dir_fd) return tl::unexpected<Error>(dir_fd.error());
  const auto lock = lock_attempt(dir_fd->get(), LockKind::look);
  if (!lock && is_absent(lock.error())) return Traces{};
  if (!lock) return tl::unexpected<Error>(lock.error());
  // Read after the lock was tried: a supervisor writes its record before it lets go.
  if (*lock) return within(left_behind(dir_fd->get(), attempt), dir);
  TRY(auto record, read_record(dir_fd->get(), attempt));
  if (record) return Traces{Meaning::ended, {}, std::move(record)};
  Traces alive{Meaning::alive, {}, {}};
  if (const auto text = read_file(dir_fd->get(), "shim.json"))
    if (auto mark = parse_mark(*text)) alive.mark = std::move(*mark);
  return alive;
}

Result<Traces> leave_tombstone(const std::string& dir, int attempt, const std::string& killed_by) {
  TRY(const auto dir_fd, make_dirs(dir));
  TRY(const auto lock, lock_attempt(dir_fd.get(), LockKind::own));
  if (!lock) return Traces{Meaning::alive, {}, {}};
  TRY(auto found, left_behind(dir_fd.get(), attempt));
  if (found.meaning != Meaning::not_started) return found;
  const ExitRecord record{.ranks = {}, .killed_by = killed_by, .why = "stopped before it started"};
  TRY_VOID(write_renamed(dir_fd.get(), "exit.json", exit_text(record, attempt, 0)));
  return Traces{Meaning::ended, {}, record};
}

}  // namespace muster::process
