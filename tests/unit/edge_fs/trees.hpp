/// Trees on a disk for tests of walks.
#pragma once
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "edge/fs/walk.hpp"
#include "unit/edge_sqlite/builders.hpp"

namespace muster::test {

class Tree {
 public:
  Tree();
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree();
  const std::string& top() const { return top_; }
  std::string path(const std::string& name) const { return top_ + "/" + name; }
  /// Folders above are made.
  void file(const std::string& name, std::string_view bytes = "") const;
  void folder(const std::string& name) const;
  void link(const std::string& name, const std::string& target) const;
  /// Folders in folders, all of this name.
  void chain(int depth, const std::string& name) const;
  /// How many entries there are.
  std::size_t count() const;

 private:
  TempFolder folder_;
  std::string top_;
};

/// What a walk sees, in its order.
std::vector<std::string> paths_of(const Tree& tree, const fs::WalkOptions& options = {});

}  // namespace muster::test
