#include "app/cli/parse.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace muster {
namespace {

constexpr std::string_view kEverywhere = "Everywhere";

/// Takes words one by one. Before the verb only global options count; after it the verb's own
/// come first.
class Parser {
 public:
  Parser(std::span<const std::string> words, const std::vector<Verb>& verbs)
      : words_(words), verbs_(verbs) {}

  Result<Parsed> parse() {
    while (at_ < words_.size() && !parsed_.help) {
      const std::string& word = words_[at_++];
      if (word == "--") {
        TRY_VOID(take_rest());
      } else if (word.size() > 1 && word.front() == '-') {
        TRY_VOID(take_option(word));
      } else {
        TRY_VOID(take_word(word));
      }
    }
    return std::move(parsed_);
  }

 private:
  bool is_command() const { return parsed_.verb && parsed_.verb->operands == Operands::command; }

  Result<> take_rest() {
    if (parsed_.verb == nullptr)
      return fail(Kind::usage, "a verb must come before --", "muster run -- COMMAND");
    for (; at_ < words_.size(); ++at_) TRY_VOID(take_operand(words_[at_]));
    return {};
  }

  Result<> take_word(const std::string& word) {
    if (parsed_.verb == nullptr) return take_verb(word);
    TRY_VOID(take_operand(word));
    return is_command() ? take_rest() : Result<>();
  }

  Result<> take_operand(const std::string& word) {
    if (parsed_.verb->operands == Operands::none)
      return fail(Kind::usage,
                  fmt::format("{} takes no \"{}\"", parsed_.verb->name, printable(word)),
                  help_hint());
    parsed_.operands.push_back(word);
    return {};
  }

  Result<> take_verb(const std::string& word) {
    parsed_.verb = find_verb(verbs_, word);
    if (parsed_.verb != nullptr) return {};
    std::vector<std::string> known;
    for (const auto& verb : verbs_) {
      known.emplace_back(verb.name);
      known.insert(known.end(), verb.aliases.begin(), verb.aliases.end());
    }
    auto failed = fail(Kind::usage, fmt::format("no verb \"{}\"", printable(word)));
    if (const auto near = nearest(word, known))
      failed.value().fix.push_back(fmt::format("did you mean: muster {}", *near));
    else
      failed.value().fix.push_back("to run a command: muster run COMMAND");
    failed.value().fix.push_back("all verbs: muster help");
    return failed;
  }

  std::string help_hint() const {
    return parsed_.verb ? fmt::format("see: muster help {}", parsed_.verb->name)
                        : "see: muster help";
  }

  // Options ------------------------------------------------------------------------------------

  struct Found {
    const Option* option = nullptr;
    bool is_global = false;
  };

  template <class Matches>
  Found find_option(Matches matches) const {
    if (parsed_.verb)
      for (const auto& option : parsed_.verb->options)
        if (matches(option)) return {&option, false};
    for (const auto& option : global_options())
      if (matches(option)) return {&option, true};
    return {};
  }

  Result<> take_option(const std::string& word) {
    return word.starts_with("--") ? take_long(word) : take_short(word);
  }

  Result<> take_long(const std::string& word) {
    const auto equals = word.find('=');
    const std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
    if (name == "version" && parsed_.verb == nullptr) return take_verb(name);
    const Found found = find_option([&](const Option& o) { return o.name == name; });
    if (found.option == nullptr) return unknown("--" + name);
    if (equals != std::string::npos) {
      if (found.option->value.empty())
        return fail(Kind::usage, fmt::format("--{} takes no value", name), help_hint());
      return set(found, word.substr(equals + 1));
    }
    return set_next(found, "--" + name);
  }

  /// -n4, -n 4, or flags together as in -qv.
  Result<> take_short(const std::string& word) {
    const auto by_letter = [&](char letter) {
      return find_option([&](const Option& o) { return o.letter != 0 && o.letter == letter; });
    };
    const Found first = by_letter(word[1]);
    if (first.option == nullptr) return unknown(word.substr(0, 2));
    if (word.size() == 2) return set_next(first, word);
    if (!first.option->value.empty()) return set(first, word.substr(2));
    for (const char letter : word.substr(1)) {
      const Found found = by_letter(letter);
      if (found.option == nullptr)
        return within(unknown(fmt::format("-{}", letter)), fmt::format("in {}", printable(word)));
      if (!found.option->value.empty())
        return fail(
            Kind::usage,
            fmt::format("-{} takes a value and cannot stand within {}", letter, printable(word)),
            fmt::format("write it apart: -{} {}", letter, found.option->value));
      TRY_VOID(set(found, "true"));
    }
    return {};
  }

  Result<> set_next(const Found& found, const std::string& shown) {
    if (found.option->value.empty()) return set(found, "true");
    if (found.option->optional_value) return set(found, "");
    if (at_ >= words_.size())
      return fail(Kind::usage, fmt::format("{} needs a value ({})", shown, found.option->value),
                  help_hint());
    return set(found, words_[at_++]);
  }

  Result<> set(const Found& found, std::string value) {
    const Option& option = *found.option;
    const bool again = std::find(seen_.begin(), seen_.end(), &option) != seen_.end();
    if (again && !option.repeats && !option.value.empty())
      return fail(Kind::usage, fmt::format("--{} is given twice", option.name), "leave one out");
    seen_.push_back(&option);
    if (found.is_global) return set_global(option.name, std::move(value));
    parsed_.options.emplace_back(option.name, std::move(value));
    return {};
  }

  Result<> set_global(std::string_view name, std::string value) {
    auto& globals = parsed_.globals;
    if (name == "help")
      parsed_.help = true;
    else if (name == "quiet")
      globals.quiet = true;
    else if (name == "verbose")
      globals.verbose = true;
    else if (name == "no-color")
      globals.no_color = true;
    else if (name == "json" || name == "yaml")
      return set_format(std::string(name));
    else if (name == "output")
      return set_format(value);
    else if (value.empty())
      return fail(Kind::usage, fmt::format("--{} is empty", name));
    else if (name == "cluster")
      globals.cluster = std::move(value);
    else if (name == "home")
      globals.home = std::move(value);
    return {};
  }

  Result<> set_format(const std::string& word) {
    static const std::vector<std::pair<std::string, Format>> kFormats{{"json", Format::json},
                                                                      {"yaml", Format::yaml},
                                                                      {"wide", Format::wide},
                                                                      {"name", Format::name},
                                                                      {"text", Format::text}};
    std::vector<std::string> known;
    for (const auto& [name, format] : kFormats) {
      if (name == word) {
        parsed_.globals.format = format;
        return {};
      }
      known.push_back(name);
    }
    const auto near = nearest(word, known);
    return fail(
        Kind::usage, fmt::format("no output format \"{}\"", printable(word)),
        near ? fmt::format("did you mean: -o {}", *near) : "one of: json, yaml, wide, name");
  }

  Result<> unknown(const std::string& flag) const {
    std::vector<std::string> known;
    if (parsed_.verb)
      for (const auto& option : parsed_.verb->options) known.emplace_back(option.name);
    for (const auto& option : global_options()) known.emplace_back(option.name);
    auto failed =
        fail(Kind::usage,
             parsed_.verb ? fmt::format("{} has no flag {}", parsed_.verb->name, printable(flag))
                          : fmt::format("no flag {} before a verb", printable(flag)));
    const auto near = flag.starts_with("--") ? nearest(flag.substr(2), known) : std::nullopt;
    if (near) failed.value().fix.push_back(fmt::format("did you mean --{}?", *near));
    if (is_command())
      failed.value().fix.push_back("flags of your own command go after its first word");
    failed.value().fix.push_back(help_hint());
    return failed;
  }

  std::span<const std::string> words_;
  const std::vector<Verb>& verbs_;
  std::size_t at_ = 0;
  Parsed parsed_;
  std::vector<const Option*> seen_;
};

}  // namespace

const std::vector<Option>& global_options() {
  static const std::vector<Option> kOptions{
      {"cluster", 'c', "NAME", "the cluster to use", kEverywhere},
      {"output", 'o', "FORMAT", "json, yaml, wide or name", kEverywhere},
      {"json", 0, "", "the same as -o json", kEverywhere},
      {"yaml", 0, "", "the same as -o yaml", kEverywhere},
      {"quiet", 'q', "", "say less", kEverywhere},
      {"verbose", 'v', "", "say more", kEverywhere},
      {"no-color", 0, "", "no colours (also: NO_COLOR)", kEverywhere},
      {"home", 0, "PATH", "keep everything there (also: MUSTER_HOME)", kEverywhere},
      {"help", 'h', "", "show this", kEverywhere},
  };
  return kOptions;
}

const Verb* find_verb(const std::vector<Verb>& verbs, std::string_view word) {
  for (const auto& verb : verbs)
    if (verb.name == word) return &verb;
  for (const auto& verb : verbs)
    if (std::find(verb.aliases.begin(), verb.aliases.end(), word) != verb.aliases.end())
      return &verb;
  return nullptr;
}

bool Parsed::has(std::string_view name) const { return value(name).has_value(); }

std::optional<std::string> Parsed::value(std::string_view name) const {
  for (auto it = options.rbegin(); it != options.rend(); ++it)
    if (it->first == name) return it->second;
  return std::nullopt;
}

std::vector<std::string> Parsed::all(std::string_view name) const {
  std::vector<std::string> values;
  for (const auto& [key, value] : options)
    if (key == name) values.push_back(value);
  return values;
}

Result<Parsed> parse_command_line(std::span<const std::string> words,
                                  const std::vector<Verb>& verbs) {
  return Parser(words, verbs).parse();
}

}  // namespace muster
