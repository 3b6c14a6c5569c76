#include "core/tree/chunker.hpp"

#include <rapidcheck/gtest.h>

#include <set>

#include "unit/core/tree/samples.hpp"

namespace muster::tree {
namespace {

std::vector<std::string_view> cut(std::string_view bytes) {
  std::vector<std::string_view> chunks;
  while (!bytes.empty()) {
    chunks.push_back(bytes.substr(0, first_cut(bytes)));
    bytes.remove_prefix(chunks.back().size());
  }
  return chunks;
}

/// 64 MiB, made once.
const std::string& large() {
  static const auto bytes = noise(64U << 20, 1);
  return bytes;
}

TEST(Chunker, ChunksAreTheFileAndKeepTheirBounds) {
  std::size_t at = 0;
  const auto chunks = cut(large());
  for (const auto& chunk : chunks) {
    ASSERT_EQ(chunk.data(), large().data() + at);
    at += chunk.size();
    ASSERT_LE(chunk.size(), kMostChunk);
    const bool is_last = at == large().size();
    ASSERT_TRUE(is_last || chunk.size() >= kLeastChunk);
  }
  EXPECT_EQ(at, large().size());
  // About the usual size on average: neither the least nor the most decides.
  EXPECT_GT(chunks.size(), 64U / 2);
  EXPECT_LT(chunks.size(), 64U * 2);
}

/// Where the chunks of large() begin.
const std::set<std::size_t>& begins() {
  static const auto all = [] {
    std::set<std::size_t> places;
    for (const auto chunk : cut(large()))
      places.insert(static_cast<std::size_t>(chunk.data() - large().data()));
    return places;
  }();
  return all;
}

/// How many chunks are others after `size` bytes were inserted at `at`. Chunks before that place
/// stay, and so do all from where an old cut is found again.
std::size_t changed_by(std::size_t size, std::size_t at) {
  const auto begin = *std::prev(begins().upper_bound(at));
  auto edited = large().substr(begin, at - begin) + noise(size, at);
  const auto inserted_end = edited.size();
  edited += large().substr(at, 24U << 20);
  std::size_t count = 0;
  for (std::size_t end = 0; end < edited.size(); ++count) {
    const bool is_old = end >= inserted_end && begins().contains(begin + end - size);
    if (is_old) return count;
    end += first_cut(std::string_view(edited).substr(end));
  }
  return 1000;  // never found again
}

TEST(Chunker, ASmallInsertionInTheMiddleChangesAtMostThreeChunks) {
  for (std::size_t at = 8U << 20; at < (40U << 20); at += (4U << 20) + 12'345)
    for (const std::size_t size : {1U, 8U, 4096U})
      EXPECT_LE(changed_by(size, at), 3U) << size << " bytes at " << at;
}

// The chunk that holds it grows into two, and now and then a cut or two are missed behind it.
TEST(Chunker, ALargeInsertionChangesThreeChunksOnAverage) {
  std::size_t changed = 0;
  for (std::size_t i = 0; i < 16; ++i)
    changed += changed_by(700U << 10, (8U << 20) + i * 2'012'345);
  EXPECT_LE(changed, 3U * 16);
}

TEST(Chunker, BytesBeyondTheLargestChunkDoNotMatter) {
  const std::string_view bytes(large());
  for (std::size_t at = 0; at < (16U << 20); at += (1U << 20) + 1) {
    const auto exact = bytes.substr(at, kMostChunk);
    EXPECT_EQ(first_cut(exact), first_cut(bytes.substr(at)));
  }
}

TEST(Chunker, ACutDependsOnTheBytesBeforeItOnly) {
  auto bytes = large().substr(0, kMostChunk);
  const auto at = first_cut(bytes);
  ASSERT_LT(at, bytes.size());
  bytes[at] = static_cast<char>(~bytes[at]);
  EXPECT_EQ(first_cut(bytes), at);
  bytes[at - 1] = static_cast<char>(~bytes[at - 1]);
  EXPECT_NE(first_cut(bytes), at);
}

TEST(Chunker, EqualBytesAreCutAtTheLargestSize) {
  for (int byte = 0; byte < 256; byte += 15) {
    const std::string bytes(kMostChunk + 1, static_cast<char>(byte));
    EXPECT_EQ(first_cut(bytes), kMostChunk);
  }
}

TEST(Chunker, AShortRestIsOneChunk) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kLeastChunk - 1, kLeastChunk})
    EXPECT_EQ(first_cut(std::string_view(large()).substr(0, size)), size);
}

// Other cuts would send every large file again, and share nothing with what is in stores already.
TEST(Chunker, CutsAreTheSameForEver) {
  std::vector<std::size_t> sizes;
  for (const auto chunk : cut(std::string_view(large()).substr(0, 8U << 20)))
    sizes.push_back(chunk.size());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{884'989, 1'051'059, 1'972'992, 1'566'572, 1'479'644,
                                             1'197'283, 236'069}));
}

}  // namespace
}  // namespace muster::tree
