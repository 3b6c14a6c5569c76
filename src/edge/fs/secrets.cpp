#include "edge/fs/secrets.hpp"

#include <sys/stat.h>

#include <cerrno>

#include "base/text.hpp"
#include "edge/fs/files.hpp"

namespace muster::fs {
namespace {

constexpr std::string_view kScheme = "secret://";
constexpr std::size_t kLongestName = 128;

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

tl::unexpected<Error> no_secret(const std::string& name) {
  return fail(Kind::not_found, fmt::format("there is no secret \"{}\"", printable(name)),
              fmt::format("set it: muster secret set {}", printable(name)));
}

}  // namespace

std::optional<std::string> secret_name(std::string_view value) {
  if (!value.starts_with(kScheme)) return std::nullopt;
  return std::string(value.substr(kScheme.size()));
}

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
  return read_file(path, 1U << 20);
}

std::vector<std::string> Secrets::names() const {
  auto all = entries(dir_);
  std::erase_if(all, [](const std::string& name) { return !is_name(name); });
  return all;
}

Result<> Secrets::remove(const std::string& name) const {
  TRY_VOID(check_name(name));
  if (!exists(dir_ + "/" + name)) return no_secret(name);
  return remove_file(dir_ + "/" + name);
}

}  // namespace muster::fs
