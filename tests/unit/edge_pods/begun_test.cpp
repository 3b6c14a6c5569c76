// What a launch may have left behind is known to whoever comes after it.
#include "edge/pods/begun.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "edge/fs/remove_tree.hpp"

namespace muster::pods {
namespace {

struct Home {
  std::string path = [] {
    char name[] = "/tmp/muster-begun-XXXXXX";
    return std::string(::mkdtemp(name));
  }();
  ~Home() { fs::remove_tree(path); }
};

using Names = std::vector<std::string>;

TEST(Begun, IsKnownToTheNextServerUntilItIsDone) {
  Home home;
  const Begun first(home.path, "127.0.0.1:6443-research");
  EXPECT_EQ(first.names(), Names{});
  first.add("m-1-h-1");
  first.add("m-2-h-1");
  first.add("m-2-h-1");
  const Begun next(home.path, "127.0.0.1:6443-research");
  EXPECT_EQ(next.names(), (Names{"m-1-h-1", "m-2-h-1"}));
  next.remove("m-1-h-1");
  next.remove("m-1-h-1");
  EXPECT_EQ(first.names(), Names{"m-2-h-1"});
}

TEST(Begun, IsOfOneClusterAndNamespace) {
  Home home;
  Begun(home.path, "one:443/prefix-a").add("m-1-h-1");
  EXPECT_EQ(Begun(home.path, "one:443/prefix-b").names(), Names{});
  EXPECT_EQ(Begun(home.path, "one:443/prefix-a").names(), Names{"m-1-h-1"});
}

}  // namespace
}  // namespace muster::pods
