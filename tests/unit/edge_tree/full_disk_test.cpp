#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#include "edge/fs/files.hpp"
#include "edge/tree/restore.hpp"
#include "edge/tree/verify.hpp"
#include "unit/edge_tree/lab.hpp"

namespace muster::test {
namespace {

/// A disk of a few MiB. In a mount namespace of this thread: nothing is left behind.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& at) : at_(at) {
    is_there_ = ::unshare(CLONE_NEWNS) == 0 &&
                ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                ::mount("small", at.c_str(), "tmpfs", 0, "size=6m") == 0;
  }
  ~SmallDisk() {
    if (is_there_) ::umount2(at_.c_str(), MNT_DETACH);
  }
  bool is_there() const { return is_there_; }
  void grow() const {
    ASSERT_EQ(::mount("small", at_.c_str(), "tmpfs", MS_REMOUNT, "size=200m"), 0);
  }

 private:
  std::string at_;
  bool is_there_ = false;
};

void fill(const Lab& lab) {
  Rng rng(21);
  for (int i = 0; i < 30; ++i) lab.file(fmt::format("f{}", i), noise(rng, 900'000));
}

void expect_full(const Error& error) {
  EXPECT_EQ(error.kind, Kind::exhausted) << to_text(error);
  EXPECT_FALSE(error.fix.empty());
}

TEST(FullDisk, StopsASendAndNothingIsBroken) {
  Lab lab;
  fill(lab);
  const auto at = lab.room("disk");
  const SmallDisk disk(at);
  if (!disk.is_there()) GTEST_SKIP() << "mounting a small disk is not allowed here";
  FileStore blobs(at + "/store");
  const auto sent = snapshot::send_tree(blobs, lab.options());
  ASSERT_FALSE(sent);
  expect_full(sent.error());
  const auto between = must(snapshot::verify(blobs, false));
  EXPECT_TRUE(between.faults.empty());
  EXPECT_EQ(between.trees, 0U);
  disk.grow();
  const auto again = must(snapshot::send_tree(blobs, lab.options()));
  const auto after = must(snapshot::verify(blobs, false));
  EXPECT_TRUE(after.faults.empty());
  EXPECT_EQ(after.trees, 1U);
  EXPECT_EQ(again.id, lab.id_without_cache());
}

TEST(FullDisk, StopsARestoreAndLeavesTheRoomFree) {
  Lab lab;
  fill(lab);
  const auto sent = lab.send();
  const auto at = lab.room("disk");
  const SmallDisk disk(at);
  if (!disk.is_there()) GTEST_SKIP() << "mounting a small disk is not allowed here";
  const auto failed = snapshot::restore_once(lab.blobs(), sent.id, at + "/trees");
  ASSERT_FALSE(failed);
  expect_full(failed.error());
  struct statvfs room{};
  ASSERT_EQ(::statvfs(at.c_str(), &room), 0);
  EXPECT_GT(room.f_bavail * room.f_bsize, 5U << 20);
  disk.grow();
  const auto folder = must(snapshot::restore_once(lab.blobs(), sent.id, at + "/trees"));
  EXPECT_EQ(difference(picture_of(lab.top()), picture_of(folder)), "");
}

TEST(FullDisk, OfTheCacheCostsTheCacheOnly) {
  Lab lab;
  for (int i = 0; i < 20'000; ++i) lab.file(fmt::format("a-rather-long-name-of-a-file-{}", i), "");
  lab.file("last", "the last one");
  const auto at = lab.room("disk");
  const SmallDisk disk(at);
  if (!disk.is_there()) GTEST_SKIP() << "mounting a small disk is not allowed here";
  std::ofstream(at + "/ballast") << std::string((6 << 20) - 500'000, 'x');
  auto how = lab.options();
  how.cache_file = at + "/cache";
  const auto sent = must(snapshot::send_tree(lab.blobs(), how));
  EXPECT_EQ(sent.root.entries, 20'001U);
  EXPECT_EQ(fs::entries(at), std::vector<std::string>{"ballast"});
}

}  // namespace
}  // namespace muster::test
