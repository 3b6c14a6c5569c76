// Programs that print credentials (client.authentication.k8s.io): how they are asked, run and read.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "core/model/json.hpp"
#include "edge/fs/files.hpp"
#include "edge/kube/credentials.hpp"
#include "edge/kube/rfc3339.hpp"

namespace muster::kube {
namespace {

constexpr std::size_t kLargestOutput = 1U << 20;
constexpr auto kPatience = std::chrono::minutes(2);  // a person may have to confirm on a phone
constexpr std::size_t kToldBytes = 500;

struct Pipe {
  UniqueFd out, in;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) return fail_errno("cannot make a pipe", errno);
  return Pipe{.out = UniqueFd(fds[0]), .in = UniqueFd(fds[1])};
}

/// PATH of the environment that was given to us, not of this process.
std::string find_program(const std::string& command, const Environment& env) {
  if (command.find('/') != std::string::npos) return command;
  const auto path = env.find("PATH");
  const std::string folders = path == env.end() ? "/usr/bin:/bin" : path->second;
  for (const auto folder : split(folders, ':')) {
    auto candidate = fmt::format("{}/{}", folder.empty() ? "." : folder, command);
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (auto& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

/// A child that is killed when it is forgotten.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    (void)wait();
  }
  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    return status;
  }

 private:
  pid_t pid_;
};

Result<pid_t> start(const std::string& program, std::vector<std::string> argv,
                    std::vector<std::string> env, int out, int err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  posix_spawn_file_actions_adddup2(&actions, err, 2);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, nullptr, pointers(argv).data(),
                                  pointers(env).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return fail_errno(fmt::format("cannot run {}", program), error);
  return pid;
}

/// Both pipes until they end; a program that floods stderr must not block.
Result<std::pair<std::string, std::string>> drain(int out, int err, const http::Stop& stop) {
  std::array<std::string, 2> texts;
  std::array<int, 2> fds{out, err};
  const auto deadline = http::after(kPatience);
  while (fds[0] >= 0 || fds[1] >= 0) {
    std::array<pollfd, 2> watched{pollfd{fds[0], POLLIN, 0}, pollfd{fds[1], POLLIN, 0}};
    TRY(const bool is_ready, http::wait_any(watched, stop, deadline));
    if (!is_ready) return fail(Kind::unavailable, "the login program takes too long");
    for (std::size_t i = 0; i < 2; ++i) {
      if (fds[i] < 0 || watched[i].revents == 0) continue;
      std::array<char, 8192> piece;
      const auto count = ::read(fds[i], piece.data(), piece.size());
      if (count > 0 && texts[i].size() < kLargestOutput)
        texts[i].append(piece.data(), static_cast<std::size_t>(count));
      if (count == 0) fds[i] = -1;
    }
  }
  return std::pair(std::move(texts[0]), std::move(texts[1]));
}

tl::unexpected<Error> failed_plugin(const ExecPlugin& plugin, std::string what, std::string why) {
  auto failed = fail(Kind::denied, std::move(what), plugin.install_hint);
  failed.value().why = std::move(why);
  if (plugin.install_hint.empty())
    failed.value().fix = {fmt::format("run it by hand: {}", printable(plugin.command))};
  return failed;
}

Result<> check(const ExecPlugin& plugin) {
  if (plugin.interactive_mode == "Always")
    return failed_plugin(plugin, "the login program wants a terminal (interactiveMode: Always)",
                         "it is run without one");
  if (plugin.api_version == "client.authentication.k8s.io/v1" ||
      plugin.api_version == "client.authentication.k8s.io/v1beta1")
    return {};
  return fail(Kind::usage,
              fmt::format("the login program speaks \"{}\"", printable(plugin.api_version)),
              "it must speak client.authentication.k8s.io/v1 or v1beta1");
}

std::string exit_text(int status) {
  if (WIFSIGNALED(status)) return fmt::format("it died of signal {}", WTERMSIG(status));
  return fmt::format("it exited with {}", WEXITSTATUS(status));
}

}  // namespace

std::string exec_info(const ExecPlugin& plugin, const ClusterEntry& cluster,
                      const std::string& ca_pem) {
  json::object spec{{"interactive", false}};
  if (plugin.wants_cluster) {
    json::object about{{"server", cluster.server}};
    if (!cluster.tls_server_name.empty()) about["tls-server-name"] = cluster.tls_server_name;
    if (cluster.is_insecure) about["insecure-skip-tls-verify"] = true;
    if (!ca_pem.empty()) about["certificate-authority-data"] = to_base64(ca_pem);
    if (!cluster.proxy_url.empty()) about["proxy-url"] = cluster.proxy_url;
    spec["cluster"] = std::move(about);
  }
  return json::serialize(json::object{
      {"apiVersion", plugin.api_version}, {"kind", "ExecCredential"}, {"spec", std::move(spec)}});
}

Result<ExecCredential> parse_exec_credential(std::string_view text) {
  auto parsed = parse_json(text);
  const auto* status =
      parsed && parsed->is_object() ? field(parsed->get_object(), "status") : nullptr;
  if (status == nullptr || !status->is_object())
    return fail(Kind::denied, "the login program printed no credentials");
  const auto& object = status->get_object();
  ExecCredential credential{.token = std::string(text_at(object, "token")),
                            .cert_pem = std::string(text_at(object, "clientCertificateData")),
                            .key_pem = std::string(text_at(object, "clientKeyData")),
                            .expires = {}};
  if (const auto at = text_at(object, "expirationTimestamp"); !at.empty()) {
    const auto expires = nanoseconds_of(at);
    if (!expires) return fail(Kind::denied, "the login program printed an end that is no time");
    credential.expires = WallTime{*expires / 1000};
  }
  if (credential.token.empty() && (credential.cert_pem.empty() || credential.key_pem.empty()))
    return fail(Kind::denied, "the login program printed neither a token nor a certificate");
  return credential;
}

Result<ExecCredential> run_plugin(const ExecPlugin& plugin, const std::string& info,
                                  const Environment& env, const http::Stop& stop) {
  TRY_VOID(check(plugin));
  const auto program = find_program(plugin.command, env);
  if (program.empty() || !fs::exists(program))
    return failed_plugin(
        plugin, fmt::format("the login program {} is not installed", printable(plugin.command)),
        "the kubeconfig names it");
  auto around = env;
  for (const auto& [name, value] : plugin.env) around[name] = value;
  around["KUBERNETES_EXEC_INFO"] = info;
  std::vector<std::string> variables;
  for (const auto& [name, value] : around) variables.push_back(name + "=" + value);
  std::vector<std::string> argv{plugin.command};
  argv.insert(argv.end(), plugin.args.begin(), plugin.args.end());

  TRY(auto out, make_pipe());
  TRY(auto err, make_pipe());
  TRY(const auto pid,
      start(program, std::move(argv), std::move(variables), out.in.get(), err.in.get()));
  Child child(pid);
  out.in.reset();
  err.in.reset();
  TRY(const auto said, drain(out.out.get(), err.out.get(), stop));
  const int status = child.wait();
  const auto& complaint = said.second;
  if (status != 0)
    return failed_plugin(plugin,
                         fmt::format("the login program {} failed: {}", printable(plugin.command),
                                     exit_text(status)),
                         printable(trimmed(std::string_view(complaint).substr(0, kToldBytes))));
  return within(parse_exec_credential(said.first), plugin.command);
}

}  // namespace muster::kube
