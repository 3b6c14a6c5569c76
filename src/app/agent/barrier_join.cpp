#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "app/agent/addresses.hpp"
#include "app/agent/barrier_sides.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "base/units.hpp"
#include "edge/process/clocks.hpp"

namespace muster::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kBetween = milliseconds(100);
constexpr Duration kConnect = seconds(2);
constexpr Duration kTelling = seconds(5);  // node 0 may have begun later, and knows who is missing
constexpr std::size_t kLongestAnswer = 64U << 10;

/// True when it is ready before then.
bool wait_for(int fd, short what, Duration until) {
  for (;;) {
    const auto left = until - process::monotonic_now();
    if (left.count() <= 0) return false;
    pollfd entry{fd, what, 0};
    const auto ms = std::min<std::int64_t>(left.count() / 1000 + 1, 60'000);
    if (::poll(&entry, 1, static_cast<int>(ms)) > 0) return true;
  }
}

/// Errno, 0 when it is connected.
int finish_connect(int fd, Duration until) {
  if (errno != EINPROGRESS) return errno;
  if (!wait_for(fd, POLLOUT, until)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

Result<UniqueFd> connect_to(const Address& address, int port, Duration until) {
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(static_cast<std::uint16_t>(port));
  six.sin6_addr = address;
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = six.sin6_port;
  const bool is_four = IN6_IS_ADDR_V4MAPPED(&address);
  if (is_four) std::memcpy(&four.sin_addr, &address.s6_addr[12], 4);
  UniqueFd fd(
      ::socket(is_four ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return fail_errno("cannot make a socket", errno);
  const int done = is_four
                       ? ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&four), sizeof four)
                       : ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&six), sizeof six);
  if (const int error = done == 0 ? 0 : finish_connect(fd.get(), until); error != 0)
    return fail(Kind::unavailable, fmt::format("no connection: {}", std::strerror(error)));
  return fd;
}

class Joining {
 public:
  explicit Joining(const BarrierPlan& plan)
      : plan_(plan), until_(process::monotonic_now() + plan.patience) {}

  Result<> run() {
    for (;;) {
      const auto answer = ask();
      if (answer && *answer == "go") return {};
      if (answer && answer->starts_with("missing ")) return give_up(answer->substr(8));
      if (!answer) why_ = to_line(answer.error());
      if (process::monotonic_now() >= until_) return fail_missing(plan_, {0}, why_);
      const timespec pause{0, kBetween.count() * 1000};
      ::nanosleep(&pause, nullptr);
    }
  }

 private:
  /// What node 0 said, in one line.
  Result<std::string> ask() {
    TRY(const auto addresses, addresses_of(plan_.address));  // anew: it may have moved
    Result<UniqueFd> fd = fail(Kind::unavailable, "no address");
    for (const auto& address : addresses) {
      fd = connect_to(address, plan_.port, process::monotonic_now() + kConnect);
      if (fd) break;
    }
    if (!fd) return tl::unexpected<Error>(fd.error());
    const auto hello = fmt::format("{} {}\n", plan_.token, plan_.index);
    if (::send(fd->get(), hello.data(), hello.size(), MSG_NOSIGNAL) < 0)
      return fail_errno("node 0 does not listen", errno);
    return hear(fd->get());
  }

  Result<std::string> hear(int fd) {
    std::string said;
    while (said.size() < kLongestAnswer) {
      if (!wait_for(fd, POLLIN, until_ + kTelling))
        return fail(Kind::unavailable, "node 0 has not said who is missing");
      char piece[4096];
      const auto got = ::read(fd, piece, sizeof piece);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (got <= 0) break;
      said.append(piece, static_cast<std::size_t>(got));
      if (said.ends_with('\n')) return std::string(trimmed(said));
    }
    return fail(Kind::unavailable, "node 0 went away");
  }

  Result<> give_up(const std::string& list) {
    std::vector<int> missing;
    for (const auto word : split(list, ','))
      if (const auto index = parse_whole(word, 0, INT32_MAX))
        missing.push_back(static_cast<int>(*index));
    return fail_missing(plan_, missing, {});
  }

  const BarrierPlan& plan_;
  Duration until_;
  std::string why_;
};

}  // namespace

Result<> join_peers(const BarrierPlan& plan) { return Joining(plan).run(); }

}  // namespace muster::agent
