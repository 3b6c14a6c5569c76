#include "edge/tree/bundle.hpp"

#include <gtest/gtest.h>

#include "edge/tree/names.hpp"
#include "edge/tree/restore.hpp"
#include "edge/tree/verify.hpp"
#include "far.hpp"
#include "lab.hpp"

namespace muster::snapshot {
namespace {

using test::Far;
using test::Lab;

std::string bundle_of(BlobStore& blobs, const tree::Hash& id) {
  std::string bytes;
  const auto written = write_bundle(blobs, id, [&](std::string_view more) -> Result<> {
    bytes += more;
    return {};
  });
  EXPECT_TRUE(written) << to_line(written.error());
  EXPECT_EQ(written.value_or(0), bytes.size());
  return bytes;
}

/// Given in pieces of at most `piece` bytes, as a pipe does.
Result<tree::Hash> read_from(BlobStore& into, std::string_view bytes, std::size_t piece = 70'000) {
  return read_bundle(into, [&](char* out, std::size_t most) -> Result<std::size_t> {
    const auto some = std::min({most, piece, bytes.size()});
    bytes.copy(out, some);
    bytes.remove_prefix(some);
    return some;
  });
}

TEST(Bundle, AStrangeTreeArrivesAsItWas) {
  for (const std::uint64_t seed : {1U, 2U}) {
    Lab lab;
    make_strange_tree(lab, seed, 30);
    const auto sent = lab.send();
    Far far(lab);
    const auto id = read_from(far.blobs, bundle_of(lab.blobs(), sent.id), 1 + seed * 1000);
    ASSERT_TRUE(id) << to_line(id.error());
    EXPECT_EQ(*id, sent.id);
    EXPECT_EQ(test::difference(test::picture_of(lab.top()), far.restored(*id)), "");
    const auto checked = verify(far.blobs, false);
    ASSERT_TRUE(checked);
    EXPECT_TRUE(checked->faults.empty());
  }
}

TEST(Bundle, HoldsOnlyTheChunksOfItsOwnSnapshot) {
  Lab lab;
  Rng rng(1);
  lab.file("old.bin", test::noise(rng, 3U << 20));
  lab.send();
  lab.remove("old.bin");
  lab.file("new.txt", "small\n");
  EXPECT_LT(bundle_of(lab.blobs(), lab.send().id).size(), 10'000U);
}

TEST(Bundle, ATreeOfManyPacksArrives) {
  Lab lab;
  Rng rng(2);
  for (int i = 0; i < 6; ++i) lab.file("f" + std::to_string(i), test::noise(rng, 3U << 20));
  const auto sent = lab.send();
  Far far(lab);
  const auto id = read_from(far.blobs, bundle_of(lab.blobs(), sent.id));
  ASSERT_TRUE(id) << to_line(id.error());
  EXPECT_EQ(test::difference(test::picture_of(lab.top()), far.restored(*id)), "");
}

TEST(Bundle, AnEmptyTreeArrives) {
  Lab lab;
  const auto sent = lab.send();
  Far far(lab);
  EXPECT_EQ(read_from(far.blobs, bundle_of(lab.blobs(), sent.id)).value(), sent.id);
}

bool has_any_root(BlobStore& blobs) {
  bool found = false;
  EXPECT_TRUE(blobs.list("v1/trees/", [&](const BlobInfo&) { return found = true; }));
  return found;
}

TEST(Bundle, CutAnywhereItLeavesNoRoot) {
  Lab lab;
  lab.file("a", "some text\n");
  const auto bytes = bundle_of(lab.blobs(), lab.send().id);
  Far far(lab);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto read = read_from(far.blobs, std::string_view(bytes).substr(0, size));
    ASSERT_FALSE(read) << size;
    EXPECT_EQ(read.error().kind, size == 0 ? Kind::not_found : Kind::corrupt) << size;
    ASSERT_FALSE(has_any_root(far.blobs)) << size;
  }
}

TEST(Bundle, WithAnyByteChangedItIsRefusedOrAnotherSnapshot) {
  Lab lab;
  lab.file("a", "some text\n");
  lab.file("b", std::string(3000, 'b'));
  const auto id = lab.send().id;
  const auto bytes = bundle_of(lab.blobs(), id);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    auto bad = bytes;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    FileStore far(lab.room("far" + std::to_string(at)));
    const auto read = read_from(far, bad);
    // A changed root is a root of its own; it can never pass for the one that was sent.
    EXPECT_TRUE(!read || *read != id) << at;
  }
}

TEST(Bundle, MoreAfterItsEndIsRefused) {
  Lab lab;
  lab.file("a");
  Far far(lab);
  EXPECT_FALSE(read_from(far.blobs, bundle_of(lab.blobs(), lab.send().id) + "x"));
  EXPECT_FALSE(has_any_root(far.blobs));
}

TEST(Bundle, ASizeBeyondBoundsIsRefusedBeforeItIsRead) {
  Lab lab;
  Far far(lab);
  const std::string huge = "MUSBUND1P" + std::string(8, '\x7f');
  std::size_t asked = 0;
  std::string_view left = huge;
  const auto read = read_bundle(far.blobs, [&](char* out, std::size_t most) -> Result<std::size_t> {
    asked = std::max(asked, most);
    const auto some = left.copy(out, most);
    left.remove_prefix(some);
    return some;
  });
  EXPECT_EQ(read.error().kind, Kind::corrupt);
  EXPECT_LT(asked, 100U);
}

TEST(Bundle, TheErrorOfTheSinkEndsTheWriting) {
  Lab lab;
  lab.file("a");
  const auto id = lab.send().id;
  const auto written = write_bundle(
      lab.blobs(), id, [](std::string_view) { return fail(Kind::unavailable, "gone"); });
  EXPECT_EQ(written.error().kind, Kind::unavailable);
}

}  // namespace
}  // namespace muster::snapshot
