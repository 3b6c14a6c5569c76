#include "app/cli/attach.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <climits>
#include <cstdlib>

#include "app/cli/cluster_look.hpp"
#include "app/cli/output.hpp"
#include "base/text.hpp"
#include "core/model/json.hpp"
#include "core/spec/config_edit.hpp"
#include "edge/fs/files.hpp"
#include "edge/fs/own_folder.hpp"
#include "edge/fs/parent.hpp"

namespace muster {
namespace {

/// A kubeconfig that only this shell names is written down: the server may have another shell.
Result<std::string> kubeconfig_of(const Context& context, const AttachOptions& options) {
  auto path = options.kubeconfig;
  if (const auto found = context.env.find("KUBECONFIG"); path.empty() && found != context.env.end())
    path = found->second;
  if (path.find(':') != std::string::npos && options.kubeconfig.empty())
    return fail(Kind::usage, "$KUBECONFIG names several files; a profile names one",
                "kubectl config view --flatten > FILE, then --kubeconfig FILE");
  if (path.empty() || path.starts_with('/')) return path;
  return context.dir + "/" + path;
}

std::string text_of(const spec::Profile& profile, const std::string& key) {
  if (key == "kind") return profile.kind;
  if (key == "context") return profile.context;
  if (key == "kubeconfig") return profile.kubeconfig;
  if (key == "namespace") return profile.pod.name_space;
  if (key == "image") return profile.pod.image;
  if (key == "agent_image") return profile.pod.agent_image;
  if (key == "gpus_per_node")
    return profile.gpus_per_node ? std::to_string(*profile.gpus_per_node) : "";
  const bool is_usual = profile.pod.gpu_resource == PodSettings{}.gpu_resource;
  return is_usual ? "" : profile.pod.gpu_resource;
}

spec::NewProfile lines_of(const spec::Profile& profile) {
  spec::NewProfile lines{.name = profile.name, .values = {}};
  for (const char* key : {"kind", "context", "kubeconfig", "namespace", "image", "agent_image",
                          "gpus_per_node", "gpu_resource"})
    if (auto value = text_of(profile, key); !value.empty())
      lines.values.emplace_back(key, std::move(value));
  return lines;
}

/// What the nodes say about GPUs, where it is the same for all.
void learn_gpus(spec::Profile& profile, const kube::Survey& survey) {
  if (!survey.nodes) return;
  const auto resource = gpu_resource_of(*survey.nodes);
  if (resource.empty()) return;
  profile.pod.gpu_resource = resource;
  if (const int each = gpus_per_node_of(*survey.nodes, resource); each > 0)
    profile.gpus_per_node = each;
}

/// The file itself where the path is a link: people keep their settings elsewhere.
std::string real_path(const std::string& path) {
  char found[PATH_MAX];
  return ::realpath(path.c_str(), found) == nullptr ? path : found;
}

struct File {
  std::string path;
  std::string text;
  unsigned mode = 0600;
};

Result<File> read_config_file(const Context& context) {
  File file{.path = real_path(context.paths.config_file), .text = {}};
  auto text = fs::read_file(file.path, spec::YamlLimits{}.bytes);
  if (!text && text.error().kind != Kind::not_found)
    return tl::unexpected<Error>(std::move(text).error());
  struct stat about{};
  if (text && ::stat(file.path.c_str(), &about) == 0) file.mode = about.st_mode & 07777;
  file.text = text.value_or("");
  return file;
}

Result<> write_config_file(const Context& context, const File& file, std::string_view text) {
  // A home that begins with this file is ours from the beginning, and closed to others.
  if (file.path.starts_with(context.paths.state + "/"))
    TRY_VOID(fs::claim_folder(context.paths.state, "server.lock"));
  TRY_VOID(fs::make_dirs(fs::parent_of(file.path)));
  return fs::write_durably(file.path, text, file.mode);
}

json::array nodes_json(const std::vector<kube::SurveyedNode>& nodes) {
  json::array all;
  for (const auto& node : nodes) {
    json::object devices;
    for (const auto& [name, count] : node.devices) devices[name] = count;
    json::array taints;
    for (const auto& taint : node.taints) taints.push_back(bytes_to_json(taint));
    json::object one{{"name", bytes_to_json(node.name)},
                     {"type", bytes_to_json(node.type)},
                     {"zone", bytes_to_json(node.zone)},
                     {"cpus", real_to_json(static_cast<double>(node.cpus.count) / 1000)},
                     {"memory", node.memory.count},
                     {"ready", node.is_ready},
                     {"open", node.is_open},
                     {"spot", node.is_spot}};
    one["devices"] = std::move(devices);
    one["taints"] = std::move(taints);
    all.push_back(std::move(one));
  }
  return all;
}

/// What is told, in either form.
struct Report {
  const ClusterLook& look;
  const std::vector<Finding>& findings;
  std::string profile;  // as it is, or would be, in the file
  std::string written;  // the file; empty: none
};

Result<> print_report_record(Context& context, const std::string& name, const Report& report) {
  json::object out{{"schema", 1},
                   {"cluster", bytes_to_json(name)},
                   {"context", bytes_to_json(report.look.context)},
                   {"server", bytes_to_json(report.look.server)},
                   {"version", bytes_to_json(report.look.survey.version.text)},
                   {"namespace", bytes_to_json(report.look.space)}};
  TRY(out["checks"], parse_json(to_json(report.findings)));
  const auto& nodes = report.look.survey.nodes;
  out["nodes"] = nodes ? json::value(nodes_json(*nodes)) : json::value(nullptr);
  out["profile"] = bytes_to_json(report.profile);
  out["written"] = report.written.empty() ? json::value(nullptr) : bytes_to_json(report.written);
  return print_record(context, json::serialize(out));
}

Result<> print_report(Context& context, const AttachOptions& options, const Report& report) {
  if (wants_record(context)) return print_report_record(context, options.name, report);
  print_findings(context, report.findings);
  if (const auto& nodes = report.look.survey.nodes; nodes && !nodes->empty())
    print_table(context, nodes_table(*nodes));
  if (options.is_dry) context.out->write(report.profile);
  if (options.is_dry)
    say(context, "nothing is written");
  else if (report.written.empty())
    say(context, "nothing is written: mend what fails, or write it all the same: --force");
  else
    say(context, fmt::format("written to {}   use it: muster submit -c {} COMMAND",
                             printable(report.written), printable(options.name)));
  return {};
}

Result<> check_name(const std::string& name) {
  if (name == "local") return fail(Kind::usage, "\"local\" is this machine", "choose another name");
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  };
  // It stands in command lines, in a label and in the name of a folder.
  if (name.empty() || name.size() > 63 || !std::all_of(name.begin(), name.end(), is_plain) ||
      std::isalnum(static_cast<unsigned char>(name.front())) == 0)
    return fail(Kind::usage, fmt::format("\"{}\" cannot name a cluster", printable(name)),
                "use letters, digits, - _ . and begin with one of the first two");
  return {};
}

}  // namespace

Result<int> attach_cluster(Context& context, const AttachOptions& options) {
  TRY_VOID(check_name(options.name));
  spec::Profile profile;
  profile.name = options.name;
  profile.kind = "kube";
  profile.context = options.context;
  profile.pod.name_space = options.space;
  profile.pod.image = options.image;
  profile.pod.agent_image = options.agent_image;
  TRY(profile.kubeconfig, kubeconfig_of(context, options));
  TRY(const auto file, read_config_file(context));
  const auto existing = options.is_forced ? spec::Existing::replace : spec::Existing::refuse;
  // Before the cluster is asked: a name that is taken is told at once.
  TRY_VOID(spec::with_profile(file.text, file.path, lines_of(profile), existing));
  TRY(const auto look, look_at_cluster(context, profile));
  profile.context = look.context;
  profile.pod.name_space = look.space;
  learn_gpus(profile, look.survey);
  const auto findings = findings_of(look, profile);
  const auto lines = lines_of(profile);
  TRY(const auto text, spec::with_profile(file.text, file.path, lines, existing));
  const bool is_fit = is_well(findings) || options.is_forced;
  const bool is_written = is_fit && !options.is_dry;
  if (is_written) TRY_VOID(write_config_file(context, file, text));
  TRY_VOID(print_report(context, options,
                        {.look = look,
                         .findings = findings,
                         .profile = "clusters:\n" + spec::profile_lines(lines, 2),
                         .written = is_written ? file.path : ""}));
  return is_fit ? 0 : 1;
}

}  // namespace muster
