/// The real git as the judge of ignore rules: a repository of its own, no configuration of anybody.
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "unit/edge_sqlite/builders.hpp"

namespace muster::test {

class GitOracle {
 public:
  GitOracle();
  const std::string& top() const { return top_; }
  /// Writes a file of the repository; its folders are made.
  void write(const std::string& path, std::string_view bytes) const;
  /// Those of the paths (relative to the top) that git ignores. One run of git for all of them.
  std::set<std::string> ignored(const std::vector<std::string>& paths) const;
  /// Tracks the paths, ignored or not; some with nothing but their names when `intends`.
  void track(const std::vector<std::string>& paths, bool intends = false) const;
  /// What git has or would take: tracked files, and others that are not ignored.
  std::set<std::string> files() const;
  /// A git command in the top folder.
  void git(const std::string& arguments) const;

 private:
  TempFolder folder_;
  std::string top_;
};

}  // namespace muster::test
