/// A glob of git's ignore files, compiled once and matched often. Pure; paths are bytes.
/// '*' and '?' stop at '/', "**" between slashes does not; "[a-z]", "[!a]", "[[:alpha:]]"; '\'
/// takes the next byte as it is. A glob that is broken (an open bracket, a '\' at the end) matches
/// nothing. Matching takes time of at most the product of both lengths.
#pragma once
#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::tree {

using ByteSet = std::bitset<256>;

class Glob {
 public:
  explicit Glob(std::string_view text);
  /// Whether all of the path matches; it is relative, without empty parts.
  bool matches(std::string_view path) const {
    // Most names fail here: their first or last byte is another one.
    if (path.empty() || (first_ != kAnyByte && byte_of(path.front()) != first_) ||
        (last_ != kAnyByte && byte_of(path.back()) != last_))
      return false;
    return matches_all(path);
  }

 private:
  enum class Shape : std::uint8_t { literal, ending, parts, broken };
  struct Token {
    enum class Kind : std::uint8_t { byte, any, set, star } kind = Kind::byte;
    std::uint8_t byte = 0;
    std::uint32_t set = 0;  // which of sets_
  };
  /// What stands between two slashes: tokens, or "**" for any number of parts.
  struct Part {
    bool is_deep = false;
    std::uint32_t first = 0;  // its tokens
    std::uint32_t end = 0;
  };
  class Compiler;

  static constexpr std::int16_t kAnyByte = -1;
  static std::int16_t byte_of(char c) { return static_cast<unsigned char>(c); }
  void note_ends();
  bool matches_all(std::string_view path) const;
  bool matches_parts(std::string_view text) const;
  bool matches_part(const Part& part, std::string_view name) const;
  bool takes(const Token& token, char c) const;

  Shape shape_ = Shape::literal;
  std::int16_t first_ = kAnyByte;  // what a path must begin and end with
  std::int16_t last_ = kAnyByte;
  std::string start_;   // up to the first wildcard
  std::string ending_;  // of "*ending"
  std::vector<Part> parts_;
  std::vector<Token> tokens_;
  std::vector<ByteSet> sets_;
};

}  // namespace muster::tree
