/// Who we are to a cluster: tokens from files (read again each minute), passwords, certificates,
/// and programs that print either, asked again when what they printed has run out or was refused.
/// Any thread; whoever asks first does the work. Internal to this folder.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/time.hpp"
#include "edge/http/wait.hpp"
#include "edge/kube/kubeconfig.hpp"

namespace muster::kube {

/// What a plug-in printed.
struct ExecCredential {
  std::string token;
  std::string cert_pem, key_pem;
  std::optional<WallTime> expires;
};
/// The JSON of an ExecCredential, taken apart. Pure.
Result<ExecCredential> parse_exec_credential(std::string_view text);
/// What a plug-in finds in KUBERNETES_EXEC_INFO. Pure.
std::string exec_info(const ExecPlugin& plugin, const ClusterEntry& cluster,
                      const std::string& ca_pem);
/// Runs it. Anything it says on stderr is the reason when it fails.
Result<ExecCredential> run_plugin(const ExecPlugin& plugin, const std::string& info,
                                  const Environment& env, const http::Stop& stop);

struct Identity {
  std::string authorization;  // the header's value; empty for none
  std::string cert_pem, key_pem;
  std::uint64_t generation = 0;       // changes with anything above
  std::uint64_t cert_generation = 0;  // changes with the certificate
};

class Credentials {
 public:
  /// `again` tells what the kubeconfig says now; empty: nobody does.
  Credentials(UserEntry user, ClusterEntry cluster, std::string ca_pem, Environment env,
              std::function<Result<Target>()> again = {});

  Result<Identity> get(const http::Stop& stop);
  /// The server does not take it; false when there is nothing else to show.
  bool refuse(std::uint64_t generation);

 private:
  using Clock = std::chrono::steady_clock;
  Result<> renew(const http::Stop& stop);
  Result<> read_files();
  bool is_fresh() const;
  void keep(Identity next);
  bool has_changed();

  const ClusterEntry cluster_;
  const std::string ca_pem_;
  const Environment env_;
  const std::function<Result<Target>()> again_;

  std::mutex mutex_;  // guards the rest
  UserEntry user_;
  Identity identity_;
  bool has_identity_ = false;
  std::optional<WallTime> expires_;
  Clock::time_point read_at_;
};

}  // namespace muster::kube
