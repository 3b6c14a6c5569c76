#include "app/cli/findings.hpp"

#include <algorithm>

#include "app/cli/output.hpp"
#include "base/text.hpp"
#include "core/model/json.hpp"

namespace muster {
namespace {

Style style_of(std::string_view state) {
  return state == "ok" ? Style::green : state == "warn" ? Style::yellow : Style::red;
}

}  // namespace

Finding failed(std::string name, const Error& error) {
  return {std::move(name), "fail", to_line(error), error.fix.empty() ? "" : error.fix.front()};
}

bool is_well(const std::vector<Finding>& findings) {
  return std::none_of(findings.begin(), findings.end(),
                      [](const Finding& finding) { return finding.state == "fail"; });
}

void print_findings(Context& context, const std::vector<Finding>& findings) {
  for (const auto& [name, state, found, fix] : findings) {
    const auto text = wrapped(fmt::format("{:<4} {}: {}", state, printable(name), printable(found)),
                              context.width, 5);
    print_line(context, paint(context, style_of(state), text.substr(0, 4)) + text.substr(4));
    if (!fix.empty()) print_text(context, "     fix: " + printable(fix), Style::dim);
  }
}

std::string to_json(const std::vector<Finding>& findings) {
  json::array list;
  for (const auto& [name, state, text, fix] : findings)
    list.push_back(json::object{{"name", bytes_to_json(name)},
                                {"state", state},
                                {"text", bytes_to_json(text)},
                                {"fix", bytes_to_json(fix)}});
  return json::serialize(list);
}

Result<std::vector<Finding>> findings_from_json(std::string_view list) {
  TRY(const auto parsed, parse_json(list));
  if (!parsed.is_array()) return fail(Kind::corrupt, "the server's checks are no list");
  std::vector<Finding> findings;
  for (const auto& item : parsed.get_array()) {
    if (!item.is_object()) return fail(Kind::corrupt, "one of the server's checks is no object");
    Finding finding;
    for (const auto& [name, out] :
         {std::pair("name", &finding.name), std::pair("state", &finding.state),
          std::pair("text", &finding.text), std::pair("fix", &finding.fix)})
      if (const auto* value = field(item.get_object(), name)) {
        TRY(*out, bytes_from_json(*value));
      }
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace muster
