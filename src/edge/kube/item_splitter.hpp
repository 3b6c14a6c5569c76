/// The text of a list, taken apart as it comes: the items of its "items" one at a time, and what is
/// around them. Holds one item. Only brackets and strings are understood here; each item's text is
/// for a parser to judge. Pure; one thread.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace muster::kube {

class ItemSplitter {
 public:
  using OnItem = std::function<Result<>(std::string_view item)>;
  static constexpr std::size_t kLargestItem = 16U << 20;
  static constexpr std::size_t kLargestRest = 1U << 20;

  Result<> feed(std::string_view bytes, const OnItem& on_item);
  /// What stood around the items, which are left out of it: {"metadata":{...},"items":[]}.
  Result<std::string> finish();

 private:
  std::size_t take_plain(std::string_view bytes);
  Result<> take(char c, const OnItem& on_item);
  Result<> take_outside(char c, const OnItem& on_item);
  void note_key(char c);

  int depth_ = 0;
  bool is_in_string_ = false;
  bool is_escaped_ = false;
  bool is_in_items_ = false;  // between the brackets of "items"
  bool is_begun_ = false;
  std::string word_;  // the last string directly in the list's object, if it is short
  std::string key_;   // whose value is being read there
  std::string item_;
  std::string rest_;
};

}  // namespace muster::kube
