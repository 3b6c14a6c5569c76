/// The closed list of keys a profile may have, one row each. Private to core/spec.
#pragma once
#include <span>
#include <string_view>

#include "core/spec/config.hpp"

namespace muster::spec {

enum class KeyShape : std::uint8_t { scalar, map, list };

struct ConfigKey {
  std::string_view name;
  KeyShape shape = KeyShape::scalar;
  /// Puts a value into a profile, or says why not; absent: known, not used by this version.
  /// `sub` is the part after the dot of a map's key.
  Result<> (*apply)(Profile&, std::string_view sub, std::string_view value) = nullptr;
};

std::span<const ConfigKey> profile_keys();
Result<Keep> parse_keep(std::string_view text);
Result<Spot> parse_spot(std::string_view text);
/// The row of "queue", "env.X" or "retries.user".
const ConfigKey* key_of(std::string_view key);
/// What is built in, as settings.
std::vector<Setting> built_in_settings();
Result<> apply(Profile& profile, const Setting& setting);
/// One entry of `nodes:`.
Result<NodeGroup> read_node_group(const YamlNode& node, std::string_view file);
/// "unknown key" at its place, with the nearest known one.
tl::unexpected<Error> unknown_key(std::string_view file, const YamlNode& key,
                                  std::span<const std::string> known);

constexpr int kMaxNodes = 100'000;
constexpr int kMaxPriority = 1'000'000;
constexpr int kMaxGpusPerNode = 1'024;
constexpr int kMaxRetries = 1'000'000;

}  // namespace muster::spec
