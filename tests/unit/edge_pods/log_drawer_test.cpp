// Each pod's log is asked for as seldom as its bytes allow.
#include "edge/pods/log_drawer.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>

#include "edge/fs/files.hpp"
#include "edge/fs/remove_tree.hpp"
#include "unit/edge_kube/fake_server.hpp"

namespace muster::pods {
namespace {

using kube::FakeServer;
using kube::Wire;

constexpr const char* kLog = "0o 0 hello\n";  // of rank 0: six bytes with its newline
constexpr std::int64_t kBytes = 6;

struct Folder {
  std::string path = [] {
    char name[] = "/tmp/muster-log-drawer-XXXXXX";
    return std::string(::mkdtemp(name));
  }();
  ~Folder() { fs::remove_tree(path); }
};

/// A cluster with one pod's log, and a drawer that counts what it has drawn to the end.
struct Scene {
  std::atomic<int> status = 200;
  std::atomic<bool> is_held = false;  // the answer waits
  Folder dir;
  NoLog log;
  std::atomic<int> drawn = 0;
  FakeServer server{[this](const http::Request&, Wire& wire) {
    (void)kube::eventually([this] { return !is_held; });
    return wire.answer(status, status == 200 ? kLog : kube::status_json(status, "BadRequest"));
  }};
  LogDrawer drawer{server.cluster(), log, [this](const std::string&) { ++drawn; }};

  DrawOrder order() { return {.space = "default", .pod = "p", .dir = dir.path}; }
  void follow() { drawer.draw(order()); }
  void end(std::int64_t bytes) {
    auto over = order();
    over.is_over = true;
    over.record = ExitRecord{.ranks = {{.rank = 0, .out_bytes = bytes}}};
    drawer.draw(std::move(over));
  }
  bool has_log() {
    const auto text = fs::read_file(dir.path + "/rank-00000.out");
    return text && *text == "hello\n";
  }
};

TEST(LogDrawer, WhatCameWhileThePodRanIsNotAskedForAgain) {
  Scene scene;
  scene.follow();
  ASSERT_TRUE(kube::eventually([&] { return scene.has_log(); }));
  scene.end(kBytes);
  ASSERT_TRUE(kube::eventually([&] { return scene.drawn == 1; }));
  EXPECT_EQ(scene.server.requests(), 1);
}

TEST(LogDrawer, ARecordThatTellsNoSizesProvesNothing) {
  Scene scene;
  scene.follow();
  ASSERT_TRUE(kube::eventually([&] { return scene.has_log(); }));
  scene.end(0);
  ASSERT_TRUE(kube::eventually([&] { return scene.drawn == 1; }));
  EXPECT_EQ(scene.server.requests(), 2);
}

TEST(LogDrawer, ALogThatTheNodeDoesNotHaveIsAskedForOnce) {
  for (const int status : {400, 403, 404, 405}) {
    Scene scene;
    scene.status = status;
    scene.end(kBytes);
    ASSERT_TRUE(kube::eventually([&] { return scene.drawn == 1; }));
    EXPECT_EQ(scene.server.requests(), 1) << status;
  }
}

TEST(LogDrawer, AnEndThatIsBeingDrawnIsNotDrawnAgain) {
  Scene scene;
  scene.is_held = true;
  scene.end(kBytes);
  ASSERT_TRUE(kube::eventually([&] { return scene.server.requests() == 1; }));
  scene.end(kBytes);  // seen again while it is under way
  scene.is_held = false;
  ASSERT_TRUE(kube::eventually([&] { return scene.drawn == 1; }));
  scene.status = 404;
  scene.drawer.draw({.space = "default", .pod = "other", .dir = scene.dir.path, .is_over = true});
  ASSERT_TRUE(kube::eventually([&] { return scene.drawn == 2; }));
  EXPECT_EQ(scene.server.requests(), 2) << "one for each pod";
}

}  // namespace
}  // namespace muster::pods
