#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "app/agent/barrier_sides.hpp"
#include "app/agent/connect.hpp"
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
    TRY(const auto fd, connect_to(plan_.address, plan_.port, kConnect));
    const auto hello = fmt::format("{} {}\n", plan_.token, plan_.index);
    if (::send(fd.get(), hello.data(), hello.size(), MSG_NOSIGNAL) < 0)
      return fail_errno("node 0 does not listen", errno);
    return hear(fd.get());
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
