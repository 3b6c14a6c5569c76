#include "app/server/env_store.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <ctime>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "edge/fs/files.hpp"

namespace muster::server {
namespace {

/// NAME=VALUE entries ended by NUL, in order of names: what execve takes, and nothing else.
std::string canonical(const Environment& env) {
  std::string text;
  for (const auto& [name, value] : env) {
    text += name;
    text += '=';
    text += value;
    text += '\0';
  }
  return text;
}

/// A job may be submitted again for this long after an environment was last asked for; and one that
/// is being submitted is not committed yet.
constexpr std::time_t kKept = 30 * 24 * 3600;

bool is_kept(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && std::time(nullptr) - status.st_mtime < kKept;
}

/// Marks the file as young again: somebody is about to refer to it.
bool renew(const std::string& path) { return ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0) == 0; }

bool is_id(std::string_view id) {
  return id.size() == 64 && id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::string env_id_of(const Environment& env) { return sha256_hex(canonical(env)); }

EnvStore::EnvStore(std::string dir) : dir_(std::move(dir)) {}

Result<std::string> EnvStore::put(const Environment& env) {
  const std::string text = canonical(env);
  const std::string id = sha256_hex(text);
  const std::lock_guard lock(mutex_);
  if (known_.contains(id) && renew(dir_ + "/" + id)) return id;
  TRY_VOID(fs::make_dirs(dir_));
  TRY_VOID(fs::write_durably(dir_ + "/" + id, text));
  known_.insert(id);
  return id;
}

bool EnvStore::claim(const std::string& id) {
  const std::lock_guard lock(mutex_);
  return is_id(id) && renew(dir_ + "/" + id);
}

Result<Environment> EnvStore::get(const std::string& id) const {
  if (!is_id(id))
    return fail(Kind::corrupt,
                fmt::format("not the name of an environment: \"{}\"", printable(id)));
  TRY(const auto text, fs::read_file(dir_ + "/" + id));
  if (sha256_hex(text) != id)
    return fail(Kind::corrupt, fmt::format("the stored environment {} was changed", id),
                "submit the job again");
  Environment env;
  for (std::string_view rest = text; !rest.empty();) {
    const auto end = rest.find('\0');
    const auto entry = rest.substr(0, end);
    const auto eq = entry.find('=', 1);
    if (end == std::string_view::npos || eq == std::string_view::npos)
      return fail(Kind::corrupt, fmt::format("the stored environment {} is damaged", id));
    env.emplace(entry.substr(0, eq), entry.substr(eq + 1));
    rest.remove_prefix(end + 1);
  }
  return env;
}

Result<bool> EnvStore::drop(const std::string& id) {
  const std::lock_guard lock(mutex_);
  if (!is_id(id) || is_kept(dir_ + "/" + id)) return false;
  known_.erase(id);
  TRY_VOID(fs::remove_file(dir_ + "/" + id));
  return true;
}

}  // namespace muster::server
