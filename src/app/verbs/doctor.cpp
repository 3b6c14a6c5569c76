#include "app/cli/client.hpp"
#include "app/cli/files.hpp"
#include "app/cli/job_cells.hpp"
#include "app/cli/output.hpp"
#include "app/cli/verb.hpp"
#include "base/text.hpp"

namespace muster {
namespace {

Style style_of(std::string_view state) {
  return state == "ok" ? Style::green : state == "warn" ? Style::yellow : Style::red;
}

json::object check(std::string_view name, std::string_view state, const std::string& text,
                   const std::string& fix) {
  json::object out;
  out["name"] = json::string_view(name.data(), name.size());
  out["state"] = json::string_view(state.data(), state.size());
  out["text"] = bytes_to_json(text);
  out["fix"] = bytes_to_json(fix);
  return out;
}

/// What can be found out without a server.
json::array own_checks(const Context& context) {
  json::array checks;
  const auto config = load_config(context);
  checks.push_back(check("home", "ok", context.paths.state, ""));
  if (config)
    checks.push_back(check("configuration", config->warnings.empty() ? "ok" : "warn",
                           config->warnings.empty()
                               ? fmt::format("profile \"{}\"", spec::chosen_profile(*config))
                               : config->warnings.front(),
                           ""));
  else
    checks.push_back(check("configuration", "fail", to_line(config.error()),
                           config.error().fix.empty() ? "" : config.error().fix.front()));
  return checks;
}

Result<int> run(Context& context, const Parsed& parsed) {
  auto checks = own_checks(context);
  Call call{.route = "doctor"};
  if (parsed.has("deep")) call.query.emplace_back("deep", "1");
  const auto answer = call_again(context, call);
  if (answer) {
    TRY(const auto document, parse_json(*answer));
    for (const auto& one : document.at("checks").as_array()) checks.push_back(one);
  } else {
    checks.push_back(check("server", "fail", to_line(answer.error()),
                           answer.error().fix.empty() ? "" : answer.error().fix.front()));
  }
  bool is_well = true;
  for (const auto& one : checks) is_well = is_well && text_at(one.as_object(), "state") != "fail";
  if (wants_record(context)) {
    json::object out;
    out["schema"] = 1;
    out["checks"] = checks;
    TRY_VOID(print_record(context, json::serialize(out)));
    return is_well ? 0 : 1;
  }
  for (const auto& one : checks) {
    const auto& object = one.as_object();
    const auto state = text_at(object, "state");
    const auto text = wrapped(
        fmt::format("{:<4} {}: {}", state, text_at(object, "name"), shown_at(object, "text")),
        context.width, 5);
    print_line(context, paint(context, style_of(state), text.substr(0, 4)) + text.substr(4));
    if (const auto fix = shown_at(object, "fix"); !fix.empty())
      print_text(context, "     fix: " + fix, Style::dim);
  }
  return is_well ? 0 : 1;
}

}  // namespace

Verb verb_doctor() {
  return {.name = "doctor",
          .aliases = {},
          .group = "About muster",
          .summary = "Check this machine, the configuration and the server",
          .usage = "doctor [--deep]",
          .operands = Operands::none,
          .options = {{.name = "deep",
                       .text = "also verify that every stored event agrees with the tables"}},
          .run = run};
}

}  // namespace muster
