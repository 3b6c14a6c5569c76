#include "edge/tree/transfer.hpp"

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
using test::must;

TEST(Transfer, AStrangeTreeIsThereAsItWas) {
  Lab lab;
  make_strange_tree(lab, 3, 30);
  const auto sent = lab.send();
  Far far(lab);
  EXPECT_GT(must(transfer(lab.blobs(), far.blobs, sent.id)).chunks, 0U);
  EXPECT_EQ(test::difference(test::picture_of(lab.top()), far.restored(sent.id)), "");
  EXPECT_TRUE(must(verify(far.blobs, false)).faults.empty());
}

TEST(Transfer, OnlyWhatIsMissingIsSent) {
  Lab lab;
  Rng rng(1);
  lab.file("large", test::noise(rng, 1U << 20));
  lab.file("small", "one\n");
  const auto first = lab.send();
  Far far(lab);
  must(transfer(lab.blobs(), far.blobs, first.id));
  lab.let_the_clock_tick();
  lab.file("small", "two\n");
  const auto second = lab.send();
  const auto done = must(transfer(lab.blobs(), far.blobs, second.id));
  EXPECT_EQ(done.chunks, 2U) << "the file and the list that names it";
  EXPECT_LT(done.bytes, 10'000U);
  EXPECT_EQ(must(transfer(lab.blobs(), far.blobs, second.id)).bytes, 0U) << "it has all of it";
  EXPECT_EQ(test::difference(test::picture_of(lab.top()), far.restored(second.id)), "");
}

TEST(Transfer, WhatBrokeOffIsNoSnapshot) {
  Lab lab;
  lab.file("a");
  const auto sent = lab.send();
  for (const auto& [name, size] : lab.objects("v1/packs/")) must(lab.blobs().remove(name));
  Far far(lab);
  EXPECT_EQ(transfer(lab.blobs(), far.blobs, sent.id).error().kind, Kind::corrupt);
  EXPECT_FALSE(far.blobs.look(tree_name(sent.id)));
}

TEST(Transfer, ASnapshotThatNobodyHas) {
  Lab lab;
  Far far(lab);
  EXPECT_EQ(transfer(lab.blobs(), far.blobs, tree::hash_of("none")).error().kind, Kind::not_found);
}

}  // namespace
}  // namespace muster::snapshot
