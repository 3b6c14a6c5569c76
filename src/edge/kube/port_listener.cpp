// The listening side of a port-forward: accepts, and gives each connection a thread.
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <list>
#include <mutex>
#include <thread>

#include "edge/kube/cancel.hpp"
#include "edge/kube/port_forward.hpp"

namespace muster::kube {

struct PortForward::Parts {
  std::shared_ptr<Cluster> cluster;
  PodPort to;
  UniqueFd listening;
  std::uint16_t port = 0;
  Cancel cancel;

  struct Carrier {
    std::thread thread;
    std::atomic<bool> is_done = false;
  };
  std::list<Carrier> carriers;  // of the accepting thread
  std::thread accepting;
  mutable std::mutex mutex;
  std::string trouble;

  void accept_all();
  void start(UniqueFd local);
  void drop_done();
};

void PortForward::Parts::drop_done() {
  for (auto at = carriers.begin(); at != carriers.end();) {
    if (!at->is_done) {
      ++at;
      continue;
    }
    at->thread.join();
    at = carriers.erase(at);
  }
}

void PortForward::Parts::start(UniqueFd local) {
  auto& carrier = carriers.emplace_back();
  carrier.thread = std::thread([this, &carrier, fd = local.release()] {
    const auto carried = carry(*cluster, to, UniqueFd(fd), cancel.stop());
    if (!carried && carried.error().kind != Kind::cancelled) {
      const std::lock_guard lock(mutex);
      trouble = to_line(carried.error());
    }
    carrier.is_done = true;
  });
}

void PortForward::Parts::accept_all() {
  while (http::wait_for(listening.get(), POLLIN, cancel.stop(), http::Deadline::max())) {
    UniqueFd local(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    drop_done();
    if (local) start(std::move(local));
  }
  for (auto& carrier : carriers) carrier.thread.join();
}

PortForward::PortForward(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Result<std::unique_ptr<PortForward>> PortForward::open(std::shared_ptr<Cluster> cluster, PodPort to,
                                                       std::uint16_t local_port) {
  auto parts = std::make_unique<Parts>();
  parts->cluster = std::move(cluster);
  parts->to = std::move(to);
  parts->listening = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{
      .sin_family = AF_INET, .sin_port = htons(local_port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof(address);
  auto* where = reinterpret_cast<sockaddr*>(&address);
  if (!parts->listening || ::bind(parts->listening.get(), where, size) != 0 ||
      ::listen(parts->listening.get(), SOMAXCONN) != 0 ||
      ::getsockname(parts->listening.get(), where, &size) != 0)
    return fail_errno(fmt::format("cannot listen on port {}", local_port), errno);
  parts->port = ntohs(address.sin_port);
  auto* raw = parts.get();
  parts->accepting = std::thread([raw] { raw->accept_all(); });
  return std::unique_ptr<PortForward>(new PortForward(std::move(parts)));
}

PortForward::~PortForward() {
  parts_->cancel.set();
  parts_->accepting.join();
}

std::uint16_t PortForward::port() const { return parts_->port; }

std::string PortForward::last_trouble() const {
  const std::lock_guard lock(parts_->mutex);
  return parts_->trouble;
}

}  // namespace muster::kube
