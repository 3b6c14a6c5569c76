// A folder as a store, and what only a folder can show: modes, leftovers, a full disk.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "contract/blobs/stage.hpp"
#include "edge/blob/file_store.hpp"

namespace muster::contract {
namespace {

using test::must;

class FileStage final : public BlobStage {
 public:
  std::string url() const override { return "file://" + folder_.file("a store/below"); }
  void die_in_put() const override {
    // Beyond this size a write is answered with a signal that kills.
    constexpr rlimit kHalf{1U << 20, 1U << 20};
    constexpr rlimit kNone{0, 0};
    ::signal(SIGXFSZ, SIG_DFL);
    ::setrlimit(RLIMIT_FSIZE, &kHalf);
    ::setrlimit(RLIMIT_CORE, &kNone);
  }

 private:
  test::TempFolder folder_;
};

class FileBlobs : public ::testing::Test {
 protected:
  std::size_t leftovers() const {
    const std::filesystem::directory_iterator all(folder.path() / "store/v1/tmp");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
  test::TempFolder folder;
  FileStore store{folder.file("store")};
};

TEST_F(FileBlobs, AreForTheirOwnerOnly) {
  must(store.put("v1/packs/ab/x", "x"));
  struct stat about{};
  for (const char* path : {"store", "store/v1", "store/v1/packs/ab"}) {
    ASSERT_EQ(::stat(folder.file(path).c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0700U) << path;
  }
  ASSERT_EQ(::stat(folder.file("store/v1/packs/ab/x").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600U);
}

TEST_F(FileBlobs, OfASharedFolderAreForWhoeverMayReadIt) {
  const auto shared = folder.file("shared");
  ASSERT_EQ(::mkdir(shared.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(shared.c_str(), 02775), 0);
  const auto before = ::umask(077);  // as the server's
  FileStore blobs(shared, FileStore::Access::as_folder);
  must(blobs.put("v1/packs/ab/x", "x"));
  must(blobs.lock(BlobStore::LockKind::shared));
  ::umask(before);
  struct stat about{};
  for (const char* path : {"shared/v1", "shared/v1/packs/ab", "shared/v1/tmp"}) {
    ASSERT_EQ(::stat(folder.file(path).c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 07777, 02775U) << path;
  }
  for (const char* path : {"shared/v1/packs/ab/x", "shared/lock"}) {
    ASSERT_EQ(::stat(folder.file(path).c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0644U) << path;
  }
}

TEST_F(FileBlobs, ASharedFolderThatIsNotThereIsNotMade) {
  FileStore blobs(folder.file("nowhere"), FileStore::Access::as_folder);
  EXPECT_EQ(blobs.put("x", "x").error().kind, Kind::not_found);
  EXPECT_FALSE(std::filesystem::exists(folder.file("nowhere")));
}

TEST_F(FileBlobs, APutLeavesNoTemporary) {
  must(store.put("x", "first"));
  must(store.put("x", "second"));
  EXPECT_EQ(leftovers(), 0U);
}

TEST_F(FileBlobs, TheStoresOwnFilesAreNoObjects) {
  for (const char* name : {"lock", "v1/tmp", "v1/tmp/x"}) {
    EXPECT_EQ(store.put(name, "x").error().kind, Kind::usage) << name;
    EXPECT_EQ(store.remove(name).error().kind, Kind::usage) << name;
  }
  must(store.put("v1/tmpx", "x"));
}

TEST_F(FileBlobs, AnObjectAndAFolderCannotShareAName) {
  must(store.put("a/b", "x"));
  EXPECT_EQ(store.put("a", "x").error().kind, Kind::conflict);
  EXPECT_EQ(store.put("a/b/c", "x").error().kind, Kind::conflict);
  must(store.remove("a"));
  EXPECT_EQ(must(store.get("a/b", 0, 1)), "x");
}

TEST_F(FileBlobs, NoLinkIsFollowedToAnObject) {
  must(store.put("v1/x", "x"));
  std::filesystem::create_symlink("x", folder.file("store/v1/link"));
  EXPECT_FALSE(store.look("v1/link"));
  EXPECT_FALSE(store.get("v1/link", 0, 1));
}

TEST_F(FileBlobs, OnlyOldTemporariesAreSwept) {
  must(store.put("x", "x"));
  for (const char* name : {"old", "new"})
    std::ofstream(folder.path() / "store/v1/tmp" / name) << "half";
  const auto old = folder.path() / "store/v1/tmp/old";
  const auto now = std::filesystem::last_write_time(old);
  std::filesystem::last_write_time(old, now - std::chrono::hours(25));
  EXPECT_EQ(must(store.sweep_temporaries()), 1);
  EXPECT_EQ(leftovers(), 1U);
  std::filesystem::last_write_time(folder.path() / "store/v1/tmp/new",
                                   now - std::chrono::hours(25));
  must(store.lock(BlobStore::LockKind::exclusive));
  EXPECT_EQ(leftovers(), 0U) << "who collects sweeps as well";
}

/// Puts until the disk is full; 0 when all is as it should be, else a number that says what was
/// not.
int fill(const std::string& folder) {
  FileStore store(folder + "/store");
  const std::string bytes(100'000, 'x');
  for (int i = 0; i < 100; ++i) {
    const auto name = fmt::format("v1/packs/{}", i);
    const auto put = store.put(name, bytes);
    if (put) continue;
    if (put.error().kind != Kind::exhausted) return 2;
    if (put.error().what != fmt::format("the disk of {}/store is full", folder)) return 3;
    if (put.error().fix.empty()) return 4;
    if (store.look(name)) return 5;
    if (!std::filesystem::is_empty(folder + "/store/v1/tmp")) return 6;
    if (i == 0 || !store.remove("v1/packs/0") || !store.put(name, bytes)) return 7;
    return store.get(name, 0, bytes.size()).value_or("") == bytes ? 0 : 8;
  }
  return 9;
}

constexpr int kMayNotMount = 77;

TEST_F(FileBlobs, AFullDiskIsSaidInWordsAndLosesNothing) {
  const auto disk = folder.file("disk");
  std::filesystem::create_directory(disk);
  const auto child = ::fork();
  if (child == 0) {
    const int spaces = CLONE_NEWNS | (::geteuid() == 0 ? 0 : CLONE_NEWUSER);
    if (::unshare(spaces) != 0) ::_exit(kMayNotMount);
    (void)::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (::mount("none", disk.c_str(), "tmpfs", 0, "size=1m") != 0) ::_exit(kMayNotMount);
    ::_exit(fill(disk));
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kMayNotMount) GTEST_SKIP() << "no disk can be mounted here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace

std::unique_ptr<BlobStage> file_blob_stage() { return std::make_unique<FileStage>(); }

}  // namespace muster::contract
