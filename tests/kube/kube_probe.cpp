// The Kubernetes client on a command line, so that a test in any language can drive it against a
// real server. Not for people: no help, and words in a fixed order.
//
//   kube_probe KUBECONFIG NAMESPACE VERB [WORDS...]
//
// A kind of objects is written PLURAL.VERSION[.GROUP]: pods.v1, jobs.v1.batch. Objects are read
// from stdin. Errors go to stderr as "KIND CODE REASON what"; the exit code is 1 then, and a
// command's own in `exec`.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>

#include "base/text.hpp"
#include "core/model/json.hpp"
#include "edge/kube/access.hpp"
#include "edge/kube/discovery.hpp"
#include "edge/kube/exec.hpp"
#include "edge/kube/json_scope.hpp"
#include "edge/kube/list.hpp"
#include "edge/kube/pod_log.hpp"
#include "edge/kube/port_forward.hpp"
#include "edge/kube/watch.hpp"

extern char** environ;

namespace muster::kube {
namespace {

using Words = std::vector<std::string>;

struct Probe {
  std::shared_ptr<Cluster> cluster;
  std::string space;
  Words words;

  std::string word(std::size_t at) const { return at < words.size() ? words[at] : ""; }
};

void say(const std::string& line) {
  std::fwrite((line + "\n").data(), 1, line.size() + 1, stdout);
  std::fflush(stdout);
}

Resource resource_of(const std::string& text) {
  const auto first = text.find('.');
  const auto second = text.find('.', first + 1);
  const auto end = second == std::string::npos ? text.size() : second;
  return {.group = second == std::string::npos ? "" : text.substr(second + 1),
          .version = text.substr(first + 1, end - first - 1),
          .plural = text.substr(0, first)};
}

std::string standard_input() { return {std::istreambuf_iterator<char>(std::cin), {}}; }

std::string name_of(const json::object& object) {
  const auto& metadata = object_at(object, "metadata");
  return fmt::format("{}/{} {}", text_at(metadata, "namespace"), text_at(metadata, "name"),
                     text_at(metadata, "resourceVersion"));
}

ApiResult<int> get(Probe& probe) {
  Api api(probe.cluster);
  API_TRY(const auto text, api.get({resource_of(probe.word(0)), probe.space, probe.word(1)}));
  say(text);
  return 0;
}

/// list KIND [SELECTOR [PAGE]]: a line an item, then the count and the largest memory in KiB.
ApiResult<int> list_items(Probe& probe) {
  Api api(probe.cluster);
  const ListSink sink{.begin = [] { say("begin"); },
                      .item = [](const json::object& item) { say("+ " + name_of(item)); }};
  const int page = probe.word(2).empty() ? kPage : std::stoi(probe.word(2));
  API_TRY(const auto listed, list(api, {resource_of(probe.word(0)), probe.space},
                                  {.labels = probe.word(1)}, sink, page));
  say(fmt::format("listed {} at {}", listed.items, listed.version));
  return 0;
}

/// watch KIND [SELECTOR [list]]: a line an event, until it is killed.
ApiResult<int> watch(Probe& probe) {
  Api api(probe.cluster);
  WatchOptions options{.selection = {.labels = probe.word(1)}};
  options.is_streaming_list = probe.word(2) != "list";
  follow(api, {resource_of(probe.word(0)), probe.space}, options,
         {.begin = [] { say("begin"); },
          .change =
              [](Change change, const json::object& object) {
                const char* sign = change == Change::added      ? "+ "
                                   : change == Change::modified ? "* "
                                                                : "- ";
                say(sign + name_of(object));
              },
          .synced = [] { say("synced"); },
          .trouble = [](const ApiError& error) { say("! " + to_line(error)); }});
  return 0;
}

ApiResult<int> create(Probe& probe) {
  Api api(probe.cluster);
  const auto run = probe.word(1) == "dry" ? Run::dry : Run::real;
  API_TRY(const auto made, api.create({resource_of(probe.word(0)), probe.space}, standard_input(),
                                      {.run = run, .content_type = "application/yaml"}));
  say(made.is_new ? made.object : "exists");
  return 0;
}

ApiResult<int> apply(Probe& probe) {
  Api api(probe.cluster);
  API_TRY(const auto text,
          api.apply({resource_of(probe.word(0)), probe.space, probe.word(1)}, standard_input()));
  say(text);
  return 0;
}

ApiResult<int> patch(Probe& probe) {
  Api api(probe.cluster);
  API_TRY(const auto text, api.patch({resource_of(probe.word(0)), probe.space, probe.word(1)},
                                     PatchKind::merge, standard_input()));
  say(text);
  return 0;
}

ApiResult<int> remove(Probe& probe) {
  Api api(probe.cluster);
  API_TRY(const auto was_there, api.remove({resource_of(probe.word(0)), probe.space, probe.word(1)},
                                           {.uid = probe.word(2), .grace_seconds = 0}));
  say(was_there ? "removed" : "absent");
  return 0;
}

/// logs POD CONTAINER now|end
ApiResult<int> logs(Probe& probe) {
  Api api(probe.cluster);
  LogOptions options;
  options.until = probe.word(2) == "now" ? Until::now : Until::end;
  API_TRY_VOID(
      read_log(api, {probe.space, probe.word(0), probe.word(1)}, options, [](const LogLine& line) {
        std::fwrite(line.text.data(), 1, line.text.size(), stdout);
        if (line.has_newline) std::fputc('\n', stdout);
        return std::fflush(stdout) == 0;
      }));
  return 0;
}

/// exec POD CONTAINER in|none COMMAND...
ApiResult<int> run_command(Probe& probe) {
  const ExecRequest request{.space = probe.space,
                            .pod = probe.word(0),
                            .container = probe.word(1),
                            .argv = {probe.words.begin() + 3, probe.words.end()}};
  return exec(*probe.cluster, request,
              {.in = probe.word(2) == "in" ? STDIN_FILENO : -1,
               .out = [](std::string_view b) { std::fwrite(b.data(), 1, b.size(), stdout); },
               .err = [](std::string_view b) { std::fwrite(b.data(), 1, b.size(), stderr); }});
}

/// port-forward POD PORT: prints the local port; ends with its input.
ApiResult<int> forward(Probe& probe) {
  API_TRY(const auto forwarding,
          PortForward::open(probe.cluster, {probe.space, probe.word(0),
                                            static_cast<std::uint16_t>(std::stoi(probe.word(1)))}));
  say(std::to_string(forwarding->port()));
  (void)standard_input();
  if (const auto trouble = forwarding->last_trouble(); !trouble.empty()) say("! " + trouble);
  return 0;
}

ApiResult<int> discover_all(Probe& probe) {
  Api api(probe.cluster);
  API_TRY(const auto version, server_version(api));
  say(fmt::format("version {}.{} {}", version.major, version.minor, version.text));
  API_TRY(const auto found, discover(api));
  for (const auto& known : found.resources)
    say(fmt::format("{} {} {} {} {}", known.resource.plural, known.resource.version,
                    known.resource.group.empty() ? "-" : known.resource.group, known.kind,
                    known.is_namespaced ? "namespaced" : "cluster"));
  return 0;
}

/// can-i VERB KIND [PART]
ApiResult<int> can_i(Probe& probe) {
  Api api(probe.cluster);
  API_TRY(const auto permission, may(api, {.verb = probe.word(0),
                                           .resource = resource_of(probe.word(1)),
                                           .part = probe.word(2),
                                           .space = probe.space}));
  say(permission.is_allowed ? "yes" : "no");
  return 0;
}

ApiResult<int> rules(Probe& probe) {
  Api api(probe.cluster);
  API_TRY(const auto found, access_rules(api, probe.space));
  for (const auto& rule : found.rules)
    say(fmt::format("{} on {}", join(rule.verbs, ","), join(rule.resources, ",")));
  return 0;
}

const std::map<std::string, ApiResult<int> (*)(Probe&)> kVerbs{
    {"get", get},
    {"list", list_items},
    {"watch", watch},
    {"create", create},
    {"apply", apply},
    {"patch", patch},
    {"delete", remove},
    {"logs", logs},
    {"exec", run_command},
    {"port-forward", forward},
    {"discover", discover_all},
    {"can-i", can_i},
    {"rules", rules},
};

ApiResult<int> run(Words words) {
  if (words.size() < 3 || !kVerbs.contains(words[2]))
    return tl::unexpected(ApiError(fail(Kind::usage, "KUBECONFIG NAMESPACE VERB [WORDS]").value()));
  Environment env;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    env.emplace(text.substr(0, text.find('=')), text.substr(text.find('=') + 1));
  }
  API_TRY(auto target, load({.path = words[0], .env = env}));
  Probe probe{.space = words[1] == "-" ? "" : words[1], .words = {words.begin() + 3, words.end()}};
  API_TRY(probe.cluster,
          Cluster::open(std::move(target), {.patience = std::chrono::seconds(20), .env = env}));
  return kVerbs.at(words[2])(probe);
}

}  // namespace
}  // namespace muster::kube

int main(int argc, char** argv) {
  const auto code = muster::kube::run({argv + 1, argv + argc});
  if (code) return *code;
  const auto& error = code.error();
  std::cerr << fmt::format("{} {} {} {}\n", muster::row_of(error.kind).name, error.code,
                           error.reason.empty() ? "-" : error.reason, muster::to_line(error));
  return 1;
}
