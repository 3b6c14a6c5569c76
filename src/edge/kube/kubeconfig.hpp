/// kubeconfig files as values: what they say, several of them merged (the first that says something
/// wins), and what one context comes to. Pure but for `load`; any thread.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "core/model/plan.hpp"

namespace muster::kube {

struct ClusterEntry {
  std::string name;
  std::string server;           // "https://host:port/prefix"
  std::string ca_pem;           // inline, decoded
  std::string ca_file;          // absolute, or as relative as the config's own path
  std::string tls_server_name;  // what the certificate must be for, if not the host
  std::string proxy_url;
  bool is_insecure = false;  // the certificate is not looked at
};

/// A program that prints credentials (client.authentication.k8s.io).
struct ExecPlugin {
  std::string api_version;
  std::string command;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  std::string install_hint;
  std::string interactive_mode;  // Never, IfAvailable, Always
  bool wants_cluster = false;
  bool operator==(const ExecPlugin&) const = default;
};

/// Acting as somebody else, by the right to do so.
struct Impersonation {
  std::string user;
  std::string uid;
  std::vector<std::string> groups;
  std::vector<std::pair<std::string, std::string>> extra;
  bool operator==(const Impersonation&) const = default;
};

struct UserEntry {
  std::string name;
  std::string cert_pem, cert_file;
  std::string key_pem, key_file;
  std::string token, token_file;
  std::string username, password;
  std::optional<ExecPlugin> exec;
  std::string auth_provider;  // the old plug-ins: named only to be refused
  Impersonation as;
  bool operator==(const UserEntry&) const = default;
};

struct ContextEntry {
  std::string name;
  std::string cluster;
  std::string user;
  std::string space;  // the namespace
};

struct Kubeconfig {
  std::string current_context;
  std::vector<ClusterEntry> clusters;
  std::vector<UserEntry> users;
  std::vector<ContextEntry> contexts;
};

/// What a client needs to know to reach a cluster: one context, looked up.
struct Target {
  std::string context;
  ClusterEntry cluster;
  UserEntry user;
  std::string space = "default";
};

/// `file` names the text in messages; files it mentions are relative to its folder.
Result<Kubeconfig> parse_kubeconfig(std::string_view text, const std::string& file);
/// What `first` does not say is taken from `second`, entry by entry.
Kubeconfig merged(Kubeconfig first, Kubeconfig second);
/// The context of that name, or the current one with an empty name.
Result<Target> target_of(const Kubeconfig& config, const std::string& context);

/// Where a target is looked for: `path` (a flag) alone, else $KUBECONFIG's list, else
/// ~/.kube/config, else, inside a pod, the pod's own service account.
struct TargetSource {
  std::string path;
  std::string context;
  Environment env;  // KUBECONFIG, HOME, KUBERNETES_SERVICE_*, proxies; exec plugins inherit it
  std::string service_account = "/var/run/secrets/kubernetes.io/serviceaccount";
};
Result<Target> load(const TargetSource& source);

}  // namespace muster::kube
