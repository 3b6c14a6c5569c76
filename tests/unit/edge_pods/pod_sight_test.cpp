// A pod's JSON, as the cluster shows it, and what muster makes of it.
#include "edge/pods/pod_sight.hpp"

#include <gtest/gtest.h>

#include <csignal>

#include "core/model/codec.hpp"
#include "core/model/json.hpp"

namespace muster::pods {
namespace {

json::object pod_json(std::string_view status, std::string_view metadata = "{}") {
  auto pod = json::parse(R"({"metadata":{"name":"m-1-h-1-0-abcde","uid":"u1",
    "labels":{"batch.kubernetes.io/job-name":"m-1-h-1"},
    "annotations":{"batch.kubernetes.io/job-completion-index":"0"},
    "finalizers":["batch.kubernetes.io/job-tracking","muster.dev/record"]},
    "spec":{"nodeName":"vm-1"}})")
                 .as_object();
  const auto more = json::parse(metadata);
  for (const auto& [key, value] : more.as_object()) pod["metadata"].as_object()[key] = value;
  pod["status"] = json::parse(status);
  return pod;
}

std::string terminated(int exit, std::string_view reason, std::string_view message,
                       std::string_view phase, std::string_view more = "") {
  return json::serialize(
             json::object{{"phase", phase},
                          {"containerStatuses",
                           json::array{json::object{
                               {"name", "main"},
                               {"state", json::object{{"terminated",
                                                       json::object{{"exitCode", exit},
                                                                    {"reason", reason},
                                                                    {"message", message}}}}}}}}})
      .insert(1, more.empty() ? "" : std::string(more) + ",");
}

std::string record(int exit, std::string killed_by = "") {
  ExitRecord record{.killed_by = std::move(killed_by)};
  record.ranks.push_back({.rank = 0, .exit = exit, .ended = {7}});
  return encode(record);
}

Sight sight(std::string_view status, const Around& around = {}, std::string_view metadata = "{}") {
  const auto row = read_pod(pod_json(status, metadata));
  EXPECT_TRUE(row);
  return sight_of(*row, around);
}

constexpr std::string_view kDeleting = R"({"deletionTimestamp":"2026-01-01T00:00:00Z"})";
constexpr std::string_view kEvicted =
    R"("conditions":[{"type":"DisruptionTarget","status":"True","reason":"EvictionByEvictionAPI",
       "message":"Eviction API: evicting"}])";

TEST(PodRow, TheOwnerIsTheJobThatControlsItAndNothingElse) {
  const auto owner = [](std::string_view references) {
    return read_pod(pod_json("{}", fmt::format(R"({{"ownerReferences":[{}]}})", references)))
        ->owner;
  };
  EXPECT_EQ(owner(R"({"kind":"Job","name":"m-1-h-1","uid":"j1","controller":true})"), "j1");
  EXPECT_EQ(owner(""), "");
  EXPECT_EQ(owner(R"({"kind":"Job","name":"m-1-h-1","uid":"j1"})"), "");
  EXPECT_EQ(owner(R"({"kind":"Job","name":"other","uid":"j1","controller":true})"), "");
  EXPECT_EQ(owner(R"({"kind":"Pod","name":"m-1-h-1","uid":"j1","controller":true})"), "");
}

TEST(PodRow, KeepsWhatDecides) {
  const auto row = read_pod(pod_json(R"({"phase":"Pending"})"));
  ASSERT_TRUE(row);
  EXPECT_EQ(row->job, "m-1-h-1");
  EXPECT_EQ(row->index, 0);
  EXPECT_EQ(row->node, "vm-1");
  EXPECT_TRUE(row->has_finalizer);
  EXPECT_FALSE(read_pod(json::parse(R"({"metadata":{"name":"stranger"}})").as_object()));
  EXPECT_FALSE(read_pod(json::object{}));
}

TEST(PodSight, TimesThatNoRecordTellsAreTheContainers) {
  constexpr auto kTimes =
      R"("startedAt":"2026-01-01T00:00:00Z","finishedAt":"2026-01-01T00:00:05Z")";
  ExitRecord cut{.ranks = {{.rank = 0, .exit = 3}}};
  for (const auto& message : {std::string(), encode(cut)}) {
    auto status = terminated(3, "Error", message, "Failed");
    status.insert(status.find("\"exitCode\""), std::string(kTimes) + ",");
    const auto rank = std::get<Ended>(sight(status)).record.ranks.at(0);
    EXPECT_EQ(rank.started, *parse_rfc3339("2026-01-01T00:00:00Z")) << message;
    EXPECT_EQ(rank.ended, *parse_rfc3339("2026-01-01T00:00:05Z")) << message;
    EXPECT_EQ(rank.ended_run_us, rank.ended.us);
  }
}

TEST(PodSight, AnEndOfItsOwnStandsWhenTheRestWasStopped) {
  const auto failed = terminated(4, "Error", "", "Failed");
  const auto own = std::get<Ended>(sight(failed, {.stop_why = "gang"}));
  ASSERT_EQ(own.record.ranks.size(), 1U);
  EXPECT_EQ(own.record.ranks[0].exit, 4);
  const auto told = std::get<Ended>(sight(failed, {.stop_why = "gang"}, kDeleting));
  EXPECT_TRUE(told.record.ranks.empty());
  EXPECT_EQ(told.record.killed_by, "gang");
}

TEST(PodSight, WhatAPendingPodWaitsForIsTold) {
  const auto seen =
      sight(R"({"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False",
    "reason":"Unschedulable","message":"0/3 nodes are available: 3 Insufficient nvidia.com/gpu."}]})");
  const auto& alive = std::get<Alive>(seen);
  EXPECT_EQ(alive.state, AttemptState::preparing);
  ASSERT_TRUE(alive.waits_for);
  EXPECT_EQ(alive.waits_for->code, "Unschedulable");
  EXPECT_NE(alive.waits_for->text.find("Insufficient nvidia.com/gpu"), std::string::npos);
}

TEST(PodSight, AnImageThatCannotBeHadIsAReasonAndStartingUpIsNone) {
  const auto waiting = [](std::string_view reason) {
    return sight(R"({"phase":"Pending","containerStatuses":[{"name":"main","state":{"waiting":
      {"reason":")" +
                 std::string(reason) + R"(","message":"no such image"}}}]})");
  };
  EXPECT_EQ(std::get<Alive>(waiting("ErrImagePull")).waits_for->code, "ErrImagePull");
  EXPECT_FALSE(std::get<Alive>(waiting("ContainerCreating")).waits_for);
}

TEST(PodSight, TheAgentsRecordIsTheTruth) {
  const auto seen = sight(terminated(3, "Error", record(3), "Failed"));
  const auto end = std::get<Ended>(seen).record;
  ASSERT_EQ(end.ranks.size(), 1U);
  EXPECT_EQ(end.ranks[0].exit, 3);
  EXPECT_EQ(end.ranks[0].ended_run_us, 7) << "boot clocks of two machines do not compare";
}

TEST(PodSight, ARecordCountsBeforeThePodsOwnPhase) {
  EXPECT_TRUE(
      std::holds_alternative<Ended>(sight(terminated(0, "Completed", record(0), "Running"))));
}

TEST(PodSight, WithoutARecordTheContainersExitCounts) {
  const auto end = std::get<Ended>(sight(terminated(137, "Error", "", "Failed"))).record;
  EXPECT_EQ(end.ranks.at(0).signal, SIGKILL);
  const auto oom = std::get<Ended>(sight(terminated(137, "OOMKilled", "", "Failed"))).record;
  EXPECT_EQ(oom.ranks.at(0).oom_kills, 1);
}

TEST(PodSight, AChildKilledForMemoryDoesNotUndoASuccess) {
  const auto end =
      std::get<Ended>(sight(terminated(0, "OOMKilled", record(0), "Succeeded"))).record;
  EXPECT_FALSE(end.ranks.at(0).failed());
  EXPECT_EQ(end.ranks.at(0).oom_kills, 1);
}

TEST(PodSight, AnEvictionIsNobodysFaultEvenWithExitZero) {
  for (const int exit : {0, 143}) {
    const auto seen = sight(
        terminated(exit, "Completed", record(exit, "shutdown"), "Failed", kEvicted), {}, kDeleting);
    ASSERT_TRUE(std::holds_alternative<Lost>(seen));
    EXPECT_EQ(std::get<Lost>(seen).cause, Cause::eviction);
    EXPECT_NE(std::get<Lost>(seen).evidence.find("EvictionByEvictionAPI"), std::string::npos);
  }
  const auto done =
      sight(terminated(0, "Completed", record(0), "Succeeded", kEvicted), {}, kDeleting);
  EXPECT_TRUE(std::holds_alternative<Ended>(done)) << "it had ended before it was told to";
}

TEST(PodSight, AStopOfOursIsOurs) {
  const Around around{.stop_why = "abort"};
  const auto seen = sight(terminated(143, "Error", record(143, "shutdown"), "Failed", kEvicted),
                          around, kDeleting);
  EXPECT_EQ(std::get<Ended>(seen).record.killed_by, "abort");
  const auto silent = sight(R"({"phase":"Failed"})", around, kDeleting);
  EXPECT_EQ(std::get<Ended>(silent).record.killed_by, "abort");
}

TEST(PodSight, DeletedByAStranger) {
  const auto seen =
      sight(terminated(143, "Error", record(143, "shutdown"), "Failed"), {}, kDeleting);
  EXPECT_EQ(std::get<Lost>(seen).cause, Cause::removed_externally);
}

TEST(PodSight, ADeadNodesPodIsLostNeverRunning) {
  const auto* taint =
      R"({"phase":"Running","conditions":[{"type":"DisruptionTarget","status":"True",
    "reason":"DeletionByTaintManager","message":"Taint manager: deleting"}],
    "containerStatuses":[{"name":"main","state":{"running":{"startedAt":"x"}}}]})";
  const auto cut_off = std::get<Unreachable>(sight(taint, {}, kDeleting));
  EXPECT_EQ(cut_off.code, kNodeLost);
  EXPECT_NE(cut_off.why.find("lost, waiting for node removal"), std::string::npos);
  const auto gone = sight(R"({"phase":"Failed","conditions":[{"type":"DisruptionTarget",
    "status":"True","reason":"DeletionByPodGC","message":"PodGC: node no longer exists"}]})",
                          {}, kDeleting);
  EXPECT_EQ(std::get<Lost>(gone).cause, Cause::lost);
}

// The cluster takes a pod's readiness away when its node stops answering; the node itself would
// have changed the container's word as well.
TEST(PodSight, ANodeThatStoppedAnsweringIsNoticedBeforeItIsGivenUp) {
  const auto seen = [](bool is_pod_ready, bool is_container_ready) {
    return sight(fmt::format(
        R"({{"phase":"Running","conditions":[{{"type":"Ready","status":"{}"}}],"containerStatuses":
        [{{"name":"main","ready":{},"state":{{"running":{{"startedAt":"x"}}}}}}]}})",
        is_pod_ready ? "True" : "False", is_container_ready));
  };
  EXPECT_EQ(std::get<Unreachable>(seen(false, true)).code, kNodeLost);
  EXPECT_EQ(std::get<Alive>(seen(true, true)).state, AttemptState::running);
  EXPECT_EQ(std::get<Alive>(seen(false, false)).state, AttemptState::running);
}

TEST(PodSight, AnAgentThatCannotStartSaysWhy) {
  const auto seen = sight(R"({"phase":"Failed","initContainerStatuses":[{"name":"agent","state":
    {"terminated":{"exitCode":128,"reason":"StartError","message":"exec: no such file"}}}]})");
  EXPECT_EQ(std::get<Lost>(seen).cause, Cause::never_started);
  EXPECT_NE(std::get<Lost>(seen).evidence.find("no such file"), std::string::npos);
}

TEST(PodSight, APodWhoseRanksHaveNotBegunIsPreparing) {
  const auto seen = [](const char* started) {
    return std::get<Alive>(sight(fmt::format(
        R"({{"phase":"Running","containerStatuses":[{{"name":"main",{}"state":{{"running":{{"startedAt":"x"}}}}}}]}})",
        started)));
  };
  EXPECT_EQ(seen(R"("started":false,)").state, AttemptState::preparing);
  EXPECT_EQ(seen(R"("started":false,)").waits_for->code, "starting");
  EXPECT_EQ(seen(R"("started":true,)").state, AttemptState::running);
  EXPECT_EQ(seen("").state, AttemptState::running) << "nodes on paper do not tell";
}

TEST(PodSight, AnImageWithoutTheProgramIsTheProfilesMistake) {
  const auto seen = sight(R"({"phase":"Failed","initContainerStatuses":[{"name":"agent","state":
    {"terminated":{"exitCode":128,"reason":"StartError",
    "message":"exec: \"/bin/muster\": stat /bin/muster: no such file or directory"}}}]})");
  EXPECT_EQ(std::get<Lost>(seen).cause, Cause::user_config);
}

TEST(PodSight, AJobThatAQueueSuspendsIsPreempted) {
  const auto seen = sight(R"({"phase":"Failed"})",
                          {.stop_why = "", .first_rank = 0, .is_suspended = true}, kDeleting);
  EXPECT_EQ(std::get<Lost>(seen).cause, Cause::queue_preempted);
}

TEST(JobRow, ASuspendedOneIsKnown) {
  const auto row = read_job(
      json::parse(R"({"metadata":{"name":"m","uid":"u"},"spec":{"suspend":true}})").as_object());
  ASSERT_TRUE(row);
  EXPECT_TRUE(row->is_suspended);
}

TEST(JobRow, TellsWhyItWasStopped) {
  const auto row = read_job(json::parse(R"({"metadata":{"name":"m","uid":"u","annotations":
    {"muster.dev/stop":"abort"}},"spec":{"suspend":true}})")
                                .as_object());
  ASSERT_TRUE(row);
  EXPECT_EQ(row->stop_why, "abort");
  EXPECT_FALSE(row->is_suspended) << "muster does it to stop a Job";
}

}  // namespace
}  // namespace muster::pods
