#include "core/model/codec.hpp"

#include <rapidcheck/gtest.h>

#include "core/model/json.hpp"
#include "support/builders.hpp"

namespace muster {
namespace {

using test::spec_of;

RC_GTEST_PROP(Codec, AnyArgvAndTagsSurvive,
              (const std::vector<std::string>& argv,
               const std::map<std::string, std::string>& tags)) {
  auto spec = spec_of(argv);
  spec.tags = tags;
  const auto back = decode_spec(encode(spec));
  RC_ASSERT(back.has_value());
  RC_ASSERT(back->command == argv);
  RC_ASSERT(back->tags == tags);
}

RC_GTEST_PROP(Codec, AnyEnvironmentSurvivesInAPlan,
              (const std::map<std::string, std::string>& env)) {
  Plan plan{.ref = {7, JobId("j"), 2}, .argv = {"x"}, .env = env};
  const auto back = decode_plan(encode(plan));
  RC_ASSERT(back.has_value());
  RC_ASSERT(back->env == env);
  RC_ASSERT(back->ref == plan.ref);
}

TEST(Codec, BytesThatAreNotUtf8AreWrapped) {
  EXPECT_EQ(json::serialize(bytes_to_json("a\xff")), R"({"b64":"Yf8="})");
  EXPECT_EQ(bytes_from_json(*parse_json(R"({"b64":"Yf8="})")).value(), "a\xff");
  EXPECT_FALSE(bytes_from_json(*parse_json("3")));
}

TEST(Codec, UnknownFieldsAreIgnoredAndAbsentOnesKeepTheirDefaults) {
  const auto spec = decode_spec(R"({"command":["a"],"from_the_future":{"x":1}})");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->grace, std::chrono::seconds(30));
  EXPECT_EQ(spec->retries.infrastructure, 5);
}

TEST(Codec, AWrongTypeIsAnErrorThatNamesTheField) {
  const auto spec = decode_spec(R"({"command":["a"],"request":{"nodes":"two"}})");
  ASSERT_FALSE(spec);
  EXPECT_EQ(spec.error().where, "request: nodes");
  EXPECT_FALSE(decode_spec("{"));
  EXPECT_FALSE(decode_spec("[1]"));
  EXPECT_FALSE(decode_spec(std::string(200, '[')));
}

TEST(Codec, EveryEventKindRoundTrips) {
  const std::vector<EventBody> bodies{
      Submitted{JobId("ann_1_00000001"), spec_of({"a", "b\xff"})},
      Placed{2,
             2,
             {{.node = NodeName("n"),
               .first_rank = 4,
               .ranks = 2,
               .cpus = {500},
               .memory = {1},
               .gpus = {0, 3}}},
             20'001},
      PortMoved{2, 20'002},
      Seated{2, {NodeName("n"), NodeName("m")}},
      Started{2},
      NodeEnded{2,
                {.node = 1, .record = test::record_of(2, 3), .loss = Cause::none, .evidence = "e"}},
      NodeEnded{2,
                {.node = 1, .record = std::nullopt, .loss = Cause::host_reboot, .evidence = "e"}},
      GangStopped{2, 5},
      CancelRequested{"bob"},
      AttemptEnded{.attempt = 2,
                   .cause = Cause::host_oom,
                   .exit_code = 1,
                   .signal = 9,
                   .first_failed_rank = 3,
                   .evidence = {"x"},
                   .cpu_s = 1.5,
                   .peak_bytes = 7,
                   .oom_kills = 1,
                   .started_at = WallTime{1},
                   .ended_at = WallTime{2}},
      Requeued{Budget::infrastructure, {5}},
      Finished{JobState::cancelled, Cause::cancelled, 0, 15},
  };
  for (const auto& body : bodies) {
    const auto back = decode_body(kind_of(body), kEventVersion, encode_body(body));
    ASSERT_TRUE(back) << kind_of(body);
    EXPECT_EQ(back->index(), body.index());
    EXPECT_EQ(encode_body(*back), encode_body(body));
  }
}

TEST(Codec, EventsOfANewerProgramAreRefused) {
  EXPECT_EQ(decode_body("started", kEventVersion + 1, "{}").error().kind, Kind::corrupt);
  EXPECT_EQ(decode_body("teleported", 1, "{}").error().kind, Kind::corrupt);
}

}  // namespace
}  // namespace muster
