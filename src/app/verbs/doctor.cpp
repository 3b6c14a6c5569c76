#include <algorithm>
#include <ctime>

#include "app/cli/client.hpp"
#include "app/cli/cluster_look.hpp"
#include "app/cli/files.hpp"
#include "app/cli/findings.hpp"
#include "app/cli/output.hpp"
#include "app/cli/verb.hpp"
#include "core/model/json.hpp"

namespace muster {
namespace {

/// What can be found out without a server.
std::vector<Finding> own_checks(const Context& context, const Result<spec::Config>& config) {
  std::vector<Finding> checks{{"home", "ok", context.paths.state, ""}};
  if (!config)
    checks.push_back(failed("configuration", config.error()));
  else if (config->warnings.empty())
    checks.push_back(
        {"configuration", "ok", fmt::format("profile \"{}\"", spec::chosen_profile(*config)), ""});
  else
    checks.push_back({"configuration", "warn", config->warnings.front(), ""});
  return checks;
}

Result<std::vector<Finding>> ask_server(Context& context, bool is_deep) {
  Call call{.route = "doctor"};
  if (is_deep) call.query.emplace_back("deep", "1");
  TRY(const auto answer, call_again(context, call));
  TRY(const auto document, parse_json(answer));
  const auto* checks = document.is_object() ? field(document.get_object(), "checks") : nullptr;
  if (checks == nullptr) return fail(Kind::corrupt, "the server's answer has no checks");
  return findings_from_json(json::serialize(*checks));
}

/// A server that has just begun, or a profile that is new, needs a moment to look at the cluster.
Result<std::vector<Finding>> server_checks(Context& context, bool is_deep,
                                           const std::string& cluster) {
  constexpr int kTries = 15;
  const auto is_settled = [&](const std::vector<Finding>& checks) {
    return std::any_of(checks.begin(), checks.end(), [&](const Finding& check) {
      return check.name == "cluster " + cluster && check.state == "ok";
    });
  };
  for (int tries = 1;; ++tries) {
    auto checks = ask_server(context, is_deep);
    if (!checks || cluster.empty() || is_settled(*checks) || tries == kTries) return checks;
    const timespec pause{0, 200'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

/// The cluster that -c names, as this person sees it; of this machine there is nothing to add.
std::vector<Finding> cluster_checks(const Context& context, const spec::Profile& profile) {
  const auto look = look_at_cluster(context, profile);
  if (!look) return {failed("cluster", look.error())};
  return findings_of(*look, profile);
}

void add(std::vector<Finding>& all, std::vector<Finding> more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

Result<int> run(Context& context, const Parsed& parsed) {
  const auto config = load_config(context);
  auto checks = own_checks(context, config);
  std::optional<spec::Profile> cluster;
  if (config && context.globals.cluster) {
    TRY(cluster, spec::profile_of(*config, *context.globals.cluster));
    if (cluster->kind != "kube") cluster.reset();
  }
  auto server = server_checks(context, parsed.has("deep"), cluster ? cluster->name : "");
  if (server)
    add(checks, std::move(*server));
  else
    checks.push_back(failed("server", server.error()));
  if (cluster) add(checks, cluster_checks(context, *cluster));
  if (wants_record(context))
    TRY_VOID(print_record(context, fmt::format(R"({{"schema":1,"checks":{}}})", to_json(checks))));
  else
    print_findings(context, checks);
  return is_well(checks) ? 0 : 1;
}

}  // namespace

Verb verb_doctor() {
  return {.name = "doctor",
          .aliases = {},
          .group = "About muster",
          .summary = "Check this machine, the server, or a cluster",
          .usage = "doctor [--deep] [--cluster NAME]",
          .operands = Operands::none,
          .options = {{.name = "deep",
                       .text = "also verify that every stored event agrees with the tables"}},
          .run = run};
}

}  // namespace muster
