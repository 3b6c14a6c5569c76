#include "edge/kube/item_splitter.hpp"

namespace muster::kube {
namespace {

constexpr std::size_t kLongestWord = 16;
constexpr int kDeepest = 200;
constexpr int kListLevel = 1;   // inside {...}
constexpr int kItemsLevel = 2;  // inside "items": [...]

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

/// Outside strings: what begins or ends something.
bool is_mark(char c) { return c == '"' || c == '{' || c == '}' || c == '[' || c == ']'; }

tl::unexpected<Error> not_a_list(std::string_view why) {
  auto failed = fail(Kind::corrupt, "the cluster's answer is not a list");
  failed.value().why = why;
  return failed;
}

}  // namespace

Result<> ItemSplitter::feed(std::string_view bytes, const OnItem& on_item) {
  for (std::size_t at = 0; at < bytes.size();) {
    at += take_plain(bytes.substr(at));
    if (at < bytes.size()) TRY_VOID(take(bytes[at++], on_item));
  }
  if (item_.size() > kLargestItem) return not_a_list("an item is larger than 16 MiB");
  if (rest_.size() > kLargestRest) return not_a_list("what is around its items is too large");
  return {};
}

/// Most of a list is within items and says nothing about where they end: taken as a piece.
std::size_t ItemSplitter::take_plain(std::string_view bytes) {
  if (!is_in_items_ || depth_ <= kItemsLevel || is_escaped_) return 0;
  std::size_t count = 0;
  if (is_in_string_)
    while (count < bytes.size() && bytes[count] != '"' && bytes[count] != '\\') ++count;
  else
    while (count < bytes.size() && !is_mark(bytes[count])) ++count;
  item_.append(bytes.substr(0, count));
  return count;
}

Result<> ItemSplitter::take(char c, const OnItem& on_item) {
  const bool is_item = is_in_items_ && depth_ > kItemsLevel;
  if (!is_in_string_) return take_outside(c, on_item);
  (is_item ? item_ : rest_) += c;
  if (is_escaped_) {
    is_escaped_ = false;
  } else if (c == '\\') {
    is_escaped_ = true;
  } else if (c == '"') {
    is_in_string_ = false;
  }
  if (depth_ == kListLevel && is_in_string_ && word_.size() < kLongestWord) word_ += c;
  return {};
}

void ItemSplitter::note_key(char c) {
  if (c == '"') word_.clear();
  if (c == ':') key_ = word_;
  if (c == ',') key_.clear();
}

Result<> ItemSplitter::take_outside(char c, const OnItem& on_item) {
  if (depth_ == 0 && !is_space(c) && (c != '{' || is_begun_)) return not_a_list("it is no object");
  if (depth_ == kListLevel) note_key(c);
  const bool was_item = is_in_items_ && depth_ > kItemsLevel;
  if (c == '{' || c == '[') {
    if (is_in_items_ && depth_ == kItemsLevel && c != '{')
      return not_a_list("an item is no object");
    is_begun_ = true;
    if (++depth_ > kDeepest) return not_a_list("it is nested too deep");
    if (depth_ == kItemsLevel && c == '[' && key_ == "items") {
      is_in_items_ = true;
      rest_ += c;
      return {};
    }
  } else if (c == '}' || c == ']') {
    --depth_;
    if (is_in_items_ && depth_ < kItemsLevel) is_in_items_ = false;
  }
  if (is_in_items_ && depth_ == kItemsLevel && !was_item) {
    // Between items: nothing but what separates them.
    return is_space(c) || c == ',' ? Result<>{} : not_a_list("an item is no object");
  }
  is_in_string_ = c == '"';
  if (!was_item && !is_in_items_) {
    rest_ += c;
    return {};
  }
  item_ += c;
  if (depth_ > kItemsLevel) return {};
  auto handed = on_item(item_);
  item_.clear();
  return handed;
}

Result<std::string> ItemSplitter::finish() {
  if (depth_ != 0 || is_in_string_ || !is_begun_) return not_a_list("it broke off");
  return std::move(rest_);
}

}  // namespace muster::kube
