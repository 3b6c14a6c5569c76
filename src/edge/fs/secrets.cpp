#include "edge/fs/secrets.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "edge/fs/files.hpp"

namespace muster::fs {
namespace {

constexpr std::string_view kScheme = "secret://";
constexpr std::string_view kFile = "file:", kEnv = "env:";
constexpr std::size_t kLongestName = 128;
constexpr std::size_t kLargest = 1U << 20;

bool is_name(std::string_view name) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  return !name.empty() && name.size() <= kLongestName && name.front() != '.' &&
         name.find_first_not_of(kPlain) == name.npos;
}

Result<> check_name(const std::string& name) {
  if (is_name(name)) return {};
  return fail(Kind::usage, fmt::format("\"{}\" cannot name a secret", printable(name)),
              "use up to 128 letters, digits, - _ .");
}

/// A file of the person's own. Looked at through the open file: nobody can exchange it in between.
Result<std::string> read_own(const std::string& path) {
  if (!path.starts_with('/'))
    return fail(Kind::usage, fmt::format("secret://file:{} is no absolute path", printable(path)),
                "write secret://file:/path/to/it");
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return fail_errno(fmt::format("cannot open the secret {}", printable(path)), errno);
  struct stat about{};
  if (::fstat(fd.get(), &about) != 0 || !S_ISREG(about.st_mode))
    return fail(Kind::usage, fmt::format("the secret {} is no file", printable(path)));
  if (about.st_uid != ::geteuid())
    return fail(Kind::denied, fmt::format("the secret {} belongs to another user", printable(path)),
                "use a copy of your own that nobody else can read");
  if ((about.st_mode & 077) != 0)
    return fail(Kind::denied, fmt::format("others may read the secret {}", printable(path)),
                fmt::format("chmod 600 {}", printable(path)));
  TRY(auto bytes, read_file(fmt::format("/proc/self/fd/{}", fd.get()), kLargest));
  if (bytes.ends_with('\n')) bytes.pop_back();
  if (bytes.empty() || bytes.find('\0') != bytes.npos)
    return fail(Kind::usage, fmt::format("the secret {} is empty or holds a NUL byte, which no "
                                         "variable can carry",
                                         printable(path)));
  return bytes;
}

tl::unexpected<Error> cannot_look(const std::string& dir, int error_number) {
  auto failed = fail_errno(fmt::format("cannot look into {}", printable(dir)), error_number);
  failed.value().fix.emplace_back(
      "a home is one person's: set MUSTER_HOME to a folder of your own");
  return failed;
}

tl::unexpected<Error> no_secret(const std::string& name) {
  return fail(Kind::not_found, fmt::format("there is no secret \"{}\"", printable(name)),
              fmt::format("set it: muster secret set {}", printable(name)));
}

}  // namespace

std::optional<SecretRef> secret_ref(std::string_view value) {
  using From = SecretRef::From;
  if (!value.starts_with(kScheme)) return std::nullopt;
  value.remove_prefix(kScheme.size());
  for (const auto& [prefix, from] : {std::pair(kFile, From::file), std::pair(kEnv, From::env)})
    if (value.starts_with(prefix)) return SecretRef{from, std::string(value.substr(prefix.size()))};
  return SecretRef{From::home, std::string(value)};
}

Result<> Secrets::check(const std::string& name) { return check_name(name); }

Result<> Secrets::set(const std::string& name, std::string_view bytes) const {
  TRY_VOID(check_name(name));
  if (bytes.find('\0') != bytes.npos)
    return fail(Kind::usage, "a secret holds a NUL byte, which no variable can carry");
  TRY_VOID(make_dirs(dir_));
  return write_durably(dir_ + "/" + name, bytes, 0600);
}

Result<std::string> Secrets::get(const std::string& name) const {
  TRY_VOID(check_name(name));
  const auto path = dir_ + "/" + name;
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0 && errno == ENOENT) return no_secret(name);
  if ((status.st_mode & 077) != 0)
    return fail(Kind::denied, fmt::format("others may read the secret \"{}\"", name),
                fmt::format("chmod 600 {}", path));
  return read_file(path, kLargest);
}

Result<std::string> Secrets::get(const SecretRef& ref) const {
  switch (ref.from) {
    case SecretRef::From::home: return get(ref.name);
    case SecretRef::From::file: return read_own(ref.name);
    case SecretRef::From::env: break;
  }
  return fail(Kind::usage,
              fmt::format("secret://env:{} can be taken only by who submits", printable(ref.name)),
              "submit with muster where it is set, or use secret://NAME or secret://file:/path");
}

Result<std::vector<std::string>> Secrets::names() const {
  // A folder that is not there has no secrets; one that may not be entered has who knows what.
  if (::access(dir_.c_str(), R_OK | X_OK) != 0 && errno != ENOENT) return cannot_look(dir_, errno);
  auto all = entries(dir_);
  std::erase_if(all, [](const std::string& name) { return !is_name(name); });
  return all;
}

Result<> Secrets::remove(const std::string& name) const {
  TRY_VOID(check_name(name));
  if (!exists(dir_ + "/" + name))
    return fail(Kind::not_found, fmt::format("there is no secret \"{}\"", name),
                "those that are there: muster secret list");
  return remove_file(dir_ + "/" + name);
}

}  // namespace muster::fs
