#include "edge/sqlite/store.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "base/rng.hpp"
#include "edge/sqlite/records.hpp"
#include "unit/edge_sqlite/builders.hpp"

namespace muster {
namespace {

using test::must;
using test::queued_job;
using test::TempFolder;
using test::Writer;

/// Files of this process may not grow beyond a size: a disk that is full, for everybody.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    before_ = ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &limit_);
    rlimit tight{bytes, limit_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &tight);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &limit_);
    ::signal(SIGXFSZ, before_);
  }

 private:
  rlimit limit_{};
  sighandler_t before_ = SIG_DFL;
};

struct SqliteStoreTest : testing::Test {
  TempFolder folder;
  NoLog log;
  std::string path = folder.file("store.db");
  Writer writer;

  std::unique_ptr<SqliteStore> open(StoreOptions options = {}) {
    return must(open_store(path, log, options));
  }
  Batch large_batch(JobSeq seq, std::size_t name_bytes = 200'000) {
    auto job = queued_job(seq);
    job.name = std::string(name_bytes, 'n');
    return writer.submit(job);
  }
};

TEST_F(SqliteStoreTest, TheClocksOfTheLastCommitComeBack) {
  {
    auto store = open();
    EXPECT_EQ(must(store->clock_mark()).run.us, 0);
    store->set_boot_id("6f1c-boot");
    must(store->commit({.now = {{2'000}, {500}}}));
  }
  const auto mark = must(open()->clock_mark());
  EXPECT_EQ(mark.run.us, 500);
  EXPECT_EQ(mark.wall.us, 2'000);
  EXPECT_EQ(mark.boot_id, "6f1c-boot");
  EXPECT_GT(mark.boottime_us, 0);
}

TEST_F(SqliteStoreTest, NegativeAndUnknownClocksAreKeptToo) {
  auto store = open();
  must(store->commit({.now = {{-7}, {-5}}}));
  const auto mark = must(store->clock_mark());
  EXPECT_EQ(mark.wall.us, -7);
  EXPECT_EQ(mark.run.us, -5);
  EXPECT_EQ(mark.boot_id, "");
}

TEST_F(SqliteStoreTest, EveryHomeHasItsOwnKeyAndId) {
  auto here = open();
  auto there = must(open_store(folder.file("other.db"), log));
  EXPECT_NE(must(here->load()).id_key, must(there->load()).id_key);
  EXPECT_NE(must(here->home_id()), must(there->home_id()));
}

TEST_F(SqliteStoreTest, AFullStoreRefusesAndStaysUsable) {
  auto store = open({.page_limit = 40});
  must(store->commit(writer.submit(queued_job(1))));
  const auto before = writer.last();
  const auto refused = store->commit(large_batch(2));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Kind::exhausted);
  EXPECT_EQ(must(store->load()).last_event, before);
  writer = Writer(before);
  must(store->commit(writer.submit(queued_job(2))));
  EXPECT_EQ(must(store->load()).jobs.size(), 2U);
}

TEST_F(SqliteStoreTest, ADiskThatFillsUpAnywhereInACommitLosesNothing) {
  auto store = open();
  must(store->commit(writer.submit(queued_job(1))));
  const auto wal = std::filesystem::file_size(path + "-wal");
  int refusals = 0;
  // The log may grow a little more each time, until the commit passes untouched.
  for (rlim_t room = 0;; room += 700) {
    const auto before = must(store->load());
    const auto batch = large_batch(2, 10'000);
    Result<> result;
    {
      const FileSizeLimit limit(wal + room);
      result = store->commit(batch);
    }
    const auto after = must(store->load());
    if (result) {
      EXPECT_EQ(after.last_event, before.last_event + 1);
      break;
    }
    ++refusals;
    ASSERT_EQ(result.error().kind, Kind::exhausted) << to_text(result.error());
    ASSERT_EQ(after.last_event, before.last_event);
    ASSERT_EQ(after.jobs.size(), before.jobs.size());
    writer = Writer(before.last_event);
  }
  EXPECT_GT(refusals, 50);
  must(store->check());
  store.reset();
  EXPECT_EQ(must(open()->load()).jobs.size(), 2U);
}

TEST_F(SqliteStoreTest, ARealFullDiskHealsOnTheSameObject) {
  const auto mount_point = folder.file("small");
  std::filesystem::create_directory(mount_point);
  if (::mount("tmpfs", mount_point.c_str(), "tmpfs", 0, "size=512k") != 0)
    GTEST_SKIP() << "mounting needs privileges";
  {
    auto store = must(open_store(mount_point + "/store.db", log));
    must(store->commit(writer.submit(queued_job(1))));
    const auto before = writer.last();
    {
      std::ofstream(mount_point + "/filler") << std::string(1 << 20, 'x');
    }
    const auto refused = store->commit(large_batch(2));
    EXPECT_TRUE(!refused && refused.error().kind == Kind::exhausted);
    std::filesystem::remove(mount_point + "/filler");
    writer = Writer(before);
    must(store->commit(writer.submit(queued_job(2))));
    EXPECT_EQ(must(store->load()).jobs.size(), 2U);
  }
  EXPECT_EQ(::umount(mount_point.c_str()), 0);
}

TEST_F(SqliteStoreTest, TheLogIsMovedWhenItGrowsBeyondItsLimit) {
  auto store = open({.wal_limit = 256 << 10});
  must(store->commit(large_batch(1)));
  const auto one_batch = std::filesystem::file_size(path + "-wal");
  for (JobSeq seq = 2; seq <= 40; ++seq) must(store->commit(large_batch(seq)));
  EXPECT_LT(std::filesystem::file_size(path + "-wal"), one_batch * 10) << "not all 40 of them";
  EXPECT_EQ(must(store->load()).jobs.size(), 40U);
}

TEST_F(SqliteStoreTest, AnIdleServerMovesTheLog) {
  auto store = open();
  const auto size = std::filesystem::file_size(path);
  must(store->commit(large_batch(1)));
  EXPECT_EQ(std::filesystem::file_size(path), size);
  must(store->checkpoint_if_idle());
  EXPECT_GT(std::filesystem::file_size(path), size);
}

TEST_F(SqliteStoreTest, AReaderThatStaysDoesNotStopCommits) {
  auto store = open({.wal_limit = 64 << 10});
  must(store->commit(writer.submit(queued_job(1))));
  auto reader = must(sqlite::Db::open(path, sqlite::OpenMode::read_only));
  auto rows = must(reader.statement("SELECT seq FROM jobs"));
  ASSERT_TRUE(must(rows.step()));  // from here on its snapshot is held
  for (JobSeq seq = 2; seq <= 10; ++seq) must(store->commit(large_batch(seq)));
  must(store->checkpoint_if_idle());
  EXPECT_EQ(must(store->load()).jobs.size(), 10U);
  EXPECT_FALSE(must(rows.step())) << "the snapshot has one job";
}

TEST_F(SqliteStoreTest, FlippedBytesAreDamageOrHarmlessButNeverACrash) {
  {
    auto store = open();
    for (JobSeq seq = 1; seq <= 30; ++seq) {
      auto job = queued_job(seq);
      must(store->commit(writer.submit(job)));
      must(store->commit(writer.place(job)));
      if (seq % 3 == 0) must(store->commit(writer.finish(job)));
    }
  }
  std::string whole;
  {
    std::ifstream in(path, std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(in), {});
  }
  Rng rng(20260301);
  int damaged = 0;
  const auto check = [&](const Error& error) {
    ++damaged;
    // Flips in the header may make it another program's file, or a newer one.
    EXPECT_TRUE(error.kind == Kind::corrupt || error.kind == Kind::conflict ||
                error.kind == Kind::denied)
        << to_text(error);
  };
  for (int round = 0; round < 150; ++round) {
    auto bytes = whole;
    for (int i = 0; i < 8; ++i)
      bytes[rng.below(bytes.size())] ^= static_cast<char>(1 << rng.below(8));
    const auto copy = folder.file("flipped.db");
    for (const auto* tail : {"", "-wal", "-shm"}) std::filesystem::remove(copy + tail);
    {
      std::ofstream(copy, std::ios::binary) << bytes;
    }
    const auto store = open_store(copy, log);
    if (!store) {
      check(store.error());
      continue;
    }
    if (const auto loaded = (*store)->load(); !loaded) check(loaded.error());
    for (JobSeq seq = 1; seq <= 30; ++seq)
      if (const auto spec = (*store)->spec(seq); !spec && spec.error().kind != Kind::not_found)
        check(spec.error());
    if (const auto fine = (*store)->check(); !fine) check(fine.error());
    const auto reader = open_records(copy);
    if (!reader) continue;
    if (const auto rows = (*reader)->list({}); !rows) check(rows.error());
    if (const auto found = (*reader)->resolve("zzz");
        !found && found.error().kind != Kind::not_found)
      check(found.error());
  }
  EXPECT_GT(damaged, 0) << "the flips must reach something";
}

TEST_F(SqliteStoreTest, ATornLogIsCutAtTheLastWholeCommit) {
  auto store = open();
  std::vector<std::uintmax_t> ends;
  for (JobSeq seq = 1; seq <= 5; ++seq) {
    must(store->commit(writer.submit(queued_job(seq))));
    ends.push_back(std::filesystem::file_size(path + "-wal"));
  }
  // What a power loss in the middle of the fourth commit leaves.
  const auto copy = folder.file("torn.db");
  std::filesystem::copy_file(path, copy);
  std::filesystem::copy_file(path + "-wal", copy + "-wal");
  std::filesystem::resize_file(copy + "-wal", (ends[2] + ends[3]) / 2);
  EXPECT_EQ(must(must(open_store(copy, log))->load()).jobs.size(), 3U);
}

TEST(NetworkFs, IsKnownByItsMagicNumber) {
  EXPECT_EQ(network_fs_name(0x6969), "NFS");
  EXPECT_EQ(network_fs_name(static_cast<long>(0xFF534D42)), "CIFS");
  EXPECT_EQ(network_fs_name(0x65735546), "FUSE");
  EXPECT_EQ(network_fs_name(0x0BD00BD0), "Lustre");
  EXPECT_EQ(network_fs_name(0x5346414F), "AFS");
  EXPECT_EQ(network_fs_name(0x01021997), "9p");
  EXPECT_EQ(network_fs_name(0x00C36400), "Ceph");
  EXPECT_EQ(network_fs_name(0x47504653), "GPFS");
  for (const long local : {0xEF53L, 0x01021994L, 0x9123683EL, 0x58465342L, 0x794C7630L})
    EXPECT_EQ(network_fs_name(local), std::nullopt) << local;
}

TEST(NetworkFs, AFolderThatIsNotThereIsToldAsSuch) {
  NoLog log;
  const auto result = open_store("/nonexistent-muster-home/store.db", log);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, Kind::not_found);
}

}  // namespace
}  // namespace muster
