#include "core/tree/bracket.hpp"

namespace muster::tree {
namespace {

constexpr bool is_within(int c, int low, int high) { return low <= c && c <= high; }
constexpr bool is_digit(int c) { return is_within(c, '0', '9'); }
constexpr bool is_upper(int c) { return is_within(c, 'A', 'Z'); }
constexpr bool is_lower(int c) { return is_within(c, 'a', 'z'); }
constexpr bool is_alpha(int c) { return is_upper(c) || is_lower(c); }
constexpr bool is_alnum(int c) { return is_alpha(c) || is_digit(c); }
constexpr bool is_graph(int c) { return is_within(c, 0x21, 0x7e); }

struct ByteClass {
  std::string_view name;
  bool (*has)(int c);
};

// ASCII whatever the locale, and as git has them: vertical tab and form feed are no space.
constexpr ByteClass kClasses[] = {
    {"alnum", is_alnum},
    {"alpha", is_alpha},
    {"blank", [](int c) { return c == ' ' || c == '\t'; }},
    {"cntrl", [](int c) { return c < 0x20 || c == 0x7f; }},
    {"digit", is_digit},
    {"graph", is_graph},
    {"lower", is_lower},
    {"print", [](int c) { return is_within(c, 0x20, 0x7e); }},
    {"punct", [](int c) { return is_graph(c) && !is_alnum(c); }},
    {"space", [](int c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }},
    {"upper", is_upper},
    {"xdigit",
     [](int c) { return is_digit(c) || is_within(c, 'a', 'f') || is_within(c, 'A', 'F'); }},
};

void add_range(ByteSet& set, int first, int last) {
  for (int c = first; c <= last; ++c) set.set(static_cast<std::size_t>(c));
}

bool add_class(ByteSet& set, std::string_view name) {
  for (const auto& row : kClasses) {
    if (row.name != name) continue;
    for (int c = 0; c < 256; ++c)
      if (row.has(c)) set.set(static_cast<std::size_t>(c));
    return true;
  }
  return false;
}

/// The inside of one bracket, read from the left.
class Reader {
 public:
  Reader(std::string_view glob, std::size_t at) : glob_(glob), at_(at) {}

  std::optional<ByteSet> read() {
    const bool is_negated = peek() == '!' || peek() == '^';
    if (is_negated) ++at_;
    // A ']' that comes first is one of the bytes.
    for (bool is_first = true; is_first || peek() != ']'; is_first = false)
      if (!read_one()) return std::nullopt;
    ++at_;
    return is_negated ? ~set_ : set_;
  }
  std::size_t at() const { return at_; }

 private:
  static constexpr int kNone = -1;

  int peek(std::size_t ahead = 0) const {
    return at_ + ahead < glob_.size() ? static_cast<unsigned char>(glob_[at_ + ahead]) : kNone;
  }
  /// A byte, or the one behind a '\'.
  int take_byte() {
    if (peek() == '\\') ++at_;
    const int c = peek();
    ++at_;
    return c;
  }

  /// A byte, a range or a class; false when the bracket is broken.
  bool read_one() {
    if (peek() == kNone) return false;
    if (peek() == '[' && peek(1) == ':') return read_class();
    const bool has_end = peek(1) != kNone && peek(1) != ']';
    if (peek() == '-' && before_ != kNone && has_end) return read_range();
    return add(take_byte());
  }

  bool add(int c) {
    before_ = c;
    if (c == kNone) return false;
    set_.set(static_cast<std::size_t>(c));
    return true;
  }

  bool read_range() {
    ++at_;
    const int last = take_byte();
    if (last == kNone) return false;
    add_range(set_, before_, last);
    before_ = kNone;  // a range does not begin the next one
    return true;
  }

  bool read_class() {
    const auto close = glob_.find(']', at_ + 2);
    if (close == std::string_view::npos) return false;
    // Without ":]" at the end it is no class, and the '[' a byte like others.
    if (close == at_ + 2 || glob_[close - 1] != ':') return add(take_byte());
    const auto name = glob_.substr(at_ + 2, close - 1 - (at_ + 2));
    at_ = close + 1;
    before_ = kNone;
    return add_class(set_, name);
  }

  std::string_view glob_;
  std::size_t at_;
  int before_ = kNone;  // what a range would begin with
  ByteSet set_;
};

}  // namespace

std::optional<ByteSet> read_bracket(std::string_view glob, std::size_t& at) {
  Reader reader(glob, at + 1);
  const auto set = reader.read();
  at = reader.at();
  return set;
}

}  // namespace muster::tree
