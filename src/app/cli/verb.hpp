/// The command table: one row per verb, which feeds parsing, help, completion and documents. A verb
/// is a file src/app/verbs/STEM.cpp with `Verb verb_STEM()` and its text STEM.md beside it: the
/// summary, three examples, prose. Immutable after start; any thread.
#pragma once
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace muster {

struct Context;
struct Parsed;

struct Option {
  std::string_view name;   // without the dashes
  char letter = 0;         // 0: none
  std::string_view value;  // what help calls the value; "" is a flag
  std::string_view text;
  std::string_view group;  // heading in help; "" is "Options"
  bool repeats = false;
  bool optional_value = false;  // --name or --name=VALUE; the next word is never its value
};

enum class Operands {
  none,
  some,     // ids, names, paths: may stand between the options
  command,  // from the first word that is not ours, all belongs to the user's command
};

struct Verb {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view group;    // heading in the overview
  std::string_view summary;  // imperative, without a period; the first line of its .md
  std::string_view usage;    // what follows "muster "
  Operands operands = Operands::none;
  std::vector<Option> options;
  bool is_for_people = true;  // else the overview leaves it out; it has its help all the same
  Result<int> (*run)(Context&, const Parsed&) = nullptr;
};

/// Every file of src/app/verbs, in the order of their names.
const std::vector<Verb>& all_verbs();
/// (stem, text) of every .md of src/app/verbs.
const std::vector<std::pair<std::string_view, std::string_view>>& embedded_help();

/// By name or alias.
const Verb* find_verb(const std::vector<Verb>& verbs, std::string_view word);
/// Options that every verb has, unless it has its own of that name or letter.
const std::vector<Option>& global_options();

}  // namespace muster
