#include "core/tree/glob.hpp"

#include <algorithm>

#include "core/tree/bracket.hpp"

namespace muster::tree {
namespace {

constexpr std::string_view kWild = "*?[\\";

}  // namespace

/// Cuts what follows the first wildcard into parts. False: the glob is broken.
class Glob::Compiler {
 public:
  Compiler(Glob& glob, std::string_view text) : glob_(glob), text_(text) {}

  bool run() {
    while (at_ < text_.size())
      if (!read_one()) return false;
    // "a/**" ends with its deep part; after every other slash there is a part, even an empty one.
    if (!ends_deep_) end_part();
    return true;
  }

 private:
  using Kind = Token::Kind;

  bool read_one() {
    ends_deep_ = false;
    const char c = text_[at_];
    if (c == '*') return read_stars();
    if (c == '[') return read_set();
    if (c == '\\' && ++at_ == text_.size()) return false;
    if (text_[at_] == '/') {
      end_part();
    } else {
      const bool is_any = c == '?';
      add({.kind = is_any ? Kind::any : Kind::byte,
           .byte = static_cast<std::uint8_t>(text_[at_]),
           .set = 0});
    }
    ++at_;
    return true;
  }

  bool read_stars() {
    const auto end = std::min(text_.find_first_not_of('*', at_), text_.size());
    const auto rest = text_.substr(end);
    const bool is_part = rest.empty() || rest.starts_with('/') || rest.starts_with("\\/");
    const bool is_deep = end - at_ >= 2 && is_part && is_at_start();
    at_ = end;
    if (!is_deep) {
      add({.kind = Kind::star, .byte = 0, .set = 0});
      return true;
    }
    // git lets "**/" stand for no folder at all, but not "**\/".
    if (rest.starts_with('\\')) {
      add({.kind = Kind::star, .byte = 0, .set = 0});
      end_part();
      ++at_;
    }
    add_deep();
    if (!rest.empty()) ++at_;
    ends_deep_ = rest.empty();
    return true;
  }

  bool read_set() {
    const auto set = read_bracket(text_, at_);
    if (!set) return false;
    add({.kind = Kind::set, .byte = 0, .set = static_cast<std::uint32_t>(glob_.sets_.size())});
    glob_.sets_.push_back(*set);
    return true;
  }

  bool is_at_start() const { return first_ == count(); }
  std::uint32_t count() const { return static_cast<std::uint32_t>(glob_.tokens_.size()); }
  void add(Token token) { glob_.tokens_.push_back(token); }
  void end_part() {
    glob_.parts_.push_back({.is_deep = false, .first = first_, .end = count()});
    first_ = count();
  }
  void add_deep() {
    // Any number of parts twice is any number of parts; one is enough.
    if (glob_.parts_.empty() || !glob_.parts_.back().is_deep)
      glob_.parts_.push_back({.is_deep = true, .first = first_, .end = first_});
  }

  Glob& glob_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t first_ = 0;  // the first token of the part being read
  bool ends_deep_ = false;
};

// git compares what stands before the first wildcard by itself and takes the rest for a glob of its
// own. It shows: in "a/b**/c" the "**" then begins a glob, and crosses slashes. So it does here.
Glob::Glob(std::string_view text)
    : start_(text.substr(0, std::min(text.find_first_of(kWild), text.size()))) {
  const auto rest = text.substr(start_.size());
  const auto ending = rest.substr(std::min<std::size_t>(1, rest.size()));
  if (rest.empty()) {
    shape_ = Shape::literal;
  } else if (rest.front() == '*' && ending.find_first_of("*?[\\/") == std::string_view::npos) {
    shape_ = Shape::ending;
    ending_ = ending;
  } else {
    shape_ = Compiler(*this, rest).run() ? Shape::parts : Shape::broken;
  }
  note_ends();
}

void Glob::note_ends() {
  if (!start_.empty()) first_ = byte_of(start_.front());
  if (shape_ == Shape::literal && !start_.empty()) last_ = byte_of(start_.back());
  if (shape_ == Shape::ending && !ending_.empty()) last_ = byte_of(ending_.back());
  if (shape_ != Shape::parts || parts_.back().first == parts_.back().end) return;
  if (tokens_.back().kind == Token::Kind::byte) last_ = tokens_.back().byte;
}

bool Glob::matches_all(std::string_view path) const {
  if (!path.starts_with(start_)) return false;
  const auto rest = path.substr(start_.size());
  switch (shape_) {
    case Shape::literal: return rest.empty();
    case Shape::ending: return rest.ends_with(ending_) && rest.find('/') == std::string_view::npos;
    case Shape::parts: return matches_parts(rest);
    case Shape::broken: return false;
  }
  return false;
}

// Parts against names, from the left. When a name does not fit, only the last "**" may take one
// name more: whatever an earlier one could take, the last one can take as well.
bool Glob::matches_parts(std::string_view text) const {
  constexpr auto kNone = std::string_view::npos;
  std::size_t part = 0, at = 0;                // at == kNone: all names are taken
  std::size_t deep_part = kNone, deep_at = 0;  // where to go on after the last "**"
  for (;;) {
    if (part == parts_.size() && at == kNone) return true;
    if (part < parts_.size() && at != kNone && parts_[part].is_deep) {
      if (++part == parts_.size()) return true;
      deep_part = part;
      deep_at = at;
      continue;
    }
    if (at == kNone) return false;
    const auto slash = text.find('/', at);
    const auto name = text.substr(at, slash == kNone ? kNone : slash - at);
    if (part < parts_.size() && matches_part(parts_[part], name)) {
      ++part;
      at = slash == kNone ? kNone : slash + 1;
      continue;
    }
    if (deep_part == kNone) return false;
    const auto next = text.find('/', deep_at);
    if (next == kNone) return false;
    part = deep_part;
    at = deep_at = next + 1;
  }
}

// The last star takes one byte more when what follows does not fit; earlier ones need not.
bool Glob::matches_part(const Part& part, std::string_view name) const {
  constexpr std::uint32_t kNoStar = 0;  // what follows a star is never token 0
  std::uint32_t token = part.first, after_star = kNoStar;
  std::size_t at = 0, star_at = 0;
  while (at < name.size()) {
    if (token < part.end && tokens_[token].kind == Token::Kind::star) {
      after_star = ++token;
      star_at = at;
    } else if (token < part.end && takes(tokens_[token], name[at])) {
      ++token;
      ++at;
    } else if (after_star != kNoStar) {
      token = after_star;
      at = ++star_at;
    } else {
      return false;
    }
  }
  while (token < part.end && tokens_[token].kind == Token::Kind::star) ++token;
  return token == part.end;
}

bool Glob::takes(const Token& token, char c) const {
  const auto byte = static_cast<std::uint8_t>(c);
  switch (token.kind) {
    case Token::Kind::byte: return token.byte == byte;
    case Token::Kind::any: return true;
    case Token::Kind::set: return sets_[token.set].test(byte);
    case Token::Kind::star: break;
  }
  return false;
}

}  // namespace muster::tree
