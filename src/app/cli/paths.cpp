#include "app/cli/paths.hpp"

namespace muster {
namespace {

std::optional<std::string> get(const Environment& env, const char* name) {
  const auto found = env.find(name);
  if (found == env.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

/// The XDG rule: a value that is not absolute is ignored.
std::optional<std::string> xdg(const Environment& env, const char* name) {
  auto value = get(env, name);
  return value && value->front() == '/' ? value : std::nullopt;
}

std::string absolute(const std::string& path, const std::string& dir) {
  return path.front() == '/' ? path : dir + "/" + path;
}

}  // namespace

Result<Paths> find_paths(const Environment& env, const Whereabouts& where) {
  const auto home = where.home_flag ? where.home_flag : get(env, "MUSTER_HOME");
  if (home) {
    const std::string all = absolute(*home, where.dir);
    return Paths{all, all + "/config.yaml", all + "/cache"};
  }
  auto user = get(env, "HOME");
  if (!user || user->front() != '/') user = where.passwd_home;
  const auto under = [&](const char* variable,
                         const char* otherwise) -> std::optional<std::string> {
    if (auto set = xdg(env, variable)) return *set + "/muster";
    if (user) return *user + otherwise;
    return std::nullopt;
  };
  const auto state = under("XDG_STATE_HOME", "/.local/state/muster");
  const auto config = under("XDG_CONFIG_HOME", "/.config/muster");
  const auto cache = under("XDG_CACHE_HOME", "/.cache/muster");
  if (!state || !config || !cache)
    return fail(Kind::usage, "no home folder: HOME is not set and the user has no passwd entry",
                "set MUSTER_HOME to a folder of your own");
  return Paths{*state, *config + "/config.yaml", *cache};
}

}  // namespace muster
