/// Bytes of manifests and packs: numbers of variable length (7 bits a byte, low first), fixed
/// numbers little-endian, hashes as they are. Every value has exactly one form.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/tree/entry.hpp"

namespace muster::tree {

void put_varint(std::string& out, std::uint64_t value);
void put_u64(std::string& out, std::uint64_t value);
void put_hash(std::string& out, const Hash& hash);

/// Reads bytes nobody vouches for. What does not fit breaks the cursor: from then on it gives zeros
/// and nothing, so that a reader asks once for each record instead of once for each number.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : rest_(bytes) {}
  std::uint64_t varint();
  std::uint64_t u64();
  Hash hash();
  std::string_view take(std::uint64_t size);
  std::size_t left() const { return rest_.size(); }
  bool is_broken() const { return is_broken_; }

 private:
  void break_off();
  std::string_view rest_;
  bool is_broken_ = false;
};

}  // namespace muster::tree
