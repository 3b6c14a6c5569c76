/// Connections to this machine carried into a pod, each over a WebSocket of its own
/// (v4.channel.k8s.io). A listening port and its connections have a thread each, which end with the
/// object.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/unique_fd.hpp"
#include "edge/kube/api.hpp"

namespace muster::kube {

struct PodPort {
  std::string space;
  std::string pod;
  std::uint16_t port = 0;
};

/// Carries one connected, non-blocking stream socket until either side ends. The protocol cannot
/// tell the pod that only one direction has ended: when the local side has, what still comes from
/// the pod is carried until it is silent for a while.
ApiResult<> carry(Cluster& cluster, const PodPort& to, UniqueFd local, const http::Stop& stop);

class PortForward {
 public:
  /// Listens on 127.0.0.1, on a free port when `local_port` is 0.
  static Result<std::unique_ptr<PortForward>> open(std::shared_ptr<Cluster> cluster, PodPort to,
                                                   std::uint16_t local_port = 0);
  ~PortForward();

  std::uint16_t port() const;
  /// How the last connection that failed did; empty while none has.
  std::string last_trouble() const;

 private:
  struct Parts;
  explicit PortForward(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace muster::kube
