#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "edge/process/clocks.hpp"
#include "edge/process/files.hpp"
#include "edge/process/watcher.hpp"

namespace muster::process {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// An orphaned shim binds its socket within this; after it, looks are rarer.
constexpr Duration kPromptLooks = seconds(2);
constexpr Duration kShortestPause = milliseconds(1);
constexpr Duration kLongestPause = milliseconds(50);
constexpr Duration kSlowPause = seconds(1);
/// After this an attempt that cannot be killed says so.
constexpr Duration kStuckAfter = seconds(60);
constexpr int kSilentEndsAllowed = 3;

Result<UniqueFd> connect_ctl(const std::string& dir) {
  TRY(const auto dir_fd, open_dir(dir));
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return fail_errno("cannot make a socket", errno);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto path = short_name(dir_fd.get(), "ctl");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return fail_errno("cannot connect to the supervisor", errno);
  return fd;
}

/// What an attempt that does not run yet is being prepared with; a newer shim may do more.
std::optional<Reason> reason_of(std::string_view doing) {
  constexpr const char* kSoon = "nothing: it runs in a moment";
  if (doing == "setup")
    return Reason{.code = "setup",
                  .text = "its set-up is running",
                  .fix = "see what it prints: muster logs --setup -f ID"};
  if (doing == "copy")
    return Reason{.code = "copying",
                  .text = "its code is being copied: no overlay can be mounted here",
                  .fix = kSoon};
  return Reason{
      .code = "unpacking", .text = "its code is being unpacked on the node", .fix = kSoon};
}

std::string evidence_of(const std::optional<ShimMark>& mark, int killed) {
  const auto who =
      mark ? fmt::format("the supervisor (pid {})", mark->pid) : std::string("the supervisor");
  return fmt::format("{} disappeared; {} {} killed", who, killed,
                     killed == 1 ? "process was" : "processes were");
}

}  // namespace

std::string Watcher::dir_of(const SeatKey& key) const {
  return attempt_dir(deps_.home, key.ref, key.node);
}

void Watcher::show(const SeatKey& key, Sight sight) {
  board_.put(key, std::move(sight));
  changed_.insert(key.ref);
}

Watcher::Serial Watcher::add_seat(const SeatKey& key) {
  const auto serial = next_serial_++;
  auto& seat = seats_[serial];
  seat.key = key;
  seat.since = monotonic_now();
  serials_[key] = serial;
  if (const auto known = board_.find(key))
    if (const auto* alive = std::get_if<Alive>(&*known)) seat.alive = *alive;
  return serial;
}

void Watcher::again_in(Serial serial, Duration pause) {
  timers_.emplace(monotonic_now() + pause, serial);
}

void Watcher::connect_link(Serial serial, UniqueFd fd) {
  auto& seat = seats_.at(serial);
  seat.link = LineChannel(std::move(fd));
  epoll_event event{.events = EPOLLIN | EPOLLRDHUP, .data = {.u64 = serial}};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, seat.link.fd(), &event);
  if (seat.stop) send_stop(seat);
}

void Watcher::send_stop(Seat& seat) {
  if (seat.is_over || !seat.link.is_open()) return;
  seat.link.send(to_line(*seat.stop));
  if (seat.link.wants_to_write()) again_in(serials_.at(seat.key), kLongestPause);
  seat.alive.state = AttemptState::stopping;
  show(seat.key, seat.alive);
}

void Watcher::hear(Serial serial) {
  const auto at = seats_.find(serial);
  if (at == seats_.end()) return;
  auto& seat = at->second;
  for (const auto& line : seat.link.receive()) {
    const auto said = parse_said(line);
    if (said)
      heard(seat, *said);
    else
      deps_.log.warn("a supervisor said what cannot be read", {{"job", seat.key.ref.job.str()}});
  }
  if (seat.link.is_open()) return;
  if (!seat.is_over) {
    seat.since = monotonic_now();
    seat.pause = Duration(0);
    return find_out(serial);
  }
  // It has said its last word and gone: the slot is free. The board keeps the word until it is
  // acknowledged.
  if (seat.is_acknowledged) return forget(serial);
  leave_seat(serial);
}

void Watcher::heard(Seat& seat, const Said& said) {
  if (seat.is_over) return;
  const bool is_news =
      said.say == "preparing" || said.say == "running" || said.say == "rank_failed";
  if (said.say == "running" && !seat.stop) seat.alive.state = AttemptState::running;
  if (said.say == "rank_failed") seat.alive.failed_rank = said.rank;
  if (is_news) {
    seat.alive.waits_for = said.say == "preparing" ? reason_of(said.why) : std::nullopt;
    show(seat.key, seat.alive);
  }
  if (said.say == "ended" && said.record) {
    seat.is_over = true;
    show(seat.key, Ended{*said.record});
  }
  if (said.say == "refused") {
    seat.is_over = true;
    deps_.log.warn("launch refused", {{"job", seat.key.ref.job.str()}, {"why", said.why}});
    show(seat.key, Lost{Cause::never_started, said.why});
  }
}

/// Nobody on the line: what do the files say?
void Watcher::find_out(Serial serial) {
  auto& seat = seats_.at(serial);
  auto traces = look_at(dir_of(seat.key), seat.key.ref.attempt);
  if (!traces) {
    show(seat.key, Unreachable{to_line(traces.error())});
    return again_in(serial, kSlowPause);
  }
  switch (traces->meaning) {
    case Traces::Meaning::ended: return conclude(serial, Ended{*traces->record});
    case Traces::Meaning::alive: return stay_in_touch(serial);
    case Traces::Meaning::not_started: return not_started(serial);
    case Traces::Meaning::rebooted:
      return conclude(serial, Lost{Cause::host_reboot, "the machine was restarted while it ran"});
    case Traces::Meaning::died:
      seat.mark = std::move(traces->mark);
      seat.since = monotonic_now();
      seat.leftovers.emplace(
          seat.mark,
          markers(deps_.home_id, seat.key.ref.job.str(), seat.key.ref.attempt, seat.key.node),
          static_cast<bool>(seat.slot.lock));
      return clean_up(serial);
  }
}

/// A supervisor is there; whether its ranks run, it says itself.
void Watcher::stay_in_touch(Serial serial) {
  auto& seat = seats_.at(serial);
  if (auto fd = connect_ctl(dir_of(seat.key))) {
    show(seat.key, seat.alive);
    return connect_link(serial, std::move(*fd));
  }
  // Not listening yet, on its way out, or still talking to an older server.
  const bool is_prompt = monotonic_now() - seat.since < kPromptLooks;
  seat.pause = std::clamp(seat.pause * 2, kShortestPause, kLongestPause);
  again_in(serial, is_prompt ? seat.pause : kSlowPause);
}

void Watcher::not_started(Serial serial) {
  auto& seat = seats_.at(serial);
  if (seat.stop) {
    auto made = leave_tombstone(dir_of(seat.key), seat.key.ref.attempt, seat.stop->why);
    if (made && made->meaning == Traces::Meaning::ended)
      return conclude(serial, Ended{*made->record});
    if (!made) show(seat.key, Unreachable{to_line(made.error())});
    return again_in(serial, made ? kLongestPause : kSlowPause);
  }
  // Nothing runs and nothing will: it may be launched again. But not for ever.
  if (++silent_ends_[seat.key] >= kSilentEndsAllowed)
    return conclude(serial, Lost{Cause::never_started,
                                 fmt::format("its supervisor ended without a word {} times (is {} "
                                             "the right program?)",
                                             kSilentEndsAllowed, deps_.binary)});
  const auto key = seat.key;
  forget(serial);
  changed_.insert(key.ref);
}

void Watcher::clean_up(Serial serial) {
  auto& seat = seats_.at(serial);
  if (seat.leftovers->sweep())
    return conclude(serial, Lost{Cause::lost, evidence_of(seat.mark, seat.leftovers->killed())});
  const bool is_stuck = monotonic_now() - seat.since > kStuckAfter;
  if (is_stuck)
    show(seat.key, Unreachable{"its supervisor is gone and processes of it cannot be killed"});
  seat.pause = std::clamp(seat.pause * 2, kShortestPause, kLongestPause);
  again_in(serial, is_stuck ? kSlowPause : seat.pause);
}

/// The last word comes from the files: the board keeps it, the seat is not needed any more.
void Watcher::conclude(Serial serial, Sight sight) {
  const auto key = seats_.at(serial).key;
  if (seats_.at(serial).is_acknowledged) return forget(serial);
  leave_seat(serial);
  show(key, std::move(sight));
}

void Watcher::forget(Serial serial) {
  board_.erase(seats_.at(serial).key);
  leave_seat(serial);
}

void Watcher::leave_seat(Serial serial) {
  const auto at = seats_.find(serial);
  auto& seat = at->second;
  seat.leftovers.reset();
  pool_.release(std::move(seat.slot));
  serials_.erase(seat.key);
  seats_.erase(at);
}

}  // namespace muster::process
