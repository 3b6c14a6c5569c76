#include "core/tree/wire.hpp"

#include <algorithm>

namespace muster::tree {

void put_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

void put_u64(std::string& out, std::uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(value >> shift);
}

void put_hash(std::string& out, const Hash& hash) {
  out.append(reinterpret_cast<const char*>(hash.bytes.data()), hash.bytes.size());
}

void Cursor::break_off() {
  is_broken_ = true;
  rest_ = {};
}

std::uint64_t Cursor::varint() {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < rest_.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(rest_[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << (7 * i);
    if (byte >= 0x80) continue;
    // A last byte of zero says nothing, and the tenth has room for one bit.
    const bool is_longer_than_needed = i > 0 && byte == 0;
    const bool is_too_large = i == 9 && byte > 1;
    if (is_longer_than_needed || is_too_large) break;
    rest_.remove_prefix(i + 1);
    return value;
  }
  break_off();
  return 0;
}

std::uint64_t Cursor::u64() {
  const auto bytes = take(8);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return value;
}

Hash Cursor::hash() {
  Hash hash;
  const auto bytes = take(hash.bytes.size());
  std::copy(bytes.begin(), bytes.end(), hash.bytes.begin());
  return hash;
}

std::string_view Cursor::take(std::uint64_t size) {
  if (size > rest_.size()) {
    break_off();
    return {};
  }
  const auto bytes = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return bytes;
}

}  // namespace muster::tree
