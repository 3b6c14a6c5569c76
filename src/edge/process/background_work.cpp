#include "edge/process/background_work.hpp"

#include <fcntl.h>
#include <sys/prctl.h>

#include <cerrno>
#include <csignal>

#include "core/model/json.hpp"
#include "edge/process/files.hpp"

namespace muster::process {
namespace {

constexpr std::string_view kDone = "{}";

std::string said_of(const Result<>& outcome) {
  if (outcome) return std::string(kDone);
  const auto& error = outcome.error();
  json::array fix;
  for (const auto& one : error.fix) fix.push_back(bytes_to_json(one));
  json::object out{{"kind", static_cast<int>(error.kind)},
                   {"what", bytes_to_json(error.what)},
                   {"where", bytes_to_json(error.where)},
                   {"why", bytes_to_json(error.why)}};
  out["fix"] = std::move(fix);
  return json::serialize(out);
}

std::string text_in(const json::object& in, std::string_view name) {
  const auto* value = field(in, name);
  return value == nullptr ? std::string() : bytes_from_json(*value).value_or(std::string());
}

[[noreturn]] void work_as_child(const std::function<Result<>()>& work, int fd, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::prctl(PR_SET_NAME, "muster-prepare");
  (void)write_all(fd, said_of(work()));
  ::_exit(0);
}

}  // namespace

Result<BackgroundWork> BackgroundWork::begin(std::function<Result<>()> work) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno("cannot make a pipe", errno);
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("cannot make a process", errno);
  if (pid == 0) work_as_child(work, theirs.get(), parent);
  ::fcntl(ours.get(), F_SETFL, O_NONBLOCK);
  return BackgroundWork(pid, std::move(ours));
}

BackgroundWork::BackgroundWork(BackgroundWork&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      pipe_(std::move(other.pipe_)),
      said_(std::move(other.said_)) {}

// While its pipe is open it has not been heard to end. It may have been reaped in this instant;
// then its number is free, but nobody else of this session can have got it before the pipe closed.
BackgroundWork::~BackgroundWork() {
  if (pid_ > 0 && pipe_ && !is_over()) ::kill(pid_, SIGKILL);
}

bool BackgroundWork::is_over() {
  char buffer[4096];
  while (pipe_) {
    const auto n = ::read(pipe_.get(), buffer, sizeof buffer);
    if (n > 0)
      said_.append(buffer, static_cast<std::size_t>(n));
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
      pipe_.reset();
    else if (errno == EAGAIN)
      return false;
  }
  return true;
}

Result<> BackgroundWork::outcome() const {
  if (said_ == kDone) return {};
  const auto parsed = parse_json(said_);
  if (!parsed || !parsed->is_object())
    return fail(Kind::unavailable, "the preparation was killed", "look at the machine's memory");
  const auto& in = parsed->get_object();
  const auto* kind = field(in, "kind");
  Error error{.kind = kind != nullptr && kind->is_int64() ? static_cast<Kind>(kind->get_int64())
                                                          : Kind::internal,
              .what = text_in(in, "what"),
              .where = text_in(in, "where"),
              .why = text_in(in, "why"),
              .fix = {}};
  if (const auto* fix = field(in, "fix"); fix != nullptr && fix->is_array())
    for (const auto& one : fix->get_array())
      error.fix.push_back(bytes_from_json(one).value_or(std::string()));
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace muster::process
