/// What git tracks in a tree: files that ignore rules do not leave out. Read when it is first asked
/// for. Any thread; the top folder must stay open as long as this lives.
#pragma once
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/tree/git_index.hpp"

namespace muster::fs {

class Tracked {
 public:
  /// `index` is git's, relative to the top or absolute.
  Tracked(int top, std::string index) : top_(top), index_(std::move(index)) {}
  tree::GitIndex::Holds holds(std::string_view path) const;
  /// Why nothing is held to be tracked although there is an index; empty when all is well.
  std::string fault() const;

 private:
  void read() const;
  int top_;
  std::string index_;
  mutable std::once_flag once_;
  mutable std::mutex mutex_;  // guards fault_, which may be asked for while others read
  mutable std::string fault_;
  mutable tree::GitIndex names_;
};

}  // namespace muster::fs
