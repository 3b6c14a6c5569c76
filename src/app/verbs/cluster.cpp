#include "app/cli/attach.hpp"
#include "app/cli/documents.hpp"
#include "app/cli/files.hpp"
#include "app/cli/output.hpp"
#include "app/cli/verb.hpp"
#include "base/text.hpp"
#include "core/model/json.hpp"
#include "core/render/roles.hpp"

namespace muster {
namespace {

using Words = std::span<const std::string>;

Result<int> attach(Context& context, const Parsed& parsed, Words words) {
  if (words.size() != 1)
    return fail(Kind::usage, "attach needs one name: what jobs will call the cluster",
                "muster cluster attach [--context CONTEXT] NAME");
  return attach_cluster(context, {.name = words.front(),
                                  .context = parsed.value("context").value_or(""),
                                  .kubeconfig = parsed.value("kubeconfig").value_or(""),
                                  .space = parsed.value("namespace").value_or(""),
                                  .image = parsed.value("image").value_or(""),
                                  .agent_image = parsed.value("agent-image").value_or(""),
                                  .is_forced = parsed.has("force"),
                                  .is_dry = parsed.has("dry-run")});
}

struct Row {
  spec::Profile profile;
  bool is_default = false;
};

std::string record_of(const std::vector<Row>& rows) {
  json::array all;
  for (const auto& [profile, is_default] : rows)
    all.push_back(json::object{{"name", bytes_to_json(profile.name)},
                               {"kind", profile.kind},
                               {"context", bytes_to_json(profile.context)},
                               {"kubeconfig", bytes_to_json(profile.kubeconfig)},
                               {"namespace", bytes_to_json(profile.pod.name_space)},
                               {"image", bytes_to_json(profile.pod.image)},
                               {"default", is_default}});
  json::object out{{"schema", 1}};
  out["clusters"] = std::move(all);
  return json::serialize(out);
}

Table table_of(const std::vector<Row>& rows) {
  const auto cell = [](const std::string& text) { return text.empty() ? "-" : printable(text); };
  Table table;
  table.columns = {{.title = "NAME"},      {.title = "KIND"},  {.title = "CONTEXT"},
                   {.title = "NAMESPACE"}, {.title = "IMAGE"}, {.title = "DEFAULT"}};
  for (const auto& [profile, is_default] : rows)
    table.rows.push_back({cell(profile.name), profile.kind, cell(profile.context),
                          cell(profile.pod.name_space), cell(profile.pod.image),
                          is_default ? "yes" : "no"});
  return table;
}

Result<int> list(Context& context, const Parsed&, Words words) {
  if (!words.empty()) return fail(Kind::usage, "list takes no more words", "muster cluster list");
  TRY(const auto config, load_config(context));
  const auto chosen = spec::chosen_profile(config);
  std::vector<Row> rows;
  for (const auto& name : spec::profile_names(config)) {
    TRY(auto profile, spec::profile_of(config, name));
    rows.push_back({std::move(profile), name == chosen});
  }
  if (wants_record(context)) {
    TRY_VOID(print_record(context, record_of(rows)));
  } else if (context.globals.format == Format::name) {
    for (const auto& row : rows) print_line(context, printable(row.profile.name));
  } else {
    print_table(context, table_of(rows));
  }
  return 0;
}

Result<int> roles(Context& context, const Parsed& parsed, Words words) {
  TRY(const auto documents, render::role_documents({.space = parsed.value("namespace").value_or(""),
                                                    .account = parsed.value("account").value_or(""),
                                                    .names = {words.begin(), words.end()}}));
  TRY_VOID(print_documents(context, documents));
  return 0;
}

struct Sub {
  std::string_view name;
  Result<int> (*run)(Context&, const Parsed&, Words);
  std::vector<std::string_view> options;
};

const std::vector<Sub>& subs() {
  static const std::vector<Sub> kSubs{
      {"attach",
       attach,
       {"context", "kubeconfig", "namespace", "image", "agent-image", "force", "dry-run"}},
      {"list", list, {}},
      {"roles", roles, {"namespace", "account"}}};
  return kSubs;
}

Result<int> run(Context& context, const Parsed& parsed) {
  const auto& words = parsed.operands;
  for (const auto& sub : subs()) {
    if (words.empty() || words.front() != sub.name) continue;
    for (const auto& [name, value] : parsed.options)
      if (std::find(sub.options.begin(), sub.options.end(), name) == sub.options.end())
        return fail(Kind::usage, fmt::format("cluster {} has no flag --{}", sub.name, name),
                    "see: muster help cluster");
    return sub.run(context, parsed, Words(words).subspan(1));
  }
  return fail(Kind::usage,
              words.empty() ? "cluster needs to know what to do"
                            : fmt::format("cluster cannot \"{}\"", printable(words.front())),
              "muster cluster attach NAME, muster cluster list, or muster cluster roles");
}

}  // namespace

Verb verb_cluster() {
  return {
      .name = "cluster",
      .aliases = {},
      .group = "About muster",
      .summary = "Attach a cluster, list them, print needed rights",
      .usage = "cluster attach [options] NAME | list | roles [ROLE...]",
      .operands = Operands::some,
      .options =
          {{.name = "context",
            .value = "NAME",
            .text = "of the kubeconfig (its current one)",
            .group = "attach"},
           {.name = "kubeconfig",
            .value = "FILE",
            .text = "where it is described (as for kubectl)",
            .group = "attach"},
           {.name = "image", .value = "IMAGE", .text = "what jobs run in there", .group = "attach"},
           {.name = "agent-image",
            .value = "IMAGE",
            .text = "where pods get /bin/muster from (the same image)",
            .group = "attach"},
           {.name = "force",
            .text = "replace a cluster of that name; write it although checks fail",
            .group = "attach"},
           {.name = "dry-run", .text = "print the profile, write nothing", .group = "attach"},
           {.name = "namespace",
            .value = "NAME",
            .text = "where jobs go (the context's)",
            .group = "attach, roles"},
           {.name = "account",
            .value = "NAME",
            .text = "also bind the roles to this service account of the namespace",
            .group = "roles"}},
      .run = run};
}

}  // namespace muster
