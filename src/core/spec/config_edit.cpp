#include "core/spec/config_edit.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "core/spec/config.hpp"
#include "core/spec/yaml.hpp"

namespace muster::spec {
namespace {

constexpr std::size_t kIndent = 2;

/// A word that YAML reads as itself, in every version: the others are quoted.
bool is_plain(std::string_view text) {
  static const std::vector<std::string> kWords{"true", "false", "null", "yes", "no",
                                               "on",   "off",   "y",    "n"};
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (text.empty() || (!is_letter(text.front()) && text.front() != '/')) return false;
  std::string small;
  for (const char c : text) small += (c >= 'A' && c <= 'Z') ? static_cast<char>(c - 'A' + 'a') : c;
  if (std::find(kWords.begin(), kWords.end(), small) != kWords.end()) return false;
  const auto is_safe = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') ||
           std::string_view("-_./@").find(c) != std::string_view::npos;
  };
  // A colon in the middle of a word is no sign: registry:5000/image.
  return std::all_of(text.begin(), text.end(), [&](char c) { return is_safe(c) || c == ':'; }) &&
         text.back() != ':';
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() < 10 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string scalar(std::string_view text) {
  if (is_plain(text) || is_number(text)) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

/// The lines of a text, each with its newline.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto size = end == std::string_view::npos ? text.size() : end + 1;
    lines.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return lines;
}

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

bool is_blank(std::string_view line) { return trimmed(line).empty(); }

/// What is replaced or, with an empty range, where lines go in.
struct Place {
  std::size_t first = 0;  // lines, from 0
  std::size_t last = 0;   // behind the last one
  std::size_t columns = kIndent;
  bool needs_head = false;  // there is no "clusters:" yet
};

const YamlPair* find_pair(const YamlNode& map, std::string_view key) {
  for (const auto& pair : map.pairs)
    if (pair.key.text == key) return &pair;
  return nullptr;
}

/// All that stands deeper than the key belongs to it; blank lines behind it do not.
Place place_of_profile(const std::vector<std::string_view>& lines, const YamlNode& key) {
  const auto columns = static_cast<std::size_t>(key.column - 1);
  Place place{.first = static_cast<std::size_t>(key.line - 1), .columns = columns};
  std::size_t end = place.first + 1;
  place.last = end;
  for (; end < lines.size(); ++end) {
    if (is_blank(lines[end])) continue;
    if (indent_of(lines[end]) <= columns) break;
    place.last = end + 1;
  }
  return place;
}

/// Nothing when the file is not written line by line there: `{...}`, or an anchor on the line.
std::optional<Place> place_in(const std::vector<std::string_view>& lines, const YamlNode& root,
                              const std::string& name) {
  const auto* clusters = find_pair(root, "clusters");
  if (clusters == nullptr)
    return Place{.first = lines.size(), .last = lines.size(), .needs_head = true};
  const auto at = static_cast<std::size_t>(clusters->key.line - 1);
  const auto head = trimmed(lines.at(at));
  const auto comment = head.find(" #");
  if (trimmed(head.substr(0, comment)) != "clusters:") return std::nullopt;
  if (clusters->value.pairs.empty()) return Place{.first = at + 1, .last = at + 1};
  if (const auto* own = find_pair(clusters->value, name)) return place_of_profile(lines, own->key);
  const auto columns = static_cast<std::size_t>(clusters->value.pairs.front().key.column - 1);
  return Place{.first = at + 1, .last = at + 1, .columns = columns};
}

std::string spliced(const std::vector<std::string_view>& lines, const Place& place,
                    const NewProfile& profile) {
  std::string out;
  for (std::size_t i = 0; i < place.first; ++i) out += lines[i];
  if (!out.empty() && out.back() != '\n') out += '\n';
  if (place.needs_head) out += "clusters:\n";
  out += profile_lines(profile, place.columns);
  for (std::size_t i = place.last; i < lines.size(); ++i) out += lines[i];
  return out;
}

using Said = std::vector<std::pair<std::string, std::string>>;

/// Everything a file says but about one profile, without the places.
Said said_by(const Config& config, std::string_view without) {
  Said said;
  for (const auto& setting : config.defaults) said.emplace_back(setting.key, setting.value);
  for (const auto& layer : config.profiles) {
    if (layer.profile == without) continue;
    said.emplace_back(layer.profile, layer.base.value_or(""));
    for (const auto& setting : layer.settings)
      said.emplace_back(layer.profile + "." + setting.key, setting.value);
  }
  std::sort(said.begin(), said.end());
  return said;
}

bool says(const Config& config, const NewProfile& profile) {
  for (const auto& layer : config.profiles) {
    if (layer.profile != profile.name) continue;
    return layer.settings.size() == profile.values.size() &&
           std::equal(layer.settings.begin(), layer.settings.end(), profile.values.begin(),
                      [](const Setting& setting, const auto& value) {
                        return setting.key == value.first && setting.value == value.second;
                      });
  }
  return false;
}

Result<Config> config_of(std::string text, const std::string& file) {
  return read_config(
      {.user = ConfigFile{file, std::move(text)}, .project = {}, .env = {}, .cluster = {}});
}

tl::unexpected<Error> by_hand(const std::string& file, const NewProfile& profile) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : profile.values)
    parts.push_back(fmt::format("{}: {}", key, scalar(value)));
  return fail(
      Kind::conflict, fmt::format("{} is not written line by line where the profile belongs", file),
      fmt::format("add it below clusters: {}: {{{}}}", scalar(profile.name), join(parts, ", ")));
}

}  // namespace

std::string profile_lines(const NewProfile& profile, std::size_t columns) {
  const std::string outer(columns, ' ');
  const std::string inner(columns + kIndent, ' ');
  std::string out = fmt::format("{}{}:\n", outer, scalar(profile.name));
  for (const auto& [key, value] : profile.values)
    out += fmt::format("{}{}: {}\n", inner, key, scalar(value));
  return out;
}

Result<std::string> with_profile(std::string_view text, const std::string& file,
                                 const NewProfile& profile, Existing existing) {
  // What is wrong with the profile itself is told as such.
  TRY_VOID(config_of("clusters:\n" + profile_lines(profile, kIndent), "the new profile"));
  TRY(const auto before, config_of(std::string(text), file));
  TRY(const auto root, parse_yaml(text, file));
  const bool is_there =
      std::any_of(before.profiles.begin(), before.profiles.end(),
                  [&](const ProfileLayer& layer) { return layer.profile == profile.name; });
  if (is_there && existing == Existing::refuse)
    return fail(Kind::conflict,
                fmt::format("{} has a cluster \"{}\" already", file, printable(profile.name)),
                "choose another name, or replace it: --force");
  const auto lines = lines_of(text);
  const auto place = place_in(lines, root, profile.name);
  if (!place) return by_hand(file, profile);
  auto made = spliced(lines, *place, profile);
  const auto after = config_of(made, file);
  const bool is_good = after && says(*after, profile) &&
                       said_by(*after, profile.name) == said_by(before, profile.name);
  if (!is_good) return by_hand(file, profile);
  return made;
}

}  // namespace muster::spec
