// What the watches do not show is asked for before anything is concluded from it.
#include "edge/pods/errands.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "unit/edge_kube/fake_server.hpp"

namespace muster::pods {
namespace {

using kube::FakeServer;
using kube::Wire;

constexpr const char* kPod = R"({"metadata":{"name":"m-1-h-1-0-abcde","uid":"u1",
  "resourceVersion":"9","labels":{"batch.kubernetes.io/job-name":"m-1-h-1"},
  "ownerReferences":[{"kind":"Job","name":"m-1-h-1","uid":"j1","controller":true}],
  "annotations":{"batch.kubernetes.io/job-completion-index":"0"}},"status":{"phase":"Succeeded"}})";
constexpr const char* kJob = R"({"metadata":{"name":"m-1-h-1","uid":"j1","resourceVersion":"8"}})";

/// A cluster that has the Job or not, and the pod or not.
struct Scene {
  bool has_job = true;
  bool has_pod = true;
  int refusals = 0;  // of the first requests

  FakeServer::Script script() {
    return [this](const http::Request& request, Wire& wire) {
      if (refusals-- > 0) return wire.answer(422, kube::status_json(422, "Invalid"));
      const auto item = [&](bool is_there, const char* json) {
        return is_there ? wire.answer(200, json)
                        : wire.answer(404, kube::status_json(404, "NotFound"));
      };
      if (request.path.find("/jobs/") != std::string::npos) return item(has_job, kJob);
      if (request.path.find("/pods/") != std::string::npos) return item(has_pod, kPod);
      return wire.answer(200,
                         fmt::format(R"({{"metadata":{{"resourceVersion":"10"}},"items":[{}]}})",
                                     has_pod ? kPod : ""));
    };
  }
};

PodRow running() {
  return {.name = "m-1-h-1-0-abcde",
          .uid = "u1",
          .version = 5,
          .job = "m-1-h-1",
          .index = 0,
          .phase = Phase::running};
}

/// A board on which a list has left out everything.
void miss_all(Board& board) {
  board.put(JobRow{.name = "m-1-h-1", .uid = "j1", .version = 4});
  board.put(running());
  for (const auto kind : {Board::jobs, Board::pods}) {
    board.begin(kind);
    EXPECT_EQ(board.synced(kind).size(), 1U);
  }
}

TEST(Seek, WhatAListLeftOutIsThereWhenTheClusterSaysSo) {
  Scene scene;
  FakeServer server(scene.script());
  kube::Api api(server.cluster());
  Board board;
  miss_all(board);
  EXPECT_EQ(seek(api, "default", "m-1-h-1", board), true);
  const auto group = board.group("m-1-h-1");
  ASSERT_TRUE(group.job && !group.job->is_missed);
  EXPECT_FALSE(group.pods[0].is_missed || group.pods[0].is_gone);
  EXPECT_EQ(group.pods[0].phase, Phase::succeeded);
}

TEST(Seek, WhatAListLeftOutIsGoneWhenTheClusterDoesNotHaveIt) {
  Scene scene{.has_job = false, .has_pod = false};
  FakeServer server(scene.script());
  kube::Api api(server.cluster());
  Board board;
  miss_all(board);
  EXPECT_EQ(seek(api, "default", "m-1-h-1", board), false);
  auto group = board.group("m-1-h-1");
  EXPECT_FALSE(group.job);
  EXPECT_TRUE(group.pods[0].is_gone);
  // Not even newer words of an object that is no more bring it back.
  auto late = running();
  late.version = 99;
  EXPECT_FALSE(board.put(late));
}

TEST(Seek, APodThatNobodyHasToldOfIsFound) {
  Scene scene;
  FakeServer server(scene.script());
  kube::Api api(server.cluster());
  Board board;
  EXPECT_EQ(seek(api, "default", "m-1-h-1", board), true);
  EXPECT_EQ(board.group("m-1-h-1").pods.size(), 1U);
}

TEST(Seek, WithoutAnAnswerNothingIsConcluded) {
  Scene scene{.refusals = 1};
  FakeServer server(scene.script());
  kube::Api api(server.cluster());
  Board board;
  miss_all(board);
  EXPECT_FALSE(seek(api, "default", "m-1-h-1", board));
  EXPECT_TRUE(board.group("m-1-h-1").pods[0].is_missed);
  EXPECT_FALSE(board.group("m-1-h-1").pods[0].is_gone);
}

}  // namespace
}  // namespace muster::pods
