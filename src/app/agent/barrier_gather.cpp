#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <list>
#include <map>
#include <optional>

#include "app/agent/barrier_sides.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "base/units.hpp"
#include "edge/http/tcp_listener.hpp"
#include "edge/process/clocks.hpp"

namespace muster::agent {
namespace {

constexpr std::size_t kLongestHello = 256;
constexpr std::size_t kMostStrangers = 64;  // who have not said yet who they are

struct Peer {
  UniqueFd fd;
  std::string said;
};

class Gathering {
 public:
  Gathering(const BarrierPlan& plan, UniqueFd listener)
      : plan_(plan), listener_(std::move(listener)) {}

  Result<> run() {
    const auto until = process::monotonic_now() + plan_.patience;
    while (!missing().empty()) {
      const auto left = until - process::monotonic_now();
      if (left.count() <= 0) return give_up();
      wait(left);
      accept_all();
      std::erase_if(strangers_, [this](Peer& peer) { return !still_strange(peer); });
      std::erase_if(joined_, [](auto& one) { return is_gone(one.second); });
    }
    tell("go\n");
    return {};
  }

 private:
  std::vector<int> missing() const {
    std::vector<int> out;
    for (const auto& node : plan_.nodes)
      if (node.index != plan_.index && !joined_.contains(node.index)) out.push_back(node.index);
    return out;
  }

  void wait(Duration left) {
    std::vector<pollfd> fds{{listener_.get(), POLLIN, 0}};
    for (const auto& peer : strangers_) fds.push_back({peer.fd.get(), POLLIN, 0});
    for (const auto& [index, fd] : joined_) fds.push_back({fd.get(), POLLIN, 0});
    const auto ms = std::min<std::int64_t>(left.count() / 1000 + 1, 60'000);
    ::poll(fds.data(), fds.size(), static_cast<int>(ms));
  }

  void accept_all() {
    for (;;) {
      UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!fd) return;
      if (strangers_.size() >= kMostStrangers) strangers_.pop_front();
      strangers_.push_back({std::move(fd), {}});
    }
  }

  /// Hears it out. False when it is known by now, or not wanted.
  bool still_strange(Peer& peer) {
    char piece[kLongestHello];
    const auto got = ::read(peer.fd.get(), piece, sizeof piece);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (got <= 0) return false;
    peer.said.append(piece, static_cast<std::size_t>(got));
    if (!peer.said.ends_with('\n')) return peer.said.size() < kLongestHello;
    if (const auto index = index_of(peer.said)) joined_[*index] = std::move(peer.fd);
    return false;
  }

  std::optional<int> index_of(std::string_view said) const {
    const auto words = split(trimmed(said), ' ');
    if (words.size() != 2 || words[0] != plan_.token) return std::nullopt;
    const auto index = parse_whole(words[1], 1, INT32_MAX);
    for (const auto& node : plan_.nodes)
      if (index && node.index == *index) return node.index;
    return std::nullopt;
  }

  /// A peer says nothing more: what can be read is its end.
  static bool is_gone(const UniqueFd& fd) {
    char byte = 0;
    const auto got = ::recv(fd.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
  }

  void tell(const std::string& line) {
    for (const auto& [index, fd] : joined_)
      (void)!::send(fd.get(), line.data(), line.size(), MSG_NOSIGNAL);
  }

  Result<> give_up() {
    const auto gone = missing();
    std::string list;
    for (const int index : gone) list += fmt::format("{}{}", list.empty() ? "" : ",", index);
    tell(fmt::format("missing {}\n", list));
    return fail_missing(plan_, gone, {});
  }

  const BarrierPlan& plan_;
  UniqueFd listener_;
  std::list<Peer> strangers_;
  std::map<int, UniqueFd> joined_;
};

}  // namespace

Result<> gather_peers(const BarrierPlan& plan) {
  TRY(auto listener,
      within(http::listen_tcp({.host = {}, .port = plan.port}), "for the other nodes"));
  return Gathering(plan, std::move(listener)).run();
}

}  // namespace muster::agent
