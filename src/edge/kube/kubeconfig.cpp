#include "edge/kube/kubeconfig.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "core/spec/yaml.hpp"

namespace muster::kube {
namespace {

using spec::YamlKind;
using spec::YamlNode;

/// One file's text on its way to values: what messages call it, and where its files are.
struct Source {
  const std::string& file;
  std::string folder;

  std::string path(std::string text) const {
    if (text.empty() || text.front() == '/' || folder.empty()) return text;
    return fmt::format("{}/{}", folder, text);
  }
};

std::string folder_of(const std::string& file) {
  const auto slash = file.find_last_of('/');
  return slash == std::string::npos ? "" : file.substr(0, std::max<std::size_t>(slash, 1));
}

const YamlNode* map_at(const YamlNode& map, std::string_view key) {
  const auto* node = map.kind == YamlKind::map ? find(map, key) : nullptr;
  return node != nullptr && node->kind == YamlKind::map ? node : nullptr;
}

/// A scalar's text, whatever it looks like: a token may read like a number.
std::string text_at(const YamlNode& map, std::string_view key) {
  const auto* node = map.kind == YamlKind::map ? find(map, key) : nullptr;
  if (node == nullptr || node->kind != YamlKind::scalar || is_null(*node)) return {};
  return node->text;
}

bool flag_at(const YamlNode& map, std::string_view key) {
  const auto* node = map.kind == YamlKind::map ? find(map, key) : nullptr;
  return node != nullptr && as_bool(*node).value_or(false);
}

Result<std::string> base64_at(const Source& source, const YamlNode& map, std::string_view key) {
  const auto text = text_at(map, key);
  std::string plain;
  for (const char c : text)
    if (c != '\n' && c != '\r' && c != ' ') plain += c;
  auto bytes = from_base64(plain);
  if (!bytes) return fail_at(source.file, *find(map, key), fmt::format("{} is not base64", key));
  return *bytes;
}

std::vector<std::string> texts_at(const YamlNode& map, std::string_view key) {
  std::vector<std::string> texts;
  const auto* list = map.kind == YamlKind::map ? find(map, key) : nullptr;
  if (list == nullptr || list->kind != YamlKind::list) return texts;
  for (const auto& item : list->items)
    if (item.kind == YamlKind::scalar) texts.push_back(item.text);
  return texts;
}

Result<ClusterEntry> read_cluster(const Source& source, std::string name, const YamlNode& node) {
  TRY(auto ca, base64_at(source, node, "certificate-authority-data"));
  return ClusterEntry{.name = std::move(name),
                      .server = text_at(node, "server"),
                      .ca_pem = std::move(ca),
                      .ca_file = source.path(text_at(node, "certificate-authority")),
                      .tls_server_name = text_at(node, "tls-server-name"),
                      .proxy_url = text_at(node, "proxy-url"),
                      .is_insecure = flag_at(node, "insecure-skip-tls-verify")};
}

std::optional<ExecPlugin> read_exec(const Source& source, const YamlNode& user) {
  const auto* node = map_at(user, "exec");
  if (node == nullptr) return std::nullopt;
  ExecPlugin plugin{.api_version = text_at(*node, "apiVersion"),
                    .command = text_at(*node, "command"),
                    .args = texts_at(*node, "args"),
                    .env = {},
                    .install_hint = text_at(*node, "installHint"),
                    .interactive_mode = text_at(*node, "interactiveMode"),
                    .wants_cluster = flag_at(*node, "provideClusterInfo")};
  // A command with a slash is a file beside the config; a bare name is looked up in PATH.
  if (plugin.command.find('/') != std::string::npos) plugin.command = source.path(plugin.command);
  const auto* env = find(*node, "env");
  if (env != nullptr && env->kind == YamlKind::list)
    for (const auto& item : env->items)
      if (item.kind == YamlKind::map)
        plugin.env.emplace_back(text_at(item, "name"), text_at(item, "value"));
  return plugin;
}

Impersonation read_impersonation(const YamlNode& node) {
  Impersonation as{.user = text_at(node, "as"),
                   .uid = text_at(node, "as-uid"),
                   .groups = texts_at(node, "as-groups"),
                   .extra = {}};
  if (const auto* extra = map_at(node, "as-user-extra"))
    for (const auto& pair : extra->pairs)
      for (const auto& value : texts_at(*extra, pair.key.text))
        as.extra.emplace_back(pair.key.text, value);
  return as;
}

Result<UserEntry> read_user(const Source& source, std::string name, const YamlNode& node) {
  UserEntry user{.name = std::move(name)};
  TRY(user.cert_pem, base64_at(source, node, "client-certificate-data"));
  TRY(user.key_pem, base64_at(source, node, "client-key-data"));
  user.cert_file = source.path(text_at(node, "client-certificate"));
  user.key_file = source.path(text_at(node, "client-key"));
  user.token = text_at(node, "token");
  user.token_file = source.path(text_at(node, "tokenFile"));
  user.username = text_at(node, "username");
  user.password = text_at(node, "password");
  user.exec = read_exec(source, node);
  if (const auto* provider = map_at(node, "auth-provider"))
    user.auth_provider = text_at(*provider, "name");
  user.as = read_impersonation(node);
  return user;
}

Result<ContextEntry> read_context(const Source&, std::string name, const YamlNode& node) {
  return ContextEntry{.name = std::move(name),
                      .cluster = text_at(node, "cluster"),
                      .user = text_at(node, "user"),
                      .space = text_at(node, "namespace")};
}

/// A list of {name: N, KEY: {...}}; of two entries of one name the first counts.
template <class Entry>
Result<> read_entries(const Source& source, const YamlNode& root, std::string_view list_key,
                      std::string_view key,
                      Result<Entry> (*read)(const Source&, std::string, const YamlNode&),
                      std::vector<Entry>& into) {
  const auto* list = find(root, list_key);
  if (list == nullptr || (list->kind == YamlKind::scalar && is_null(*list))) return {};
  if (list->kind != YamlKind::list)
    return fail_at(source.file, *list, fmt::format("\"{}\" is not a list", list_key));
  static const YamlNode kNothing{.kind = YamlKind::map};
  for (const auto& item : list->items) {
    auto name = text_at(item, "name");
    if (name.empty())
      return fail_at(source.file, item, fmt::format("an entry of \"{}\" has no name", list_key));
    const auto* body = map_at(item, key);
    TRY(auto entry, read(source, name, body != nullptr ? *body : kNothing));
    const auto is_same = [&](const Entry& other) { return other.name == name; };
    if (std::none_of(into.begin(), into.end(), is_same)) into.push_back(std::move(entry));
  }
  return {};
}

template <class Entry>
const Entry* named(const std::vector<Entry>& entries, const std::string& name) {
  for (const auto& entry : entries)
    if (entry.name == name) return &entry;
  return nullptr;
}

template <class Entry>
void add_missing(std::vector<Entry>& into, std::vector<Entry>& from) {
  for (auto& entry : from)
    if (named(into, entry.name) == nullptr) into.push_back(std::move(entry));
}

template <class Entry>
tl::unexpected<Error> no_entry(std::string_view what, const std::string& name,
                               const std::vector<Entry>& entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) names.push_back(entry.name);
  std::string fix = names.empty() ? std::string("set KUBECONFIG to the cluster's file")
                                  : fmt::format("there are: {}", join(names, ", "));
  if (const auto near = nearest(name, names)) fix = fmt::format("did you mean \"{}\"?", *near);
  return fail(Kind::not_found,
              fmt::format("the kubeconfig has no {} \"{}\"", what, printable(name)),
              std::move(fix));
}

}  // namespace

Result<Kubeconfig> parse_kubeconfig(std::string_view text, const std::string& file) {
  TRY(const auto root, spec::parse_yaml(text, file));
  if (root.kind == YamlKind::scalar && is_null(root)) return Kubeconfig{};
  if (root.kind != YamlKind::map) return fail_at(file, root, "this is not a kubeconfig");
  const auto kind = text_at(root, "kind");
  if (!kind.empty() && kind != "Config")
    return fail_at(file, root, fmt::format("this is a {}, not a kubeconfig", printable(kind)));
  const Source source{.file = file, .folder = folder_of(file)};
  Kubeconfig config{.current_context = text_at(root, "current-context")};
  TRY_VOID(read_entries(source, root, "clusters", "cluster", read_cluster, config.clusters));
  TRY_VOID(read_entries(source, root, "users", "user", read_user, config.users));
  TRY_VOID(read_entries(source, root, "contexts", "context", read_context, config.contexts));
  return config;
}

Kubeconfig merged(Kubeconfig first, Kubeconfig second) {
  if (first.current_context.empty()) first.current_context = std::move(second.current_context);
  add_missing(first.clusters, second.clusters);
  add_missing(first.users, second.users);
  add_missing(first.contexts, second.contexts);
  return first;
}

Result<Target> target_of(const Kubeconfig& config, const std::string& context) {
  const auto& wanted = context.empty() ? config.current_context : context;
  if (wanted.empty())
    return fail(Kind::usage, "the kubeconfig names no current context",
                "choose one: kubectl config use-context NAME");
  const auto* found = named(config.contexts, wanted);
  if (found == nullptr) return no_entry("context", wanted, config.contexts);
  const auto* cluster = named(config.clusters, found->cluster);
  if (cluster == nullptr) return no_entry("cluster", found->cluster, config.clusters);
  Target target{.context = wanted, .cluster = *cluster, .user = {}, .space = found->space};
  if (target.space.empty()) target.space = "default";
  if (found->user.empty()) return target;
  const auto* user = named(config.users, found->user);
  if (user == nullptr) return no_entry("user", found->user, config.users);
  target.user = *user;
  return target;
}

}  // namespace muster::kube
