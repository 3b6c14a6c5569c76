// What is wished for an attempt is joined; nobody works on one attempt twice at once.
#include "edge/pods/wishes.hpp"

#include <gtest/gtest.h>

namespace muster::pods {
namespace {

Wish launch() {
  Wish wish;
  wish.launch = Launch{};
  return wish;
}

TEST(Wishes, LaterWordsJoinEarlierOnes) {
  Wishes wishes;
  wishes.add("a", launch());
  Wish stop;
  stop.stop = Stop{.why = "abort"};
  stop.signals = {10};
  wishes.add("a", stop);
  const auto held = wishes.take();
  ASSERT_TRUE(held);
  EXPECT_TRUE(held->wish.launch && held->wish.stop);
  EXPECT_EQ(held->wish.signals, (std::vector<int>{10}));
}

TEST(Wishes, AnAttemptInHandIsNotGivenTwice) {
  Wishes wishes;
  wishes.add("a", launch());
  const auto first = wishes.take();
  EXPECT_TRUE(wishes.is_launching("a"));
  wishes.add("a", launch());
  wishes.add("b", launch());
  EXPECT_EQ(wishes.take()->name, "b");
  wishes.done("a", {});
  EXPECT_EQ(wishes.take()->name, "a");
  wishes.done("a", {});
  EXPECT_FALSE(wishes.is_launching("a"));
}

TEST(Wishes, WhatWasLeftComesAgain) {
  Wishes wishes;
  auto wish = launch();
  wish.ref = {7, JobId("ann_1_00000007"), 2};
  wishes.add("a", wish);
  auto held = wishes.take();
  wishes.done("a", std::move(held->wish));
  EXPECT_TRUE(wishes.is_launching("a"));
  held = wishes.take();  // after its pause
  EXPECT_EQ(held->wish.tries, 1);
  EXPECT_EQ(held->wish.ref, wish.ref);
}

TEST(Wishes, LookingAgainForWhatWasNotFoundWaitsItsTurn) {
  Wishes wishes;
  Wish sought;
  sought.is_sought = true;
  wishes.add("a", sought);
  wishes.done("a", wishes.take()->wish);  // not found: later
  wishes.add("a", sought);
  Wish other;
  other.signals = {1};
  wishes.add("b", other);
  EXPECT_EQ(wishes.take()->name, "b");
  EXPECT_EQ(wishes.take()->wish.tries, 1);
}

TEST(Wishes, WhatHasEndedIsNotLaunchedAgain) {
  Wishes wishes;
  wishes.add("a", launch());
  auto held = wishes.take();
  Wish end;
  end.acknowledged = {0};
  wishes.add("a", end);                     // it ran and ended while its launch was under way
  wishes.done("a", std::move(held->wish));  // of which something is still to be done
  EXPECT_FALSE(wishes.is_launching("a"));
  held = wishes.take();
  EXPECT_FALSE(held->wish.launch);
  EXPECT_EQ(held->wish.acknowledged, (std::set<int>{0}));
}

TEST(Wishes, ItEnds) {
  Wishes wishes;
  wishes.stop();
  EXPECT_FALSE(wishes.take());
}

}  // namespace
}  // namespace muster::pods
