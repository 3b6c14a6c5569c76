// A pod's log drawn in pieces, repeated and cut anywhere: each byte once, gaps with their size.
#include "edge/pods/rank_files.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <rapidcheck/gtest.h>

#include "edge/fs/files.hpp"
#include "edge/fs/remove_tree.hpp"
#include "edge/logs/tail.hpp"

namespace muster::pods {
namespace {

struct Folder {
  std::string path = [] {
    char name[] = "/tmp/muster-rank-files-XXXXXX";
    return std::string(::mkdtemp(name));
  }();
  ~Folder() { fs::remove_tree(path); }
  std::string text(const char* name) const {
    const auto bytes = fs::read_file(path + "/" + name);
    return bytes ? *bytes : "";
  }
};

PodLine line(std::uint64_t offset, std::string_view bytes, PodStream stream = PodStream::out) {
  return {.rank = 0, .stream = stream, .offset = offset, .bytes = bytes};
}

RC_GTEST_PROP(RankFiles, EachByteOnceHoweverOftenItComes,
              (const std::vector<std::string>& pieces)) {
  Folder folder;
  std::string whole;
  for (int pass = 0; pass < 2; ++pass) {
    auto files = RankFiles::open(folder.path, {0, 8});  // a new server each time
    RC_ASSERT(files.has_value());
    std::uint64_t offset = 0;
    for (const auto& piece : pieces) {
      files->take(line(offset, piece), {1});
      if (pass == 0) whole += piece;
      offset += piece.size();
    }
  }
  RC_ASSERT(folder.text("rank-00000.out") == whole);
}

TEST(RankFiles, AGapIsMarkedWithItsSizeAndGoesOnExactly) {
  Folder folder;
  for (int pass = 0; pass < 2; ++pass) {
    auto files = RankFiles::open(folder.path, {0, 8});
    ASSERT_TRUE(files);
    files->take(line(0, "first\n"), {1});
    files->take(line(106, "later\n"), {2});
  }
  EXPECT_EQ(folder.text("rank-00000.out"),
            "first\n[muster: 100 bytes lost: the cluster no longer had them]\nlater\n");
}

TEST(RankFiles, TheRecordTellsWhatIsMissingAtTheEnd) {
  Folder folder;
  auto files = RankFiles::open(folder.path, {0, 8});
  ASSERT_TRUE(files);
  files->take(line(0, "one\n"), {1});
  ExitRecord record;
  record.ranks.push_back({.rank = 0, .out_bytes = 10, .err_bytes = 0});
  EXPECT_FALSE(files->has_all(record));
  files->finish(record, {2});
  EXPECT_TRUE(files->has_all(record));
  EXPECT_NE(folder.text("rank-00000.out").find("6 bytes lost"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder.path + "/rank-00000.err"));
}

TEST(RankFiles, ARankOfAnotherNodeGetsNoFile) {
  Folder folder;
  auto files = RankFiles::open(folder.path, {2, 2});
  ASSERT_TRUE(files);
  for (const int rank : {0, 2, 3, 4, 99'999})
    files->take({.rank = rank, .stream = PodStream::out, .offset = 0, .bytes = "x\n"}, {1});
  ExitRecord record;
  record.ranks.push_back({.rank = 77, .out_bytes = 10, .err_bytes = 0});
  EXPECT_TRUE(files->has_all(record));
  files->finish(record, {2});
  auto names = fs::entries(folder.path);
  std::erase_if(names, [](const auto& name) { return !name.ends_with(".out"); });
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"rank-00002.out", "rank-00003.out"}));
}

TEST(RankFiles, BothStreamsAreReadInTheOrderTheyCame) {
  Folder folder;
  auto files = RankFiles::open(folder.path, {0, 8});
  ASSERT_TRUE(files);
  files->take(line(0, "a\n"), {1});
  files->take(line(0, "b\n", PodStream::err), {2});
  files->take(line(2, "c\n"), {3});
  logs::RankTail tail(folder.path, 0);
  const auto pieces = tail.read(1 << 20);
  ASSERT_TRUE(pieces);
  std::string all;
  for (const auto& piece : *pieces) all += piece.bytes;
  EXPECT_EQ(all, "a\nb\nc\n");
}

}  // namespace
}  // namespace muster::pods
