#include "app/agent/ask.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.hpp"
#include "edge/process/clocks.hpp"
#include "edge/process/lines.hpp"

namespace muster::agent {
namespace {

constexpr Duration kPatience = std::chrono::seconds(10);

Result<process::LineChannel> connect(const Places& places) {
  // By going there: the path may be longer than an address holds.
  if (::chdir(places.run().c_str()) != 0)
    return fail_errno(fmt::format("no agent runs here: {}", printable(places.run())), errno);
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, "ctl");
  if (!fd || ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    auto failed = fail(Kind::unavailable, "no agent runs here");
    failed.value().why = std::strerror(errno);
    return failed;
  }
  return process::LineChannel(std::move(fd));
}

/// Keeps what it says until it says `word`; empty: the first line there is.
Result<process::Said> hear(process::LineChannel& channel, std::string_view word) {
  const auto until = process::monotonic_now() + kPatience;
  while (channel.is_open() && process::monotonic_now() < until) {
    for (const auto& line : channel.receive()) {
      TRY(auto said, process::parse_said(line));
      if (word.empty() || said.say == word) return said;
    }
    if (!channel.is_open()) break;
    pollfd fd{channel.fd(), POLLIN, 0};
    ::poll(&fd, 1, 100);
  }
  return fail(Kind::unavailable, "the agent does not answer");
}

}  // namespace

Result<std::string> ask_state(const Places& places) {
  TRY(auto channel, connect(places));
  TRY(const auto said, hear(channel, ""));
  return said.say;
}

Result<> send_signal(const Places& places, int signal) {
  TRY(auto channel, connect(places));
  channel.send(process::to_line(process::Asked{.what = "signal", .signal = signal}));
  TRY_VOID(hear(channel, "done"));
  return {};
}

}  // namespace muster::agent
