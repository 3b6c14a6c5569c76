#include "edge/kube/names.hpp"

#include <netdb.h>
#include <nss.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <thread>

#include "base/unique_fd.hpp"

namespace muster::kube {
namespace {

/// One question to the resolver; whoever finishes last drops it.
struct Question {
  std::string host;
  std::string port;
  UniqueFd answered{::eventfd(0, EFD_CLOEXEC)};
  int error = 0;
  std::vector<SocketAddress> addresses;
  std::atomic<bool> is_done = false;
};

void ask(Question& question, int flags) {
  const addrinfo wanted{
      .ai_flags = flags | AI_NUMERICSERV, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  question.error = ::getaddrinfo(question.host.c_str(), question.port.c_str(), &wanted, &found);
  for (const auto* one = found; one != nullptr; one = one->ai_next) {
    auto& address = question.addresses.emplace_back();
    std::memcpy(&address.storage, one->ai_addr, one->ai_addrlen);
    address.size = one->ai_addrlen;
  }
  if (found != nullptr) ::freeaddrinfo(found);
}

tl::unexpected<Error> unknown(const std::string& host, std::string why) {
  auto failed = fail(Kind::unavailable, fmt::format("the address of {} is not known", host),
                     "look at the name, and at the network (a VPN?)");
  failed.value().why = std::move(why);
  return failed;
}

/// The static binary must not load the name services of whatever machine it is on.
void pin_name_services() {
  static const int kPinned = ::__nss_configure_lookup("hosts", "files dns");
  (void)kPinned;
}

}  // namespace

Result<std::vector<SocketAddress>> addresses_of(const std::string& host, std::uint16_t port,
                                                const http::Waiting& waiting) {
  auto question = std::make_shared<Question>();
  question->host = host;
  question->port = std::to_string(port);
  ask(*question, AI_NUMERICHOST);
  if (question->error == 0) return std::move(question->addresses);
  // The resolver cannot be broken off, so it is left behind on a thread of its own.
  pin_name_services();
  std::thread([question] {
    ask(*question, 0);
    question->is_done = true;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(question->answered.get(), &one, sizeof(one));
  }).detach();
  TRY(const bool is_ready,
      http::wait_for(question->answered.get(), POLLIN, waiting.stop, http::after(waiting.silence)));
  if (!is_ready || !question->is_done)
    return unknown(host, fmt::format("no name server answered for {}", to_text(waiting.silence)));
  if (question->error != 0) return unknown(host, ::gai_strerror(question->error));
  return std::move(question->addresses);
}

}  // namespace muster::kube
