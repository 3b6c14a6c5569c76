#include "edge/kube/api.hpp"

#include <gtest/gtest.h>

#include "edge/kube/cancel.hpp"
#include "unit/edge_kube/fake_server.hpp"

namespace muster::kube {
namespace {

const ObjectRef kPod{.resource = pods(), .space = "default", .name = "a"};

TEST(Api, AnObjectIsReadWithTheTokenAndOneConnectionIsKept) {
  std::mutex mutex;
  http::Request seen;
  FakeServer server([&](const http::Request& request, Wire& wire) {
    const std::lock_guard lock(mutex);
    seen = request;
    return wire.answer(200, pod_json("a", "1"));
  });
  Api api(server.cluster());
  for (int i = 0; i < 5; ++i) {
    const auto object = api.get(kPod);
    ASSERT_TRUE(object) << to_text(object.error());
    EXPECT_EQ(*object, pod_json("a", "1"));
  }
  const std::lock_guard lock(mutex);
  EXPECT_EQ(seen.path, "/api/v1/namespaces/default/pods/a");
  EXPECT_EQ(seen.header("Authorization"), "Bearer secret");
  EXPECT_EQ(server.connections(), 1);
}

TEST(Api, ARefusalKeepsTheServersWordsBesideOurKind) {
  FakeServer server([](const http::Request&, Wire& wire) {
    return wire.answer(422,
                       R"({"kind":"Status","code":422,"reason":"Invalid","message":"Pod is bad",
      "details":{"causes":[{"reason":"FieldValueInvalid","field":"spec.x","message":"m"}]}})");
  });
  Api api(server.cluster());
  const auto made = api.create({pods(), "default"}, "{}");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, Kind::usage);
  EXPECT_EQ(made.error().code, 422);
  EXPECT_EQ(made.error().reason, "Invalid");
  ASSERT_EQ(made.error().causes.size(), 1U);
  EXPECT_EQ(made.error().causes[0].field, "spec.x");
  EXPECT_NE(to_line(made.error()).find("Pod is bad"), std::string::npos);
  EXPECT_EQ(server.requests(), 1);
}

TEST(Api, AnObjectThatIsThereAlreadyIsNoError) {
  FakeServer server([](const http::Request&, Wire& wire) {
    return wire.answer(409, status_json(409, "AlreadyExists"));
  });
  Api api(server.cluster());
  const auto made = api.create({pods(), "default"}, "{}");
  ASSERT_TRUE(made);
  EXPECT_FALSE(made->is_new);
}

TEST(Api, WritesAskForStrictFieldsAndDryRunsSaySo) {
  std::mutex mutex;
  http::Request seen;
  FakeServer server([&](const http::Request& request, Wire& wire) {
    const std::lock_guard lock(mutex);
    seen = request;
    return wire.answer(201, "{}");
  });
  Api api(server.cluster());
  ASSERT_TRUE(api.create({pods(), "default"}, "{}", {.run = Run::dry}));
  {
    const std::lock_guard lock(mutex);
    EXPECT_EQ(seen.parameter("fieldValidation"), "Strict");
    EXPECT_EQ(seen.parameter("dryRun"), "All");
    EXPECT_EQ(seen.parameter("fieldManager"), "muster");
  }
  ASSERT_TRUE(api.apply(kPod, "{}"));
  {
    const std::lock_guard lock(mutex);
    EXPECT_EQ(seen.method, "PATCH");
    EXPECT_EQ(seen.header("Content-Type"), "application/apply-patch+yaml");
    EXPECT_EQ(seen.parameter("force"), "true");
  }
  ASSERT_TRUE(api.remove(kPod, {.uid = "u1", .grace_seconds = 0}));
  const std::lock_guard lock(mutex);
  EXPECT_EQ(seen.method, "DELETE");
  EXPECT_NE(seen.body.find(R"("uid":"u1")"), std::string::npos);
  EXPECT_NE(seen.body.find(R"("gracePeriodSeconds":0)"), std::string::npos);
}

TEST(Api, WhatIsGoneCountsAsRemoved) {
  FakeServer server([](const http::Request&, Wire& wire) {
    return wire.answer(404, status_json(404, "NotFound"));
  });
  Api api(server.cluster());
  const auto removed = api.remove(kPod);
  ASSERT_TRUE(removed);
  EXPECT_FALSE(*removed);
}

TEST(Api, TooManyRequestsAreSentAgainWhenTheServerSaid) {
  std::atomic<int> refusals = 2;
  FakeServer server([&](const http::Request&, Wire& wire) {
    if (refusals-- > 0)
      return wire.answer(429, status_json(429, "TooManyRequests"), {{"Retry-After", "1"}});
    return wire.answer(201, "{}");
  });
  Api api(server.cluster());
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_TRUE(api.create({pods(), "default"}, "{}"));
  EXPECT_EQ(server.requests(), 3);
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::seconds(2));
}

TEST(Api, AWriteThatTheServerStumbledOverIsNotRepeated) {
  FakeServer server([](const http::Request&, Wire& wire) {
    return wire.answer(500, status_json(500, "InternalError", "field not declared in schema"));
  });
  Api api(server.cluster());
  const auto made = api.apply(kPod, "{}");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, Kind::usage);  // the server's word for it is 500 all the same
  EXPECT_EQ(server.requests(), 1);
}

TEST(Api, AReadIsRepeatedWhenTheServerStumbles) {
  std::atomic<int> stumbles = 2;
  FakeServer server([&](const http::Request&, Wire& wire) {
    if (stumbles-- > 0) return wire.answer(500, "oh no");
    return wire.answer(200, "{}");
  });
  Api api(server.cluster());
  EXPECT_TRUE(api.get(kPod));
  EXPECT_EQ(server.requests(), 3);
}

TEST(Api, ACutConnectionIsRepeatedExceptForWhatMustNotBe) {
  std::atomic<int> cuts = 1;
  FakeServer server([&](const http::Request&, Wire& wire) {
    if (cuts-- > 0) {
      wire.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{");
      return false;
    }
    return wire.answer(200, "{}");
  });
  Api api(server.cluster());
  EXPECT_TRUE(api.create({pods(), "default"}, "{}"));
  EXPECT_EQ(server.requests(), 2);
  cuts = 1;
  const auto patched = api.patch(kPod, PatchKind::json, "[]");
  ASSERT_FALSE(patched);
  EXPECT_EQ(patched.error().kind, Kind::unavailable);
}

TEST(Api, NobodyThereIsUnavailableAndSaysWhere) {
  Target target{.context = "x"};
  target.cluster.server = "https://127.0.0.1:1";
  Api api(*Cluster::open(target, {.retries = 1}));
  const auto object = api.get(kPod);
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().kind, Kind::unavailable);
  EXPECT_NE(to_line(object.error()).find("127.0.0.1:1"), std::string::npos);
}

TEST(Api, AnotherThreadBreaksItOff) {
  FakeServer server([](const http::Request&, Wire& wire) {
    wire.receive();  // never answers; ends when the client goes
    return false;
  });
  Cancel cancel;
  Api api(server.cluster(), cancel.stop());
  std::thread breaker([&] {
    EXPECT_TRUE(eventually([&] { return server.requests() == 1; }));
    cancel.set();
  });
  const auto object = api.get(kPod);
  breaker.join();
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().kind, Kind::cancelled);
}

TEST(Api, RequestsBeyondTheBurstWaitTheirTurn) {
  FakeServer server([](const http::Request&, Wire& wire) { return wire.answer(200, "{}"); });
  Api api(*Cluster::open(server.target(), {.per_second = 20, .burst = 1}));
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(api.get(kPod));
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(190));
}

TEST(Api, PathsAreEscaped) {
  EXPECT_EQ(path_of(ObjectRef{jobs(), "a/b", "x?y", "status"}),
            "/apis/batch/v1/namespaces/a%2Fb/jobs/x%3Fy/status");
  EXPECT_EQ(path_of(Collection{nodes()}), "/api/v1/nodes");
}

TEST(ApiError, AQuotaIsALimitAndNotAMissingRight) {
  EXPECT_EQ(
      api_error(403, status_json(403, "Forbidden", "pods is forbidden: exceeded quota: q"), {})
          .kind,
      Kind::exhausted);
  EXPECT_EQ(api_error(403, status_json(403, "Forbidden"), {}).kind, Kind::denied);
}

TEST(ApiError, WhatIsNoStatusIsStillTold) {
  const auto error = api_error(502, "<html>bad \x1b[31mgateway</html>", {});
  EXPECT_EQ(error.kind, Kind::unavailable);
  EXPECT_NE(error.why.find("\\x1b"), std::string::npos);
}

}  // namespace
}  // namespace muster::kube
