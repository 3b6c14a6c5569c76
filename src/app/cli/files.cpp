#include "app/cli/files.hpp"

#include "edge/fs/files.hpp"
#include "edge/fs/parent.hpp"

namespace muster {
namespace {

constexpr const char* kProjectFile = "muster.yaml";

Result<std::optional<spec::ConfigFile>> read_if_there(const std::string& path) {
  auto text = fs::read_file(path, spec::YamlLimits{}.bytes);
  if (text) return std::optional(spec::ConfigFile{path, std::move(*text)});
  if (text.error().kind == Kind::not_found) return std::optional<spec::ConfigFile>();
  return tl::unexpected<Error>(std::move(text).error());
}

}  // namespace

std::optional<std::string> find_project_file(const std::string& dir) {
  std::optional<std::string> found;
  for (std::string at = dir;; at = fs::parent_of(at)) {
    const std::string base = at == "/" ? "" : at;
    if (!found && fs::exists(base + "/" + kProjectFile)) found = base + "/" + kProjectFile;
    if (fs::exists(base + "/.git")) return found;
    if (at == fs::parent_of(at)) break;
  }
  const std::string here = dir + "/" + kProjectFile;
  return fs::exists(here) ? std::optional(here) : std::nullopt;
}

Result<spec::Config> load_config(const Context& context) {
  spec::ConfigSources sources;
  sources.env = context.env;
  sources.cluster = context.globals.cluster;
  TRY(sources.user, read_if_there(context.paths.config_file));
  if (const auto project = find_project_file(context.dir)) {
    TRY(sources.project, read_if_there(*project));
  }
  return spec::read_config(sources);
}

}  // namespace muster
