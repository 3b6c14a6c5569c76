#include "edge/kube/credentials.hpp"

#include "base/text.hpp"
#include "edge/fs/files.hpp"

namespace muster::kube {
namespace {

constexpr auto kReadAgain = std::chrono::minutes(1);
/// A proof that runs out while the request is on its way is refused; so it is renewed a little
/// early.
constexpr auto kEarly = std::chrono::seconds(10);
constexpr std::size_t kLargestSecret = 1U << 20;

Result<std::string> inline_or_file(const std::string& text, const std::string& file) {
  if (!text.empty() || file.empty()) return text;
  return fs::read_file(file, kLargestSecret);
}

std::string bearer(std::string_view token) {
  return token.empty() ? "" : fmt::format("Bearer {}", token);
}

}  // namespace

Credentials::Credentials(UserEntry user, ClusterEntry cluster, std::string ca_pem, Environment env,
                         std::function<Result<Target>()> again)
    : cluster_(std::move(cluster)),
      ca_pem_(std::move(ca_pem)),
      env_(std::move(env)),
      again_(std::move(again)),
      user_(std::move(user)) {}

bool Credentials::is_fresh() const {
  if (!has_identity_) return false;
  if (user_.exec) return !expires_ || WallTime{fs::walltime_us()} + kEarly < *expires_;
  return Clock::now() - read_at_ < kReadAgain;
}

void Credentials::keep(Identity next) {
  const bool is_same_cert =
      next.cert_pem == identity_.cert_pem && next.key_pem == identity_.key_pem;
  const bool is_same = is_same_cert && next.authorization == identity_.authorization;
  next.cert_generation = identity_.cert_generation + (is_same_cert ? 0 : 1);
  next.generation = identity_.generation + (is_same && has_identity_ ? 0 : 1);
  identity_ = std::move(next);
  has_identity_ = true;
  read_at_ = Clock::now();
}

/// As kubectl: a token's file counts before the token, and a token before a password.
Result<> Credentials::read_files() {
  Identity next;
  TRY(next.cert_pem, inline_or_file(user_.cert_pem, user_.cert_file));
  TRY(next.key_pem, inline_or_file(user_.key_pem, user_.key_file));
  std::string token = user_.token;
  if (!user_.token_file.empty()) {
    auto read = fs::read_file(user_.token_file, kLargestSecret);
    // For a moment of its exchange the file may be absent: the old token still counts.
    if (!read && !has_identity_) return tl::unexpected(read.error());
    if (!read) return {};
    token = trimmed(*read);
  }
  next.authorization = bearer(token);
  if (token.empty() && !user_.username.empty())
    next.authorization =
        fmt::format("Basic {}", to_base64(fmt::format("{}:{}", user_.username, user_.password)));
  keep(std::move(next));
  return {};
}

Result<> Credentials::renew(const http::Stop& stop) {
  if (!user_.auth_provider.empty())
    return fail(Kind::usage,
                fmt::format("the kubeconfig uses the old plug-in \"{}\"", user_.auth_provider),
                "fetch the kubeconfig again: clusters use exec plug-ins now");
  if (!user_.exec) return read_files();
  const auto info = exec_info(*user_.exec, cluster_, ca_pem_);
  TRY(auto credential, within(run_plugin(*user_.exec, info, env_, stop), "logging in"));
  expires_ = credential.expires;
  keep({.authorization = bearer(credential.token),
        .cert_pem = std::move(credential.cert_pem),
        .key_pem = std::move(credential.key_pem)});
  return {};
}

Result<Identity> Credentials::get(const http::Stop& stop) {
  const std::lock_guard lock(mutex_);
  if (!is_fresh()) TRY_VOID(renew(stop));
  return identity_;
}

/// Somebody may have logged in again: the kubeconfig tells.
bool Credentials::has_changed() {
  auto now = again_ ? again_() : Result<Target>(tl::unexpected(Error{}));
  if (!now || now->user == user_) return false;
  user_ = std::move(now->user);
  return true;
}

bool Credentials::refuse(std::uint64_t generation) {
  const std::lock_guard lock(mutex_);
  // Somebody else has renewed it already: try with that one.
  if (generation != identity_.generation) return true;
  if (!has_changed() && !user_.exec && user_.token_file.empty()) return false;
  expires_ = WallTime{0};
  read_at_ = Clock::now() - kReadAgain;
  return true;
}

}  // namespace muster::kube
