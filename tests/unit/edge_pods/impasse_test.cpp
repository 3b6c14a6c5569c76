#include "edge/pods/impasse.hpp"

#include <gtest/gtest.h>

namespace muster::pods {
namespace {

PodRow pod(int index, std::string node) {
  PodRow row;
  row.index = index;
  row.node = std::move(node);
  return row;
}

TEST(Impasse, AGangInPartIsOne) {
  const auto found = impasse_of({.job = {}, .pods = {pod(0, "vm-1"), pod(1, "")}}, 2);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause, Cause::queue_preempted);
  EXPECT_NE(found->text.find("1 of 2 pods"), std::string::npos);
  // A pod that was never made counts as one that found no node.
  EXPECT_TRUE(impasse_of({.job = {}, .pods = {pod(0, "vm-1")}}, 2));
}

TEST(Impasse, AGangInWholeOrNotAtAllIsNone) {
  EXPECT_FALSE(impasse_of({.job = {}, .pods = {pod(0, "vm-1"), pod(1, "vm-2")}}, 2));
  EXPECT_FALSE(impasse_of({.job = {}, .pods = {pod(0, ""), pod(1, "")}}, 2));
  EXPECT_FALSE(impasse_of({}, 2));
}

TEST(Impasse, WhatEndsIsNone) {
  auto gone = pod(0, "vm-1");
  gone.is_deleting = true;
  EXPECT_FALSE(impasse_of({.job = {}, .pods = {gone, pod(1, "")}}, 2));
}

TEST(Impasse, AnImageNobodyHasIsOne) {
  auto waiting = pod(0, "vm-1");
  waiting.waits_for = Reason{.code = "ErrImagePull", .text = "not found", .fix = {}};
  const auto found = impasse_of({.job = {}, .pods = {waiting}}, 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause, Cause::image_pull);
}

}  // namespace
}  // namespace muster::pods
