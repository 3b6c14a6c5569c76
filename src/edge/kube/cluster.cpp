#include "edge/kube/cluster.hpp"

#include <mutex>

#include "base/rng.hpp"
#include "edge/fs/files.hpp"
#include "edge/kube/credentials.hpp"
#include "edge/kube/rate.hpp"
#include "edge/kube/tls.hpp"
#include "edge/kube/transport.hpp"

namespace muster::kube {
namespace {

constexpr std::size_t kLargestCa = 4U << 20;

std::string variable(const Environment& env, const std::string& upper, const std::string& lower) {
  for (const auto& name : {upper, lower})
    if (const auto found = env.find(name); found != env.end() && !found->second.empty())
      return found->second;
  return {};
}

/// The kubeconfig's proxy, else the environment's for servers that are not exempt from it.
Result<std::optional<Url>> proxy_of(const ClusterEntry& cluster, const Url& server,
                                    const Environment& env) {
  auto text = cluster.proxy_url;
  if (text.empty() && !is_exempt(server.host, variable(env, "NO_PROXY", "no_proxy")))
    text = server.scheme == "http" ? variable(env, "HTTP_PROXY", "http_proxy")
                                   : variable(env, "HTTPS_PROXY", "https_proxy");
  if (text.empty()) return std::nullopt;
  // Without a scheme a proxy is a plain one.
  if (text.find("://") == std::string::npos) text.insert(0, "http://");
  TRY(auto proxy, within(parse_url(text), "the proxy"));
  return proxy;
}

http::Headers headers_of(const Identity& identity, const Impersonation& as,
                         const std::string& agent) {
  http::Headers headers{{"User-Agent", agent}};
  if (!identity.authorization.empty())
    headers.emplace_back("Authorization", identity.authorization);
  if (!as.user.empty()) headers.emplace_back("Impersonate-User", as.user);
  if (!as.uid.empty()) headers.emplace_back("Impersonate-Uid", as.uid);
  for (const auto& group : as.groups) headers.emplace_back("Impersonate-Group", group);
  for (const auto& [name, value] : as.extra)
    headers.emplace_back("Impersonate-Extra-" + http::percent_encoded(name), value);
  return headers;
}

}  // namespace

struct Cluster::Shared {
  Shared(Target the_target, ClusterOptions the_options, Route the_route, std::string the_ca)
      : target(std::move(the_target)),
        options(std::move(the_options)),
        route(std::move(the_route)),
        ca_pem(std::move(the_ca)),
        credentials(target.user, target.cluster, ca_pem, options.env, options.again),
        bucket(options.per_second, options.burst),
        rng(options.seed) {}

  const Target target;
  const ClusterOptions options;
  const Route route;
  const std::string ca_pem;
  Credentials credentials;

  std::mutex mutex;
  Bucket bucket;
  Rng rng;
  std::shared_ptr<const TlsContext> tls;
  std::uint64_t tls_generation = 0;

  Result<std::shared_ptr<const TlsContext>> context(const Identity& identity);
};

/// Made with the first connection, and again when the client's certificate has changed.
Result<std::shared_ptr<const TlsContext>> Cluster::Shared::context(const Identity& identity) {
  const std::lock_guard lock(mutex);
  if (tls && tls_generation == identity.cert_generation) return tls;
  TRY(tls, TlsContext::make({.ca_pem = ca_pem,
                             .ca_from = target.cluster.ca_file.empty()
                                            ? "certificate-authority-data of the kubeconfig"
                                            : target.cluster.ca_file,
                             .cert_pem = identity.cert_pem,
                             .key_pem = identity.key_pem,
                             .is_insecure = target.cluster.is_insecure}));
  tls_generation = identity.cert_generation;
  return tls;
}

Cluster::Cluster(std::unique_ptr<Shared> shared) : shared_(std::move(shared)) {}
Cluster::~Cluster() = default;

Result<std::shared_ptr<Cluster>> Cluster::open(Target target, ClusterOptions options) {
  TRY(auto server, within(parse_url(target.cluster.server), "the kubeconfig's cluster"));
  if (server.scheme != "http" && server.scheme != "https")
    return fail(Kind::usage, fmt::format("a server of kind {} is not known", server.scheme),
                "write it like https://host:6443");
  TRY(auto proxy, proxy_of(target.cluster, server, options.env));
  std::string ca = target.cluster.ca_pem;
  if (ca.empty() && !target.cluster.ca_file.empty()) {
    TRY(ca, fs::read_file(target.cluster.ca_file, kLargestCa));
  }
  auto shared = std::make_unique<Shared>(std::move(target), std::move(options),
                                         Route{std::move(server), std::move(proxy)}, std::move(ca));
  return std::shared_ptr<Cluster>(new Cluster(std::move(shared)));
}

const Target& Cluster::target() const { return shared_->target; }
const ClusterOptions& Cluster::options() const { return shared_->options; }
std::string Cluster::host() const { return shared_->route.server.authority(); }
std::string Cluster::target_of(std::string_view path) const {
  return shared_->route.server.path + std::string(path);
}

Result<std::unique_ptr<http::Channel>> Cluster::dial(const http::Stop& stop) {
  const http::Waiting waiting{.stop = stop, .silence = shared_->options.connect_timeout};
  const auto& server = shared_->route.server;
  // Asked for before anybody is connected to: a login may take a person's time.
  TRY(const auto identity, shared_->credentials.get(stop));
  TRY(auto channel, reach(shared_->route, waiting));
  if (server.scheme == "http") return channel;
  TRY(const auto context, shared_->context(identity));
  const auto& name = shared_->target.cluster.tls_server_name;
  return within(context->connect(std::move(channel), name.empty() ? server.host : name, waiting),
                server.authority());
}

Result<http::Connection> Cluster::connect(const http::Stop& stop) {
  TRY(auto channel, dial(stop));
  return http::Connection(std::move(channel), {.name = host(), .host = host(), .fix = {}},
                          shared_->options.silence, stop);
}

Result<Cluster::Proof> Cluster::proof(const http::Stop& stop) {
  TRY(const auto identity, shared_->credentials.get(stop));
  return Proof{
      .headers = headers_of(identity, shared_->target.user.as, shared_->options.user_agent),
      .generation = identity.generation,
      .connection = identity.cert_generation};
}

bool Cluster::refuse(std::uint64_t generation) { return shared_->credentials.refuse(generation); }

Result<> Cluster::wait_turn(const http::Stop& stop) {
  Duration pause;
  {
    const std::lock_guard lock(shared_->mutex);
    pause = shared_->bucket.take(std::chrono::steady_clock::now());
  }
  if (pause <= Duration::zero()) return {};
  TRY_VOID(http::wait_for(-1, 0, stop, http::after(pause)));
  return {};
}

Duration Cluster::jittered(Duration pause) {
  const std::lock_guard lock(shared_->mutex);
  const auto half = pause.count() / 2;
  return Duration(
      half + static_cast<std::int64_t>(shared_->rng.below(static_cast<std::uint64_t>(half) + 1)));
}

}  // namespace muster::kube
