#include "app/cli/help.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.hpp"

namespace muster {
namespace {

std::string left_of(const Option& option) {
  std::string left = option.letter != 0 ? fmt::format("  -{}, --{}", option.letter, option.name)
                                        : fmt::format("      --{}", option.name);
  if (option.value.empty()) return left;
  return left + (option.optional_value ? fmt::format("[={}]", option.value)
                                       : fmt::format(" {}", option.value));
}

constexpr std::size_t kLeft = 28;

/// A row keeps its columns: only what stands right is folded.
std::string wrapped_row(std::string_view line, std::size_t width) {
  if (line.size() <= kLeft || width <= kLeft + 20) return std::string(line);
  std::string out(line.substr(0, kLeft));
  for (const char c : wrapped(line.substr(kLeft), width - kLeft, 0))
    out += c == '\n' ? "\n" + std::string(kLeft, ' ') : std::string(1, c);
  return out;
}

void add_row(std::string& out, std::string_view left, std::string_view right) {
  if (left.size() + 2 > kLeft)
    out += fmt::format("{}\n{:{}}{}\n", left, "", kLeft, right);
  else
    out += fmt::format("{:<{}}{}\n", left, kLeft, right);
}

/// Values of `of` in the order they first appear.
template <class List, class Of>
std::vector<std::string_view> groups_of(const List& list, Of of) {
  std::vector<std::string_view> groups;
  for (const auto& item : list)
    if (std::find(groups.begin(), groups.end(), of(item)) == groups.end())
      groups.push_back(of(item));
  return groups;
}

void add_options(std::string& out, const std::vector<Option>& options) {
  for (const auto group : groups_of(options, [](const Option& o) { return o.group; })) {
    out += fmt::format("\n{}:\n", group.empty() ? "Options" : group);
    for (const auto& option : options)
      if (option.group == group) add_row(out, left_of(option), option.text);
  }
}

/// Global options, less those the verb has taken for itself.
std::vector<Option> remaining_globals(const Verb& verb) {
  std::vector<Option> rest;
  for (auto global : global_options()) {
    bool is_taken = false;
    for (const auto& own : verb.options) {
      is_taken = is_taken || own.name == global.name;
      if (own.letter == global.letter) global.letter = 0;
    }
    if (!is_taken) rest.push_back(global);
  }
  return rest;
}

constexpr std::size_t kWidest = 100;  // longer lines are hard to read

}  // namespace

std::string fitted(std::string_view page, std::size_t width) {
  if (width == 0) return std::string(page);
  width = std::min(width, kWidest);
  std::string out, paragraph;
  const auto flush = [&] {
    if (!paragraph.empty()) out += wrapped(paragraph, width, 0) + "\n";
    paragraph.clear();
  };
  for (const auto line :
       split(page.substr(0, page.size() - (page.ends_with('\n') ? 1 : 0)), '\n')) {
    const bool is_prose = !line.empty() && line.front() != ' ' && !line.ends_with(':') &&
                          !line.starts_with("Usage:") && !line.starts_with("Also:");
    if (is_prose) {
      paragraph += (paragraph.empty() ? "" : " ") + std::string(line);
      continue;
    }
    flush();
    const bool is_row = line.starts_with("  ") && !line.starts_with("    ");
    out += (is_row || line.starts_with("      --") ? wrapped_row(line, width) : std::string(line)) +
           "\n";
  }
  flush();
  return out;
}

std::string welcome_text() {
  return "muster runs any command as a durable job, on this machine or on a cluster.\n"
         "\n"
         "  muster run python train.py      run it as a job and follow it\n"
         "  muster submit python train.py   queue it and get its id\n"
         "  muster ps                       see what runs and what waits\n"
         "  muster logs -f ID               follow its output\n"
         "  muster why ID                   learn why it waits, or how it ended\n"
         "\n"
         "All verbs: muster help     One verb: muster help VERB\n";
}

std::string overview_text(const std::vector<Verb>& verbs) {
  std::string out = "Usage: muster VERB [flags] ...\n";
  for (const auto group : groups_of(verbs, [](const Verb& v) { return v.group; })) {
    out += fmt::format("\n{}:\n", group.empty() ? "Verbs" : group);
    for (const auto& verb : verbs) {
      if (verb.group != group || !verb.is_for_people) continue;
      std::string left = fmt::format("  {}", verb.name);
      for (const auto alias : verb.aliases) left += fmt::format(", {}", alias);
      add_row(out, left, verb.summary);
    }
  }
  add_options(out, global_options());
  return out + "\nOne verb: muster help VERB\n";
}

std::string_view verb_page(const Verb& verb) {
  for (const auto& [stem, text] : embedded_help())
    if (stem == verb.name) return text;
  return {};
}

std::string help_text(const Verb& verb) {
  std::string out = fmt::format("{}\n\nUsage: muster {}\n", verb.summary, verb.usage);
  if (!verb.aliases.empty()) {
    out += "Also:  ";
    for (std::size_t i = 0; i < verb.aliases.size(); ++i)
      out += fmt::format("{}muster {}", i == 0 ? "" : ", ", verb.aliases[i]);
    out += "\n";
  }
  // The page's first line is the summary, which stands above already.
  const auto page = verb_page(verb);
  const auto body = trimmed(page.substr(std::min(page.find('\n'), page.size())));
  // trimmed() takes the first example's indentation along.
  if (!body.empty())
    out += fmt::format("\n{}{}\n", page.find("\n    ") != page.npos ? "    " : "", body);
  add_options(out, verb.options);
  add_options(out, remaining_globals(verb));
  return out;
}

}  // namespace muster
