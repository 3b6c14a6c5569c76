#include <fcntl.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>

#include <set>

#include "edge/fs/remove_tree.hpp"
#include "edge/tree/stat_cache.hpp"
#include "unit/edge_tree/lab.hpp"

namespace muster::test {
namespace {

std::string text_in(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(StatCache, AnUnchangedTreeIsNotReadAndNothingIsWrittenButThePin) {
  Lab lab;
  for (int i = 0; i < 300; ++i) lab.file(fmt::format("f{}/g{}", i % 7, i), fmt::format("{}", i));
  lab.let_the_clock_tick();
  const auto first = lab.send();
  const auto before = lab.objects();
  const auto second = lab.send();
  EXPECT_TRUE(second.is_unchanged);
  EXPECT_EQ(second.id, first.id);
  EXPECT_EQ(second.files_read, 0U);
  EXPECT_EQ(second.stored_bytes, 0U);
  auto after = lab.objects();
  EXPECT_EQ(after.erase("v1/pins/" + second.pin), 1U);
  EXPECT_EQ(after, before);
}

TEST(StatCache, OneEditIn20000FilesSendsOneChunkAndThreeObjectsOfTheManifest) {
  Lab lab;
  for (int i = 0; i < 20'000; ++i)
    lab.file(fmt::format("d{}/f{}", i % 97, i), fmt::format("{}", i));
  lab.let_the_clock_tick();
  lab.send();
  lab.file("d13/f13", "edited");
  const auto sent = lab.send();
  EXPECT_FALSE(sent.is_unchanged);
  EXPECT_EQ(sent.files_read, 1U);
  EXPECT_EQ(sent.new_chunks, 1U);
  EXPECT_LE(sent.new_leaves + 1, 3U);  // and the root
  EXPECT_EQ(sent.id, lab.id_without_cache());
}

TEST(StatCache, AFileRewrittenInTheSameTickIsNoticed) {
  Lab lab;
  for (int i = 0; i < 60; ++i) {
    lab.file("racy", fmt::format("{:04}", i));
    const auto first = lab.send();
    lab.file("racy", fmt::format("{:04}", i + 5000));
    ASSERT_NE(lab.send().id, first.id) << "round " << i;
  }
}

/// Whether a file that was changed this long before the cache was begun is taken as unchanged.
bool is_trusted(bool is_on_other_disk, std::int64_t seconds) {
  Lab lab;
  auto writer = must(snapshot::StatCacheWriter::begin(lab.cache()));
  struct stat disk{};
  ::stat(lab.top().c_str(), &disk);
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  fs::Seen seen{.path = "a", .mode = 0644, .inode = 7};
  seen.mtime_ns = seen.ctime_ns = (now.tv_sec - seconds) * 1'000'000'000LL + 1;
  seen.device = disk.st_dev + (is_on_other_disk ? 1 : 0);
  tree::Entry entry;
  entry.path = "a";
  entry.mode = 0644;
  writer.add(seen, entry);
  must(writer.end_leaf({}, true));
  must(writer.finish({}, 1, "store"));
  auto cache = snapshot::StatCache::open(lab.cache(), "store");
  const auto* cached = cache.find("a");
  return cached != nullptr && cache.is_same(*cached, seen);
}

TEST(StatCache, AnotherDiskMayHaveAnotherClock) {
  EXPECT_TRUE(is_trusted(false, 10));
  EXPECT_FALSE(is_trusted(true, 10)) << "a file server may be behind by this much";
  EXPECT_TRUE(is_trusted(true, 120));
}

TEST(StatCache, ATimeThatIsSetBackHidesNothing) {
  Lab lab;
  lab.file("file", "before");
  struct stat info{};
  ASSERT_EQ(::stat(lab.path("file").c_str(), &info), 0);
  lab.let_the_clock_tick();
  const auto first = lab.send();
  lab.file("file", "behind");
  const timespec times[] = {info.st_atim, info.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, lab.path("file").c_str(), times, 0), 0);
  EXPECT_NE(lab.send().id, first.id);
}

TEST(StatCache, AFileOfTheFutureIsReadAgain) {
  Lab lab;
  lab.file("file", "before");
  const timespec times[] = {{4'000'000'000, 0}, {4'000'000'000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, lab.path("file").c_str(), times, 0), 0);
  lab.let_the_clock_tick();
  lab.send();
  EXPECT_EQ(lab.send().files_read, 1U);
}

TEST(StatCache, ADamagedCacheIsNoCache) {
  Lab lab;
  for (int i = 0; i < 50; ++i) lab.file(fmt::format("f{}", i), fmt::format("{}", i));
  lab.let_the_clock_tick();
  const auto id = lab.send().id;
  const auto good = text_in(lab.cache());
  Rng rng(3);
  for (int round = 0; round < 300; ++round) {
    auto bad = good;
    if (rng.one_in(4))
      bad.resize(rng.below(bad.size()));
    else
      bad[rng.below(bad.size())] ^= static_cast<char>(1U << rng.below(8));
    std::ofstream(lab.cache(), std::ios::binary | std::ios::trunc) << bad;
    const auto sent = lab.send();
    ASSERT_EQ(sent.files_read, 50U);
    ASSERT_EQ(sent.id, id);
  }
}

TEST(StatCache, AForeignFileIsNoCache) {
  Lab lab;
  lab.file("f");
  std::ofstream(lab.cache()) << std::string(5000, 'x');
  EXPECT_EQ(lab.send().files_read, 1U);
}

TEST(StatCache, ACacheThatCannotBeWrittenCostsTimeOnly) {
  Lab lab;
  lab.file("f");
  auto how = lab.options();
  how.cache_file = lab.cache() + "/no/such/folder";
  const auto sent = must(snapshot::send_tree(lab.blobs(), how));
  EXPECT_EQ(difference(picture_of(lab.top()), lab.restored(sent.id)), "");
}

TEST(StatCache, ACacheOfAnotherStoreIsNotUsed) {
  Lab lab;
  lab.file("f");
  lab.let_the_clock_tick();
  lab.send();
  auto how = lab.options();
  how.store = "file:///another";
  const TempFolder other;
  FileStore blobs(other.file("store"));
  const auto sent = must(snapshot::send_tree(blobs, how));
  EXPECT_EQ(sent.files_read, 1U);
  EXPECT_EQ(sent.new_chunks, 1U);
}

TEST(StatCache, WhenTheRootIsGoneWhatIsMissingIsSentAgain) {
  Lab lab;
  for (int i = 0; i < 50; ++i) lab.file(fmt::format("f{}", i), fmt::format("{}", i));
  lab.let_the_clock_tick();
  const auto first = lab.send();
  for (const auto& [name, size] : lab.objects()) must(lab.blobs().remove(name));
  const auto again = lab.send();
  EXPECT_EQ(again.id, first.id);
  EXPECT_FALSE(again.is_unchanged);
  EXPECT_EQ(again.new_chunks, 50U);
  EXPECT_EQ(difference(picture_of(lab.top()), lab.restored(again.id)), "");
}

TEST(StatCache, AKindThatChangesIsNoticed) {
  Lab lab;
  lab.file("x", "a file");
  lab.file("y");
  const auto check = [&](const char* what) {
    lab.let_the_clock_tick();
    const auto sent = lab.send();
    EXPECT_EQ(sent.id, lab.id_without_cache()) << what;
    EXPECT_EQ(difference(picture_of(lab.top()), lab.restored(sent.id)), "") << what;
  };
  check("a file");
  lab.remove("x");
  lab.file("x/inside", "now a folder");
  check("a folder");
  lab.remove("x");
  lab.link("x", "y");
  check("a link");
  lab.remove("x");
  check("nothing");
}

/// One random change of a small tree.
void edit(const Lab& lab, Rng& rng) {
  const auto name = [&] {
    std::string path;
    for (auto depth = rng.below(3); depth > 0; --depth) path += fmt::format("d{}/", rng.below(3));
    return path + fmt::format("f{}", rng.below(4));
  };
  const auto clear = [&](const std::string& path) {
    // What stands where a folder must be goes as well.
    for (auto slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1))
      if (!std::filesystem::is_directory(
              std::filesystem::symlink_status(lab.path(path.substr(0, slash)))))
        lab.remove(path.substr(0, slash));
    lab.remove(path);
  };
  const auto path = name();
  switch (rng.below(8)) {
    case 0: lab.remove(path); break;
    case 1: lab.remove(fmt::format("d{}", rng.below(3))); break;
    case 2:
      clear(path);
      lab.link(path, fmt::format("t{}", rng.below(3)));
      break;
    case 3:
      clear(path);
      lab.dir(path);
      break;
    case 4:
      lab.remove(".musterignore");
      lab.file(".musterignore", fmt::format("f{}\n!d1/f{}\n", rng.below(4), rng.below(4)));
      break;
    case 5: {
      const auto to = name();
      clear(to);
      std::error_code ignored;
      std::filesystem::create_directories(std::filesystem::path(lab.path(to)).parent_path(),
                                          ignored);
      std::filesystem::rename(lab.path(path), lab.path(to), ignored);
      break;
    }
    case 6:
      (void)!::chmod(lab.path(path).c_str(), 0600 | static_cast<mode_t>(rng.below(0200)));
      break;
    default: clear(path); lab.file(path, fmt::format("{}", rng.below(100)));
  }
}

/// A tree of several leaves, which end where its names say.
void make_leaves(const Lab& lab) {
  for (int i = 0; i < 3000; ++i) lab.file(fmt::format("d{:02}/f{:04}", i / 100, i), "");
  for (int i = 0; i < 40; ++i) lab.file(fmt::format("z{:02}", i), fmt::format("{}", i));
}

std::string any_file(Rng& rng) {
  const auto i = rng.below(3000);
  return fmt::format("d{:02}/f{:04}", i / 100, i);
}

TEST(StatCache, LeavesThatAreKeptMakeTheIdOfAFirstSnapshot) {
  Lab lab;
  make_leaves(lab);
  lab.let_the_clock_tick();
  ASSERT_GE(lab.send().root.leaves.size(), 4U);
  Rng rng(5);
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE(round);
    for (auto edits = 1 + rng.below(3); edits > 0; --edits) {
      const auto path = any_file(rng);
      switch (rng.below(5)) {
        case 0: lab.file(path, fmt::format("{}", round)); break;
        case 1: lab.remove(path); break;
        case 2: lab.remove(path.substr(0, 3)); break;
        case 3: lab.file(path + "-new"); break;
        default: lab.file(fmt::format("z{:02}", rng.below(60)), fmt::format("{}", round));
      }
    }
    lab.let_the_clock_tick();
    const auto sent = lab.send();
    ASSERT_EQ(sent.id, lab.id_without_cache());
    const auto again = lab.send();
    ASSERT_TRUE(again.is_unchanged);
    ASSERT_EQ(again.id, sent.id);
  }
}

TEST(StatCache, TheLastLeafGoesOnWhereTheTreeDoes) {
  Lab lab;
  for (int i = 0; i < 200; ++i) lab.file(fmt::format("f{:03}", i), "");
  const auto check = [&](const char* what) {
    lab.let_the_clock_tick();
    lab.send();
    EXPECT_EQ(lab.send().id, lab.id_without_cache()) << what;
  };
  check("at first");
  lab.file("zz");
  check("one behind the last");
  lab.remove("zz");
  check("the last is gone");
  for (int i = 100; i < 200; ++i) lab.remove(fmt::format("f{:03}", i));
  check("half of them are gone");
}

TEST(StatCache, AWholeLeafThatIsGoneIsNoticed) {
  Lab lab;
  make_leaves(lab);
  lab.let_the_clock_tick();
  ASSERT_GE(lab.send().root.leaves.size(), 4U);
  for (int i = 29; i >= 3; --i) {
    lab.remove(fmt::format("d{:02}", i));
    const auto sent = lab.send();
    ASSERT_FALSE(sent.is_unchanged);
    if (i % 9 != 0) continue;
    ASSERT_EQ(sent.id, lab.id_without_cache()) << i;
  }
}

TEST(StatCache, WhatComesBehindADamagedLeafIsReadAgain) {
  Lab lab;
  make_leaves(lab);
  lab.let_the_clock_tick();
  const auto id = lab.send().id;
  const auto good = text_in(lab.cache());
  Rng rng(7);
  std::set<std::uint64_t> read;
  for (int round = 0; round < 10; ++round) {
    auto bad = good;
    if (rng.one_in(3))
      bad.resize(rng.below(bad.size()));
    else
      bad[rng.below(bad.size())] ^= static_cast<char>(1U << rng.below(8));
    std::ofstream(lab.cache(), std::ios::binary | std::ios::trunc) << bad;
    const auto sent = lab.send();
    EXPECT_GT(sent.files_read, 0U);
    EXPECT_EQ(sent.id, id);
    read.insert(sent.files_read);
  }
  EXPECT_GT(read.size(), 1U) << "leaves before the damage were not used";
}

RC_GTEST_PROP(StatCache, AfterAnyEditsTheIdIsTheOneWithoutACache, ()) {
  Rng rng(*rc::gen::arbitrary<std::uint64_t>());
  const auto rounds = *rc::gen::inRange(1, 8);
  Lab lab;
  for (int round = 0; round < rounds; ++round) {
    for (auto edits = rng.below(6); edits > 0; --edits) edit(lab, rng);
    if (rng.one_in(3)) lab.let_the_clock_tick();
    const auto sent = lab.send();
    RC_ASSERT(sent.id == lab.id_without_cache());
  }
}

}  // namespace
}  // namespace muster::test
