#include <boost/json.hpp>

#include "app/cli/context.hpp"
#include "app/cli/files.hpp"
#include "app/cli/output.hpp"
#include "base/text.hpp"
#include "core/model/json.hpp"
#include "core/spec/config_keys.hpp"

namespace muster {
namespace {

/// One line of the explanation; the first of each key wins.
struct Line {
  spec::Setting setting;
  bool wins = false;
};

bool is_asked(const spec::Setting& setting, const std::vector<std::string>& keys) {
  if (keys.empty()) return true;
  // "retries" asks for retries.user and its like as well.
  return std::any_of(keys.begin(), keys.end(), [&](const std::string& key) {
    return setting.key == key || setting.key.starts_with(key + ".");
  });
}

Result<std::vector<Line>> explain(const spec::Config& config, const std::string& profile) {
  TRY(auto settings, spec::settings_of(config, profile));
  settings.insert(settings.begin(), config.defaults.begin(), config.defaults.end());
  std::vector<Line> lines;
  for (auto& setting : settings) {
    const bool wins = lines.empty() || lines.back().setting.key != setting.key;
    lines.push_back({std::move(setting), wins});
  }
  return lines;
}

Result<> check_keys(const std::vector<Line>& lines, const std::vector<std::string>& keys) {
  for (const auto& key : keys) {
    const bool is_there = std::any_of(lines.begin(), lines.end(), [&](const Line& line) {
      return is_asked(line.setting, {key});
    });
    if (is_there || spec::key_of(key) != nullptr) continue;
    std::vector<std::string> known{"nodes", "env", "gpus", "gpus_per_node", "retries", "_base_"};
    for (const auto& line : lines) known.push_back(line.setting.key);
    const auto near = nearest(key, known);
    return fail(Kind::not_found, fmt::format("nobody sets \"{}\"", printable(key)),
                near && *near != key ? fmt::format("did you mean \"{}\"?", *near)
                                     : "every key: muster config explain");
  }
  return {};
}

std::string record_of(const std::string& profile, const std::vector<Line>& lines) {
  json::array settings;
  for (const auto& [setting, wins] : lines)
    settings.push_back(json::object{{"key", bytes_to_json(setting.key)},
                                    {"value", bytes_to_json(setting.value)},
                                    {"from", bytes_to_json(spec::to_text(setting.origin))},
                                    {"wins", wins}});
  json::object record{{"schema", 1}, {"cluster", bytes_to_json(profile)}};
  record["settings"] = std::move(settings);
  return json::serialize(record);
}

Table table_of(const std::vector<Line>& lines) {
  Table table;
  table.columns = {{.title = "KEY"}, {.title = "VALUE"}, {.title = "FROM"}};
  for (const auto& [setting, wins] : lines)
    table.rows.push_back({printable(setting.key), printable(setting.value),
                          printable(spec::to_text(setting.origin)) + (wins ? "" : " (overruled)")});
  return table;
}

Result<int> run_explain(Context& context, const std::vector<std::string>& keys) {
  TRY(const auto config, load_config(context));
  for (const auto& warning : config.warnings) warn(context, warning);
  const auto profile = spec::chosen_profile(config);
  TRY(auto lines, explain(config, profile));
  TRY_VOID(check_keys(lines, keys));
  std::erase_if(lines, [&](const Line& line) { return !is_asked(line.setting, keys); });
  if (wants_record(context)) {
    TRY_VOID(print_record(context, record_of(profile, lines)));
    return 0;
  }
  say(context, fmt::format("cluster {}", printable(profile)));
  for (const auto& key : keys) {
    const bool is_set = std::any_of(lines.begin(), lines.end(), [&](const Line& line) {
      return is_asked(line.setting, {key});
    });
    if (!is_set) say(context, fmt::format("nobody sets {}, and it needs no value", key));
  }
  if (lines.empty()) return 0;
  print_table(context, table_of(lines));
  return 0;
}

Result<int> run_path(Context& context) {
  const auto project = find_project_file(context.dir);
  if (wants_record(context)) {
    json::object record{{"schema", 1},
                        {"user", bytes_to_json(context.paths.config_file)},
                        {"project", project ? bytes_to_json(*project) : json::value(nullptr)},
                        {"state", bytes_to_json(context.paths.state)},
                        {"cache", bytes_to_json(context.paths.cache)}};
    TRY_VOID(print_record(context, json::serialize(record)));
    return 0;
  }
  Table table;
  table.columns = {{.title = "WHAT"}, {.title = "PATH"}};
  table.rows = {{"user", printable(context.paths.config_file)},
                {"project", project ? printable(*project) : "none"},
                {"state", printable(context.paths.state)},
                {"cache", printable(context.paths.cache)}};
  print_table(context, table);
  return 0;
}

Result<int> run(Context& context, const Parsed& parsed) {
  const auto& words = parsed.operands;
  if (!words.empty() && words.front() == "explain")
    return run_explain(context, {words.begin() + 1, words.end()});
  if (words.size() == 1 && words.front() == "path") return run_path(context);
  return fail(Kind::usage,
              words.empty() ? "config needs to know what to do"
                            : fmt::format("config cannot \"{}\"", printable(words.front())),
              "muster config explain [KEY], or muster config path");
}

}  // namespace

Verb verb_config() {
  return {.name = "config",
          .aliases = {},
          .group = "About muster",
          .summary = "Show the configuration and where values come from",
          .usage = "config explain [KEY...] | config path",
          .operands = Operands::some,
          .options = {},
          .run = run};
}

}  // namespace muster
