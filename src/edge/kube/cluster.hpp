/// What all connections to one cluster share: the address, the proof of who we are, the rate at
/// which we ask. Any thread; made once, held by shared pointer.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/time.hpp"
#include "core/model/plan.hpp"
#include "edge/http/client.hpp"
#include "edge/http/wait.hpp"
#include "edge/kube/kubeconfig.hpp"

namespace muster::kube {

struct ClusterOptions {
  Duration connect_timeout = std::chrono::seconds(5);
  Duration silence = std::chrono::seconds(30);   // of the server within a request
  int retries = 10;                              // of one request
  Duration patience = std::chrono::seconds(60);  // no further try begins after this long
  double per_second = 50;                        // requests, on average
  double burst = 100;                            // and at once
  std::string user_agent = "muster";
  Environment env = {};  // for exec plugins and proxies
  /// The target as its files say now: asked for when the server refuses who we are.
  std::function<Result<Target>()> again = {};
  std::uint64_t seed = 1;
};

class Cluster {
 public:
  /// Reads what the target names (certificates, keys), but talks to nobody yet.
  static Result<std::shared_ptr<Cluster>> open(Target target, ClusterOptions options = {});
  ~Cluster();

  const Target& target() const;
  const ClusterOptions& options() const;

  /// A new connection, ready for requests; `unavailable` when nobody answers, `denied` when the
  /// certificate is not the cluster's.
  Result<http::Connection> connect(const http::Stop& stop);
  /// The same, bare: for what speaks something else than HTTP after its first request.
  Result<std::unique_ptr<http::Channel>> dial(const http::Stop& stop);

  /// The headers of every request, and which proof they carry.
  struct Proof {
    http::Headers headers;
    std::uint64_t generation = 0;
    std::uint64_t connection = 0;  // connections made for another number show another certificate
  };
  Result<Proof> proof(const http::Stop& stop);
  /// The server answered 401 to that proof: the next `proof` is a fresh one, if there can be one.
  /// False when it cannot.
  bool refuse(std::uint64_t generation);

  /// Waits until another request may be sent.
  Result<> wait_turn(const http::Stop& stop);
  /// A random part of a pause: between half of it and all of it.
  Duration jittered(Duration pause);
  /// "host:port", for messages and headers.
  std::string host() const;
  /// The server's own prefix ("/k8s/clusters/x") before a path.
  std::string target_of(std::string_view path) const;

 private:
  struct Shared;
  explicit Cluster(std::unique_ptr<Shared> shared);
  std::unique_ptr<Shared> shared_;
};

}  // namespace muster::kube
