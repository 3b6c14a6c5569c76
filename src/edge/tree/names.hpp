/// Where the parts of snapshots lie in a store (docs/reference/store.md).
#pragma once
#include <string>

#include "core/tree/entry.hpp"

namespace muster::snapshot {

inline std::string pack_name(const tree::Hash& hash) {
  const auto hex = tree::to_hex(hash);
  return "v1/packs/" + hex.substr(0, 2) + "/" + hex;
}
inline std::string tree_name(const tree::Hash& id) { return "v1/trees/" + tree::to_hex(id); }
inline std::string pin_name(const std::string& nonce) { return "v1/pins/" + nonce; }

/// The hash at the end of an object's name; nothing when it is none.
inline std::optional<tree::Hash> hash_in_name(std::string_view name) {
  return tree::from_hex(name.substr(name.rfind('/') + 1));
}

}  // namespace muster::snapshot
