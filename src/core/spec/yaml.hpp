/// YAML text as a light tree. Strict: duplicate keys, tabs as indentation, unterminated quotes,
/// tags, a second document and keys that are not scalars are errors with file:line:column. Input is
/// capped in bytes, depth and nodes, so that neither a large file nor an alias bomb costs more than
/// it should. Scalars keep their text; what a plain scalar means (YAML 1.2 core: `yes` is a string)
/// is asked here. Pure; any thread.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace muster::spec {

enum class YamlKind : std::uint8_t { scalar, list, map };

struct YamlPair;

struct YamlNode {
  YamlKind kind = YamlKind::scalar;
  std::string text;        // of a scalar
  bool is_quoted = false;  // quoted, literal or folded: always a string
  int line = 1;            // from 1
  int column = 1;
  std::vector<YamlNode> items;  // of a list
  std::vector<YamlPair> pairs;  // of a map, in the file's order
};

/// A key is a scalar; its place is kept for messages.
struct YamlPair {
  YamlNode key;
  YamlNode value;
};

struct YamlLimits {
  std::size_t bytes = std::size_t{4} * 1024 * 1024;
  int depth = 48;
  std::size_t nodes = 200'000;  // after aliases are replaced by what they name
};

/// An empty text is a plain empty scalar (null). `file` is what messages call the text.
Result<YamlNode> parse_yaml(std::string_view text, std::string_view file,
                            const YamlLimits& limits = {});

/// The value of a key, or nothing.
const YamlNode* find(const YamlNode& map, std::string_view key);

// What a scalar means by the rules of YAML 1.2's core schema. Quoted scalars are strings only.
bool is_null(const YamlNode& node);
std::optional<bool> as_bool(const YamlNode& node);
std::optional<std::int64_t> as_int(const YamlNode& node);
std::optional<double> as_float(const YamlNode& node);

/// "file:line:column".
std::string place_of(std::string_view file, const YamlNode& node);
/// A usage error at a node's place.
tl::unexpected<Error> fail_at(std::string_view file, const YamlNode& node, std::string what,
                              std::string fix = {});

}  // namespace muster::spec
