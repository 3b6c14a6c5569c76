#include "core/spec/config_keys.hpp"

#include "base/text.hpp"
#include "core/spec/pod_keys.hpp"

namespace muster::spec {
namespace {

using Text = std::string_view;

Result<> whole(int& out, Text value, int low, int high) {
  TRY(const auto number, parse_whole(value, low, high));
  out = static_cast<int>(number);
  return {};
}

Result<> whole(std::optional<int>& out, Text value, int low, int high) {
  return whole(out.emplace(), value, low, high);
}

Result<> word(std::string& out, Text value) {
  if (value.empty()) return fail(Kind::usage, "it is empty", "remove it, or give it a value");
  if (printable(value) != value) return fail(Kind::usage, "it has unprintable characters");
  out = value;
  return {};
}

Result<> set_kind(Profile& profile, Text, Text value) {
  if (value != "local" && value != "kube" && value != "azureml")
    return fail(Kind::usage, fmt::format("no such kind: \"{}\"", printable(value)),
                "one of: local, kube, azureml");
  profile.kind = value;
  return {};
}

Result<> set_env(Profile& profile, Text sub, Text value) {
  if (sub.empty() || sub.find('=') != Text::npos)
    return fail(Kind::usage, fmt::format("\"{}\" cannot name a variable", printable(sub)));
  profile.env[std::string(sub)] = value;
  return {};
}

Result<> set_retries(Profile& profile, Text sub, Text value) {
  auto& retries = profile.retries;
  if (sub == "user") return whole(retries.user, value, 0, kMaxRetries);
  if (sub == "infra") return whole(retries.infrastructure, value, 0, kMaxRetries);
  if (sub == "memory") return whole(retries.memory, value, 0, kMaxRetries);
  if (sub == "hang") return whole(retries.hang, value, 0, kMaxRetries);
  const std::vector<std::string> known{"user", "infra", "memory", "hang"};
  const auto near = nearest(sub, known);
  return fail(
      Kind::usage, fmt::format("no such budget: \"{}\"", printable(sub)),
      near ? fmt::format("did you mean \"{}\"?", *near) : "one of: user, infra, memory, hang");
}

Result<> set_duration(Duration& out, Text value) {
  TRY(out, parse_duration(value));
  return {};
}

Result<> set_code(Profile& profile, Text, Text value) {
  if (value != "snapshot" && value != "here")
    return fail(Kind::usage, fmt::format("\"{}\" is neither snapshot nor here", printable(value)),
                "snapshot: run what stands there now; here: run in place");
  profile.runs_here = value == "here";
  return {};
}

Result<> set_keep(Profile& profile, Text, Text value) {
  TRY(profile.keep, parse_keep(value));
  return {};
}

// Rows without a function are keys of later versions: known, so that a profile written for them
// loads, and warned about, so that nobody believes that they do something.
constexpr ConfigKey kKeys[] = {
    {"_base_", KeyShape::scalar, [](Profile&, Text, Text) { return Result<>(); }},
    {"kind", KeyShape::scalar, set_kind},
    {"nodes", KeyShape::list, [](Profile&, Text, Text) { return Result<>(); }},
    {"env", KeyShape::map, set_env},
    {"queue", KeyShape::scalar, [](Profile& p, Text, Text v) { return word(p.queue, v); }},
    {"priority", KeyShape::scalar,
     [](Profile& p, Text, Text v) { return whole(p.priority, v, -kMaxPriority, kMaxPriority); }},
    {"gpus", KeyShape::scalar,
     [](Profile& p, Text, Text v) { return whole(p.gpus, v, 0, kMaxNodes * kMaxGpusPerNode); }},
    {"gpus_per_node", KeyShape::scalar,
     [](Profile& p, Text, Text v) { return whole(p.gpus_per_node, v, 0, kMaxGpusPerNode); }},
    {"time_limit", KeyShape::scalar,
     [](Profile& p, Text, Text v) { return set_duration(p.time_limit, v); }},
    {"grace", KeyShape::scalar, [](Profile& p, Text, Text v) { return set_duration(p.grace, v); }},
    {"retries", KeyShape::map, set_retries},
    {"code", KeyShape::scalar, set_code},
    {"keep", KeyShape::scalar, set_keep},
    {"setup", KeyShape::scalar,
     [](Profile& p, Text, Text v) {
       p.setup = v;
       return Result<>();
     }},
    {"requirements", KeyShape::scalar,
     [](Profile& p, Text, Text v) {
       p.requirements = v;
       return Result<>();
     }},
    {"context", KeyShape::scalar, [](Profile& p, Text, Text v) { return word(p.context, v); }},
    {"patience", KeyShape::scalar,
     [](Profile& p, Text, Text v) { return set_duration(p.patience, v); }},
    {"gang_patience", KeyShape::scalar,
     [](Profile& p, Text, Text v) { return set_duration(p.gang_patience, v); }},
    {"kubeconfig", KeyShape::scalar,
     [](Profile& p, Text, Text v) { return word(p.kubeconfig, v); }},
    {"namespace", KeyShape::scalar, set_namespace},
    {"image", KeyShape::scalar, [](Profile& p, Text, Text v) { return set_image(p.pod.image, v); }},
    {"agent_image", KeyShape::scalar,
     [](Profile& p, Text, Text v) { return set_image(p.pod.agent_image, v); }},
    {"image_pull_secrets", KeyShape::list, set_pull_secrets},
    {"service_account", KeyShape::scalar, set_service_account},
    {"pod_security", KeyShape::scalar, set_pod_security},
    {"node_selector", KeyShape::map, set_node_selector},
    {"tolerations", KeyShape::list, set_tolerations},
    {"spot", KeyShape::scalar,
     [](Profile& p, Text, Text v) -> Result<> {
       TRY(p.pod.spot, parse_spot(v));
       return {};
     }},
    {"priority_class", KeyShape::scalar, set_priority_class},
    {"shm", KeyShape::scalar, set_shm},
    {"gpu_resource", KeyShape::scalar, set_gpu_resource},
    {"resources", KeyShape::map, set_resources},
    {"volumes", KeyShape::list, set_volumes},
    {"store", KeyShape::scalar, set_store},
    {"server"},
    {"engine"},
    {"imds"},
    {"folders", KeyShape::map},
    {"shapes"},
    {"price"},
};

constexpr Text kNodeKeys[] = {"name", "count", "cpus", "memory", "gpus", "labels", "spot"};

Result<> read_labels(NodeGroup& group, const YamlNode& value, Text file) {
  if (value.kind != YamlKind::map)
    return fail_at(file, value, "labels must be a map", "write it as labels: {zone: a}");
  for (const auto& pair : value.pairs) {
    if (pair.value.kind != YamlKind::scalar)
      return fail_at(file, pair.value, fmt::format("label {} must be text", pair.key.text));
    group.labels[pair.key.text] = pair.value.text;
  }
  return {};
}

Result<> read_node_value(NodeGroup& group, Text key, const YamlNode& value) {
  if (key == "name") return word(group.name, value.text);
  if (key == "count") return whole(group.count, value.text, 1, kMaxNodes);
  if (key == "gpus") return whole(group.gpus, value.text, 0, kMaxGpusPerNode);
  if (key == "cpus") {
    TRY(const auto cpus, parse_cpus(value.text));
    if (cpus.count <= 0) return fail(Kind::usage, "a node needs more than 0 cpus");
    group.cpus = cpus;
  } else if (key == "memory") {
    TRY(group.memory, parse_bytes(value.text));
  } else if (key == "spot") {
    const auto flag = as_bool(value);
    if (!flag) return fail(Kind::usage, "it must be true or false");
    group.is_spot = *flag;
  }
  return {};
}

}  // namespace

Result<Keep> parse_keep(std::string_view text) {
  if (const auto keep = named<Keep>(text)) return *keep;
  return fail(Kind::usage, fmt::format("\"{}\" is none of all, outputs, none", printable(text)),
              "all: what the job wrote; outputs: MUSTER_OUTPUT_DIR only; none: neither");
}

std::span<const ConfigKey> profile_keys() { return kKeys; }

const ConfigKey* key_of(std::string_view key) {
  const auto head = key.substr(0, key.find('.'));
  for (const auto& row : kKeys)
    if (row.name == head && (row.shape == KeyShape::map || head == key)) return &row;
  return nullptr;
}

std::vector<Setting> built_in_settings() {
  const std::pair<const char*, const char*> rows[] = {
      {"kind", "local"},
      {"queue", "default"},
      {"priority", "0"},
      {"time_limit", "0"},
      {"grace", "30s"},
      {"retries.user", "0"},
      {"retries.infra", "5"},
      {"retries.memory", "0"},
      {"retries.hang", "1"},
      {"code", "snapshot"},
      {"keep", "all"},
      {"pod_security", "auto"},
      {"gpu_resource", "nvidia.com/gpu"},
  };
  std::vector<Setting> settings;
  for (const auto& [key, value] : rows) settings.push_back({key, value, {}, {}});
  return settings;
}

Result<> apply(Profile& profile, const Setting& setting) {
  const ConfigKey* row = key_of(setting.key);
  if (row == nullptr || row->apply == nullptr) return {};
  if (row->name == "nodes") {
    profile.nodes = setting.nodes;
    return {};
  }
  const auto dot = setting.key.find('.');
  const auto sub = dot == std::string::npos ? Text() : Text(setting.key).substr(dot + 1);
  return row->apply(profile, sub, setting.value);
}

Result<NodeGroup> read_node_group(const YamlNode& node, std::string_view file) {
  if (node.kind != YamlKind::map)
    return fail_at(file, node, "each of nodes must be a map",
                   "write it as nodes: [{name: gpu, count: 2, cpus: 8, memory: 64G, gpus: 4}]");
  NodeGroup group;
  const std::vector<std::string> known(std::begin(kNodeKeys), std::end(kNodeKeys));
  for (const auto& [key, value] : node.pairs) {
    if (std::find(known.begin(), known.end(), key.text) == known.end())
      return unknown_key(file, key, known);
    if (key.text == "labels") {
      TRY_VOID(read_labels(group, value, file));
      continue;
    }
    if (value.kind != YamlKind::scalar)
      return fail_at(file, value, fmt::format("{} must be one value", key.text));
    auto read = read_node_value(group, key.text, value);
    if (!read) {
      auto error = std::move(read).error();
      error.what = fmt::format("{}: {}", key.text, error.what);
      error.where = place_of(file, value);
      return tl::unexpected<Error>(std::move(error));
    }
  }
  if (group.name.empty()) return fail_at(file, node, "a node without a name", "add name: NAME");
  return group;
}

tl::unexpected<Error> unknown_key(std::string_view file, const YamlNode& key,
                                  std::span<const std::string> known) {
  const auto near = nearest(key.text, known);
  return fail_at(file, key, fmt::format("unknown key \"{}\"", printable(key.text)),
                 near ? fmt::format("did you mean \"{}\"?", *near)
                      : fmt::format("known keys: {}", join(known, ", ")));
}

}  // namespace muster::spec
