/// A command line, taken apart. All bytes of argv are kept as they were.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/cli/verb.hpp"

namespace muster {

enum class Format { text, json, yaml, wide, name };

/// What every verb understands.
struct Globals {
  std::optional<std::string> cluster;
  std::optional<std::string> home;
  Format format = Format::text;
  bool quiet = false;
  bool verbose = false;
  bool no_color = false;
};

struct Parsed {
  const Verb* verb = nullptr;  // absent: muster alone
  bool help = false;
  Globals globals;
  std::vector<std::pair<std::string, std::string>> options;  // the verb's own, in order
  std::vector<std::string> operands;  // ids; or the user's command, byte for byte

  bool has(std::string_view name) const;
  /// The value given; the last one where an option repeats.
  std::optional<std::string> value(std::string_view name) const;
  std::vector<std::string> all(std::string_view name) const;
};

}  // namespace muster
