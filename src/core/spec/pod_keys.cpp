#include "core/spec/pod_keys.hpp"

#include "base/text.hpp"
#include "core/spec/config_keys.hpp"

namespace muster::spec {
namespace {

using Text = std::string_view;

constexpr std::size_t kLongestLabel = 63;
constexpr std::size_t kLongestName = 253;
constexpr std::size_t kLongestImage = 1024;
constexpr Text kEffects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute"};

bool is_lower(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_letter(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }

/// As Kubernetes names objects: a mistake is told here, not when the job should start.
Result<> check_object_name(Text name) {
  const bool is_good = !name.empty() && name.size() <= kLongestName && is_lower(name.front()) &&
                       is_lower(name.back()) && std::all_of(name.begin(), name.end(), [](char c) {
                         return is_lower(c) || c == '-' || c == '.';
                       });
  if (is_good) return {};
  return fail(Kind::usage, fmt::format("\"{}\" cannot name an object", printable(name)),
              "small letters, digits, - and . with a letter or digit at both ends");
}

bool is_label_part(Text text) {
  return text.size() <= kLongestLabel &&
         (text.empty() || (is_letter(text.front()) && is_letter(text.back()))) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_letter(c) || c == '-' || c == '_' || c == '.'; });
}

/// "nvidia.com/gpu", "zone": the name of a label, a taint or a resource.
Result<> check_label_key(Text key) {
  const auto slash = key.find('/');
  const auto name = slash == Text::npos ? key : key.substr(slash + 1);
  const bool is_good = !name.empty() && is_label_part(name) &&
                       (slash == Text::npos || check_object_name(key.substr(0, slash)));
  if (is_good) return {};
  return fail(Kind::usage, fmt::format("\"{}\" cannot name a label", printable(key)),
              "as zone or example.com/zone");
}

Result<> check_label_value(Text value) {
  if (is_label_part(value)) return {};
  return fail(Kind::usage, fmt::format("\"{}\" cannot be a label's value", printable(value)),
              "at most 63 letters, digits, - _ .");
}

Result<> set_object_name(std::string& out, Text value) {
  TRY_VOID(check_object_name(value));
  out = value;
  return {};
}

/// key=value:Effect, key:Effect, key=value, key, or * for everything.
Result<Toleration> parse_toleration(Text text) {
  Toleration made;
  if (text == "*") return made;
  const auto colon = text.rfind(':');
  if (colon != Text::npos) {
    made.effect = text.substr(colon + 1);
    if (std::find(std::begin(kEffects), std::end(kEffects), made.effect) == std::end(kEffects))
      return fail(Kind::usage, fmt::format("no such effect: \"{}\"", printable(made.effect)),
                  "one of: NoSchedule, PreferNoSchedule, NoExecute");
    text = text.substr(0, colon);
  }
  const auto equals = text.find('=');
  made.key = text.substr(0, equals);
  if (equals != Text::npos) made.value = text.substr(equals + 1);
  TRY_VOID(check_label_key(made.key));
  TRY_VOID(check_label_value(made.value));
  return made;
}

/// claim:/path, claim:/path:ro
Result<ClaimMount> parse_volume(Text text) {
  const auto parts = split(text, ':');
  const bool has_mode = parts.size() == 3 && (parts[2] == "ro" || parts[2] == "rw");
  if (parts.size() < 2 || !parts[1].starts_with('/') || (parts.size() > 2 && !has_mode))
    return fail(Kind::usage, fmt::format("not a volume: \"{}\"", printable(text)),
                "write it as CLAIM:/path or CLAIM:/path:ro");
  TRY_VOID(check_object_name(parts[0]));
  // The agent's own folders would be hidden.
  const bool is_ours = parts[1] == "/" || parts[1] == "/muster" || parts[1].starts_with("/muster/");
  if (is_ours)
    return fail(Kind::usage, fmt::format("{} is not free for a volume", parts[1]),
                "choose another path, as /data");
  return ClaimMount{.claim = std::string(parts[0]),
                    .path = std::string(parts[1]),
                    .is_read_only = has_mode && parts[2] == "ro"};
}

/// A map of scalars with these keys and no others, in their order; absent ones are empty.
Result<std::vector<std::string>> values_of(const YamlNode& item, Text file,
                                           const std::vector<std::string>& known) {
  std::vector<std::string> values(known.size());
  for (const auto& [key, value] : item.pairs) {
    const auto at = std::find(known.begin(), known.end(), key.text);
    if (at == known.end()) return unknown_key(file, key, known);
    if (value.kind != YamlKind::scalar)
      return fail_at(file, value, fmt::format("{} must be one value", printable(key.text)));
    values[static_cast<std::size_t>(at - known.begin())] = value.text;
  }
  return values;
}

Result<std::string> toleration_text(const YamlNode& item, Text file) {
  TRY(const auto values, values_of(item, file, {"key", "operator", "value", "effect"}));
  const auto& [key, op, value, effect] = std::tie(values[0], values[1], values[2], values[3]);
  if (!op.empty() && op != "Exists" && op != "Equal")
    return fail_at(file, item, fmt::format("no such operator: \"{}\"", printable(op)),
                   "Exists or Equal");
  if (key.empty() && op == "Exists" && effect.empty()) return std::string("*");
  return fmt::format("{}{}{}{}{}", key, value.empty() ? "" : "=", value, effect.empty() ? "" : ":",
                     effect);
}

Result<std::string> volume_text(const YamlNode& item, Text file) {
  TRY(const auto values, values_of(item, file, {"claim", "path", "mode"}));
  return fmt::format("{}:{}{}{}", values[0], values[1], values[2].empty() ? "" : ":", values[2]);
}

/// Each part of a text with commas.
template <class T>
Result<> set_list(std::vector<T>& out, Text value, Result<T> (*parse)(Text)) {
  out.clear();
  if (trimmed(value).empty()) return {};
  for (const auto part : split(value, ',')) {
    TRY(auto one, parse(trimmed(part)));
    out.push_back(std::move(one));
  }
  return {};
}

}  // namespace

Result<> set_image(std::string& out, Text value) {
  const bool is_good = !value.empty() && value.size() <= kLongestImage && value.front() != '-' &&
                       std::all_of(value.begin(), value.end(), [](char c) {
                         return is_letter(c) || Text("-_./:@+").find(c) != Text::npos;
                       });
  if (!is_good)
    return fail(Kind::usage, fmt::format("\"{}\" is no image", printable(value)),
                "as pytorch/pytorch:2.5.1 or registry.example.com/team/train@sha256:...");
  out = value;
  return {};
}

Result<Spot> parse_spot(Text text) {
  if (const auto spot = named<Spot>(text)) return *spot;
  return fail(Kind::usage, fmt::format("\"{}\" is none of only, prefer, never", printable(text)),
              "only: those nodes alone; prefer: those first; never: others");
}

Result<> set_namespace(Profile& profile, Text, Text value) {
  return set_object_name(profile.pod.name_space, value);
}

Result<> set_pull_secrets(Profile& profile, Text, Text value) {
  return set_list<std::string>(profile.pod.image_pull_secrets, value,
                               [](Text part) -> Result<std::string> {
                                 TRY_VOID(check_object_name(part));
                                 return std::string(part);
                               });
}

Result<> set_service_account(Profile& profile, Text, Text value) {
  return set_object_name(profile.pod.service_account, value);
}

Result<> set_pod_security(Profile& profile, Text, Text value) {
  const auto security = named<PodSecurity>(value);
  if (!security)
    return fail(Kind::usage, fmt::format("no such pod_security: \"{}\"", printable(value)),
                "one of: auto, restricted, baseline, image");
  profile.pod.pod_security = *security;
  return {};
}

Result<> set_node_selector(Profile& profile, Text sub, Text value) {
  TRY_VOID(check_label_key(sub));
  TRY_VOID(check_label_value(value));
  profile.pod.node_selector[std::string(sub)] = value;
  return {};
}

Result<> set_tolerations(Profile& profile, Text, Text value) {
  return set_list(profile.pod.tolerations, value, parse_toleration);
}

Result<> set_priority_class(Profile& profile, Text, Text value) {
  return set_object_name(profile.pod.priority_class, value);
}

Result<> set_shm(Profile& profile, Text, Text value) {
  TRY(profile.pod.shm, parse_bytes(value));
  if (profile.pod.shm < kLeastShm)
    return fail(Kind::usage, fmt::format("{} is less than any program expects", value),
                fmt::format("at least {}", to_text(kLeastShm)));
  return {};
}

Result<> set_gpu_resource(Profile& profile, Text, Text value) {
  TRY_VOID(check_label_key(value));
  profile.pod.gpu_resource = value;
  return {};
}

Result<> set_resources(Profile& profile, Text sub, Text value) {
  TRY_VOID(check_label_key(sub));
  if (sub == "cpu" || sub == "memory")
    return fail(Kind::usage, fmt::format("{} is asked for by each job", sub),
                sub == "cpu" ? "--cpus" : "--memory");
  TRY(profile.pod.resources[std::string(sub)], parse_whole(value, 0, 1'000'000));
  return {};
}

Result<> set_volumes(Profile& profile, Text, Text value) {
  return set_list(profile.pod.volumes, value, parse_volume);
}

/// claim, claim:/folder
Result<> set_store(Profile& profile, Text, Text value) {
  const auto colon = value.find(':');
  CodeStore store{.claim = std::string(value.substr(0, colon)), .folder = {}};
  TRY_VOID(check_object_name(store.claim));
  if (colon != Text::npos) store.folder = value.substr(colon + 1);
  const bool is_folder = store.folder.starts_with('/') && printable(store.folder) == store.folder;
  if (colon != Text::npos && !is_folder)
    return fail(Kind::usage, fmt::format("not a store: \"{}\"", printable(value)),
                "write it as CLAIM, or CLAIM:/FOLDER where this machine sees the same volume");
  profile.pod.store = std::move(store);
  return {};
}

Result<std::string> list_item(Text key, const YamlNode& item, Text file) {
  if (item.kind == YamlKind::map && key == "tolerations") return toleration_text(item, file);
  if (item.kind == YamlKind::map && key == "volumes") return volume_text(item, file);
  if (item.kind != YamlKind::scalar || is_null(item))
    return fail_at(file, item, fmt::format("each of {} must be one value", key));
  if (item.text.find(',') != std::string::npos)
    return fail_at(file, item, fmt::format("one of {} holds a comma", key));
  return item.text;
}

}  // namespace muster::spec
