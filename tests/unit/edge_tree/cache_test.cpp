#include <fcntl.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>

#include "edge/fs/remove_tree.hpp"
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
