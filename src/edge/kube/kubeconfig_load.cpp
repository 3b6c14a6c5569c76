// Where a target is found: files, or the service account of the pod around us.
#include "base/text.hpp"
#include "edge/fs/files.hpp"
#include "edge/kube/kubeconfig.hpp"

namespace muster::kube {
namespace {

constexpr std::size_t kLargestConfig = 4U << 20;

std::string variable(const TargetSource& source, const std::string& name) {
  const auto found = source.env.find(name);
  return found == source.env.end() ? "" : found->second;
}

Result<Kubeconfig> read(const std::string& path) {
  TRY(const auto text, fs::read_file(path, kLargestConfig));
  return parse_kubeconfig(text, path);
}

/// The files of $KUBECONFIG; one that does not exist is passed over, as kubectl does.
Result<std::optional<Kubeconfig>> read_all(std::string_view paths) {
  std::optional<Kubeconfig> config;
  for (const auto path : split(paths, ':')) {
    if (path.empty()) continue;
    auto one = read(std::string(path));
    if (!one && one.error().kind == Kind::not_found) continue;
    if (!one) return tl::unexpected(one.error());
    config = config ? merged(std::move(*config), std::move(*one)) : std::move(*one);
  }
  return config;
}

/// A pod's own identity. The token's file is read again and again: it is exchanged every hour.
Result<Target> in_cluster(const TargetSource& source) {
  const auto host = variable(source, "KUBERNETES_SERVICE_HOST");
  const auto port = variable(source, "KUBERNETES_SERVICE_PORT");
  const bool is_v6 = host.find(':') != std::string::npos;
  Target target{.context = "in-cluster"};
  target.cluster = {.name = "in-cluster",
                    .server = fmt::format("https://{}:{}", is_v6 ? "[" + host + "]" : host,
                                          port.empty() ? "443" : port),
                    .ca_file = source.service_account + "/ca.crt"};
  target.user = {.name = "in-cluster", .token_file = source.service_account + "/token"};
  auto space = fs::read_file(source.service_account + "/namespace", 4096);
  if (space) target.space = trimmed(*space);
  return target;
}

bool is_in_cluster(const TargetSource& source) {
  return !variable(source, "KUBERNETES_SERVICE_HOST").empty() &&
         fs::exists(source.service_account + "/token");
}

}  // namespace

Result<Target> load(const TargetSource& source) {
  if (!source.path.empty()) {
    TRY(const auto config, read(source.path));
    return within(target_of(config, source.context), source.path);
  }
  const auto listed = variable(source, "KUBECONFIG");
  const auto home = variable(source, "HOME") + "/.kube/config";
  TRY(const auto config, read_all(listed.empty() ? home : listed));
  if (config) return within(target_of(*config, source.context), listed.empty() ? home : listed);
  if (is_in_cluster(source)) return in_cluster(source);
  return fail(Kind::not_found,
              fmt::format("no kubeconfig: {} does not exist", listed.empty() ? home : listed),
              "set KUBECONFIG to the cluster's file");
}

}  // namespace muster::kube
