// The Api over a real server: bodies, errors, streams, and a server that went away in between.
#include "app/api/remote.hpp"

#include "../support.hpp"
#include "app/api/error_json.hpp"
#include "app/api/routes.hpp"

namespace muster::api {
namespace {

using http::Exchange;
using http::Serving;

std::unique_ptr<Api> remote(const Serving& serving) {
  return make_remote({.socket_path = serving.socket_path()});
}

TEST(RemoteApi, ReturnsTheBodyOfASuccess) {
  Serving serving(http::echo);
  const auto api = remote(serving);
  const auto listed = api->call({.route = "jobs.list", .query = {{"state", "queued running"}}});
  ASSERT_TRUE(listed) << to_text(listed.error());
  EXPECT_EQ(*listed, "GET /v1/jobs state=queued running");
  const auto aborted = api->call({.route = "jobs.abort", .id = "ada_1_2", .body = "{}"});
  ASSERT_TRUE(aborted) << to_text(aborted.error());
  EXPECT_EQ(*aborted, "POST /v1/jobs/ada_1_2:abort {}");
  EXPECT_EQ(serving.server().connections(), 1U) << "one connection serves both";
}

TEST(RemoteApi, TurnsARefusalBackIntoItsError) {
  const Error error{
      Kind::not_found, "no job \"x\"", "the store", "it was never here", {"look", "ask"}};
  Serving serving(
      [&](const std::shared_ptr<Exchange>& exchange) { exchange->answer(response_of(error)); });
  const auto api = remote(serving);
  const auto called = api->call({.route = "jobs.get", .id = "x"});
  const auto streamed =
      api->stream({.route = "jobs.logs", .id = "x"}, [](std::string_view) { return true; });
  ASSERT_FALSE(called);
  ASSERT_FALSE(streamed);
  for (const auto& back : {called.error(), streamed.error()}) {
    EXPECT_EQ(back.kind, error.kind);
    EXPECT_EQ(back.what, error.what);
    EXPECT_EQ(back.where, error.where);
    EXPECT_EQ(back.why, error.why);
    EXPECT_EQ(back.fix, error.fix);
  }
}

TEST(RemoteApi, StreamsChunksUntilTheEndOrUntilItIsEnough) {
  Serving serving([](const std::shared_ptr<Exchange>& exchange) {
    const auto stream = exchange->stream(200, "application/octet-stream");
    stream->write("a lot");
    stream->close();
  });
  const auto api = remote(serving);
  std::string heard;
  for (const bool goes_on : {true, false, true}) {
    heard.clear();
    const auto streamed =
        api->stream({.route = "jobs.logs", .id = "x"}, [&](std::string_view chunk) {
          heard += chunk;
          return goes_on;
        });
    ASSERT_TRUE(streamed) << to_text(streamed.error());
    EXPECT_TRUE(std::string_view("a lot").starts_with(heard) && !heard.empty());
  }
  EXPECT_EQ(heard, "a lot");
}

TEST(RemoteApi, ReachesTheNextServerWhenTheFirstIsGone) {
  http::TempFolder folder;
  const http::ServerOptions options{.socket_path = folder.path() + "/socket"};
  auto first = std::make_unique<Serving>(http::echo, options);
  const auto api = remote(*first);
  ASSERT_TRUE(api->call({.route = "version"}));
  first.reset();
  const auto lost = api->call({.route = "version"});
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().kind, Kind::unavailable);
  Serving second(http::echo, options);
  EXPECT_TRUE(api->call({.route = "jobs.submit", .body = "{}"}));
}

TEST(RemoteApi, RefusesRoutesAndIdsThatDoNotExist) {
  Serving serving(http::echo);
  const auto api = remote(serving);
  EXPECT_EQ(api->call({.route = "jobs.dance"}).error().kind, Kind::usage);
  EXPECT_EQ(api->call({.route = "jobs.get", .id = std::string(300, 'x')}).error().kind,
            Kind::usage);
  EXPECT_EQ(serving.server().connections(), 0U);
}

}  // namespace
}  // namespace muster::api
