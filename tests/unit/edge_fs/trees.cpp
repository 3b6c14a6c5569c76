#include "unit/edge_fs/trees.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>

#include "base/unique_fd.hpp"

namespace muster::test {

Tree::Tree() : top_(folder_.file("top")) {
  std::filesystem::create_directory(top_);
  std::filesystem::permissions(folder_.path(), std::filesystem::perms{0755});
}

// rm goes as deep as need be, with few descriptors.
Tree::~Tree() { (void)!std::system(("rm -rf " + top_).c_str()); }

void Tree::file(const std::string& name, std::string_view bytes) const {
  std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
  std::ofstream(path(name), std::ios::binary) << bytes;
}

void Tree::folder(const std::string& name) const {
  std::filesystem::create_directories(path(name));
}

void Tree::link(const std::string& name, const std::string& target) const {
  std::filesystem::create_symlink(target, path(name));
}

void Tree::chain(int depth, const std::string& name) const {
  UniqueFd at(::open(top_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < depth; ++i) {
    ASSERT_EQ(::mkdirat(at.get(), name.c_str(), 0700), 0);
    at.reset(::openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(at);
  }
}

std::size_t Tree::count() const {
  const auto all = std::filesystem::recursive_directory_iterator(top_);
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::vector<std::string> paths_of(const Tree& tree, const fs::WalkOptions& options) {
  std::vector<std::string> paths;
  must(fs::walk(tree.top(), options, [&](fs::Seen&& one) -> Result<> {
    paths.push_back(std::move(one.path));
    return {};
  }));
  return paths;
}

}  // namespace muster::test
