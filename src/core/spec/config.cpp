#include "core/spec/config.hpp"

#include "base/text.hpp"
#include "core/spec/config_keys.hpp"
#include "core/spec/pod_keys.hpp"

namespace muster::spec {
namespace {

std::vector<std::string> known_keys() {
  std::vector<std::string> known;
  for (const auto& row : profile_keys()) known.emplace_back(row.name);
  return known;
}

/// Reads one file into layers. Every value is tried on an empty profile, so that a wrong one is
/// told with its place, whether or not it would win.
class FileReader {
 public:
  FileReader(const ConfigFile& file, Layer layer, Config& config)
      : file_(file), layer_(layer), config_(config) {}

  Result<> read() {
    TRY(const auto root, parse_yaml(file_.text, file_.path));
    if (is_null(root)) return {};
    if (root.kind != YamlKind::map)
      return fail_at(file_.path, root, "a configuration must be a map",
                     "begin with default: NAME or clusters:");
    for (const auto& [key, value] : root.pairs) {
      if (key.text == "default")
        TRY_VOID(read_default(value));
      else if (key.text == "clusters")
        TRY_VOID(read_clusters(value));
      else if (key.text == "stores")
        warn_unused(key, "stores");
      else
        return unknown_top(key);
    }
    return {};
  }

 private:
  Origin at(const YamlNode& node) const { return {layer_, place_of(file_.path, node)}; }

  /// A key of a profile one level too high is the likeliest slip.
  tl::unexpected<Error> unknown_top(const YamlNode& key) const {
    static const std::vector<std::string> kTop{"default", "clusters", "stores"};
    const auto keys = known_keys();
    const auto near = nearest(key.text, keys);
    if (!near || nearest(key.text, kTop)) return unknown_key(file_.path, key, kTop);
    return fail_at(
        file_.path, key, fmt::format("\"{}\" does not stand at the top", printable(key.text)),
        fmt::format("it belongs to a cluster: {{clusters: {{local: {{{}: ...}}}}}}", *near));
  }

  void warn_unused(const YamlNode& key, std::string_view path) {
    config_.warnings.push_back(fmt::format("{}: {} is known, not used by this version",
                                           place_of(file_.path, key), printable(path)));
  }

  Result<> read_default(const YamlNode& value) {
    if (value.kind != YamlKind::scalar || is_null(value))
      return fail_at(file_.path, value, "default must name a cluster", "default: local");
    config_.defaults.push_back({"default", value.text, at(value), {}});
    return {};
  }

  Result<> read_clusters(const YamlNode& clusters) {
    if (is_null(clusters)) return {};
    if (clusters.kind != YamlKind::map)
      return fail_at(file_.path, clusters, "clusters must be a map of names",
                     "clusters: {mine: {queue: night}}");
    for (const auto& [key, value] : clusters.pairs) {
      if (key.text.empty() || printable(key.text) != key.text)
        return fail_at(file_.path, key, "not a name for a cluster");
      if (value.kind != YamlKind::map && !is_null(value))
        return fail_at(file_.path, value, fmt::format("clusters.{} must be a map", key.text));
      ProfileLayer layer{.profile = key.text, .base = {}, .origin = at(key), .settings = {}};
      for (const auto& pair : value.pairs) TRY_VOID(read_pair(layer, pair));
      config_.profiles.push_back(std::move(layer));
    }
    return {};
  }

  Result<> read_pair(ProfileLayer& layer, const YamlPair& pair) {
    const auto& [key, value] = pair;
    const ConfigKey* row = key.text.find('.') == std::string::npos ? key_of(key.text) : nullptr;
    if (row == nullptr) return unknown_key(file_.path, key, known_keys());
    if (row->apply == nullptr) {
      warn_unused(key, fmt::format("clusters.{}.{}", layer.profile, key.text));
      return {};
    }
    if (is_null(value))
      return fail_at(file_.path, value, fmt::format("{} has no value", key.text),
                     "remove it, or give it a value");
    if (row->name == "_base_") return read_base(layer, value);
    TRY_VOID(check_owner(*row, key));
    switch (row->shape) {
      case KeyShape::scalar: return add_scalar(layer, key.text, value);
      case KeyShape::map: return add_map(layer, *row, value);
      case KeyShape::list:
        return row->name == "nodes" ? add_nodes(layer, value) : add_list(layer, *row, value);
    }
    return {};
  }

  /// The server has the nodes and the connections, and it serves all projects of a person. A
  /// kubeconfig may name programs to run, a store a folder to write to: no folder that was cloned
  /// may choose one.
  Result<> check_owner(const ConfigKey& row, const YamlNode& key) const {
    const bool is_persons = row.name == "nodes" || row.name == "context" ||
                            row.name == "kubeconfig" || row.name == "store";
    if (layer_ != Layer::project || !is_persons) return {};
    return fail_at(file_.path, key,
                   fmt::format("{} is the person's own, not a project's", row.name),
                   "move it to the person's own file: muster config path");
  }

  Result<> read_base(ProfileLayer& layer, const YamlNode& value) {
    if (value.kind != YamlKind::scalar)
      return fail_at(file_.path, value, "_base_ must name one cluster");
    layer.base = value.text;
    layer.settings.push_back({"_base_", value.text, at(value), {}});
    return {};
  }

  Result<> add_scalar(ProfileLayer& layer, const std::string& key, const YamlNode& value) {
    if (value.kind != YamlKind::scalar)
      return fail_at(file_.path, value, fmt::format("{} must be one value", printable(key)));
    if (value.text.find('\0') != std::string::npos)
      return fail_at(file_.path, value, fmt::format("{} holds a NUL byte", printable(key)));
    Setting setting{key, value.text, at(value), {}};
    Profile scratch;
    auto tried = apply(scratch, setting);
    if (!tried) {
      auto error = std::move(tried).error();
      error.what = fmt::format("{}: {}", printable(key), error.what);
      error.where = setting.origin.place;
      return tl::unexpected<Error>(std::move(error));
    }
    layer.settings.push_back(std::move(setting));
    return {};
  }

  Result<> add_map(ProfileLayer& layer, const ConfigKey& row, const YamlNode& value) {
    // `retries: 3` means the user's budget, as --retries 3 does.
    if (row.name == "retries" && value.kind == YamlKind::scalar)
      return add_scalar(layer, "retries.user", value);
    if (value.kind != YamlKind::map)
      return fail_at(file_.path, value, fmt::format("{} must be a map", row.name));
    for (const auto& [key, item] : value.pairs)
      TRY_VOID(add_scalar(layer, fmt::format("{}.{}", row.name, key.text), item));
    return {};
  }

  /// A list as one text, its parts as a variable would have them.
  Result<> add_list(ProfileLayer& layer, const ConfigKey& row, const YamlNode& value) {
    if (value.kind != YamlKind::list)
      return fail_at(file_.path, value, fmt::format("{} must be a list", row.name));
    std::vector<std::string> parts;
    for (const auto& item : value.items) {
      TRY(auto part, list_item(row.name, item, file_.path));
      parts.push_back(std::move(part));
    }
    YamlNode joined = value;
    joined.kind = YamlKind::scalar;
    joined.text = join(parts, ",");
    return add_scalar(layer, std::string(row.name), joined);
  }

  Result<> add_nodes(ProfileLayer& layer, const YamlNode& value) {
    if (value.kind != YamlKind::list)
      return fail_at(file_.path, value, "nodes must be a list", "nodes: [{name: n, count: 2}]");
    Setting setting{"nodes", {}, at(value), {}};
    std::int64_t total = 0;
    for (const auto& item : value.items) {
      TRY(auto group, read_node_group(item, file_.path));
      total += group.count;
      if (!setting.value.empty()) setting.value += ", ";
      setting.value += fmt::format("{} x {}", group.count, group.name);
      for (const auto& other : setting.nodes)
        if (other.name == group.name)
          return fail_at(file_.path, item, fmt::format("two nodes named \"{}\"", group.name));
      setting.nodes.push_back(std::move(group));
    }
    if (total > kMaxNodes)
      return fail_at(file_.path, value, fmt::format("{} nodes are more than {}", total, kMaxNodes));
    layer.settings.push_back(std::move(setting));
    return {};
  }

  const ConfigFile& file_;
  Layer layer_;
  Config& config_;
};

/// MUSTER_RETRIES is "2" or "user=1,infra=3", as the flag; other maps are "a=1,b=2".
std::vector<std::pair<std::string, std::string>> keys_of_variable(const ConfigKey& row,
                                                                  const std::string& value) {
  if (row.shape != KeyShape::map) return {{std::string(row.name), value}};
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto part : split(value, ',')) {
    const auto equals = part.find('=');
    if (equals == std::string_view::npos && row.name == "retries")
      pairs.emplace_back("retries.user", part);
    else
      pairs.emplace_back(fmt::format("{}.{}", row.name, part.substr(0, equals)),
                         equals == std::string_view::npos ? "" : part.substr(equals + 1));
  }
  return pairs;
}

/// MUSTER_TIME_LMIT would be without effect and without a word.
void warn_of_slips(const Environment& env, Config& config) {
  std::vector<std::string> known;
  for (const auto& row : profile_keys()) known.push_back(variable_of(row.name));
  for (auto at = env.lower_bound("MUSTER_"); at != env.end() && at->first.starts_with("MUSTER_");
       ++at) {
    if (std::find(known.begin(), known.end(), at->first) != known.end()) continue;
    const auto rest = at->first.substr(7);
    for (const auto& name : known)
      if (rest.size() > 4 && edit_distance(rest, name.substr(7)) == 1)
        config.warnings.push_back(fmt::format(
            "environment variable {} has no effect; did you mean {}?", printable(at->first), name));
  }
}

Result<> read_environment(const Environment& env, Config& config) {
  warn_of_slips(env, config);
  for (const auto& row : profile_keys()) {
    const bool has_variable = row.apply != nullptr && row.name != "_base_" && row.name != "nodes" &&
                              row.name != "env" && row.name != "kind";
    const auto name = variable_of(row.name);
    const auto found = has_variable ? env.find(name) : env.end();
    if (found == env.end() || found->second.empty()) continue;
    for (auto& [key, value] : keys_of_variable(row, found->second)) {
      Setting setting{key, value, {Layer::environment, name}, {}};
      Profile scratch;
      TRY_VOID(within(apply(scratch, setting), fmt::format("environment variable {}", name)));
      config.environment.push_back(std::move(setting));
    }
  }
  return {};
}

}  // namespace

std::string to_text(const Origin& origin) {
  switch (origin.layer) {
    case Layer::built_in: return "built in";
    case Layer::environment: return "environment " + origin.place;
    case Layer::flag: return "flag " + origin.place;
    default: return origin.place;
  }
}

std::string variable_of(std::string_view key) {
  std::string name = "MUSTER_";
  for (const char c : key) name += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

Result<Config> read_config(const ConfigSources& sources) {
  Config config;
  if (sources.cluster)
    config.defaults.push_back({"default", *sources.cluster, {Layer::flag, "--cluster"}, {}});
  // The variable is named like the flag: a person exports MUSTER_CLUSTER, not MUSTER_DEFAULT.
  const auto variable = sources.env.find("MUSTER_CLUSTER");
  if (variable != sources.env.end() && !variable->second.empty())
    config.defaults.push_back(
        {"default", variable->second, {Layer::environment, "MUSTER_CLUSTER"}, {}});
  TRY_VOID(read_environment(sources.env, config));
  if (sources.project) TRY_VOID(FileReader(*sources.project, Layer::project, config).read());
  if (sources.user) TRY_VOID(FileReader(*sources.user, Layer::user, config).read());
  config.defaults.push_back({"default", "local", {}, {}});
  return config;
}

std::string chosen_profile(const Config& config) { return config.defaults.front().value; }

}  // namespace muster::spec
