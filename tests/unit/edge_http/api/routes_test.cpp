// The route table, the paths made from it, and its page in the reference.
#include "app/api/routes.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "app/api/error_json.hpp"

namespace muster::api {
namespace {

TEST(Routes, EveryRouteMatchesThePathMadeForIt) {
  std::set<std::string_view> names;
  for (const auto& route : all_routes()) {
    EXPECT_TRUE(names.insert(route.name).second) << route.name;
    const bool has_id = route.pattern.find("{id}") != route.pattern.npos;
    const std::string id = has_id ? "ada_1700000000_0badf00d" : "";
    const auto path = path_for(route.name, id);
    ASSERT_TRUE(path) << route.name;
    const auto found = match(route.method, *path);
    ASSERT_TRUE(found) << *path;
    EXPECT_EQ(found->route->name, route.name);
    EXPECT_EQ(found->id, id);
    EXPECT_FALSE(route.doc.empty());
  }
}

TEST(Routes, HeadIsServedWhereGetIs) {
  EXPECT_EQ(match("HEAD", "/v1/jobs")->route->name, "jobs.list");
  EXPECT_EQ(match("HEAD", "/v1/server:stop").error().status, 405);
}

TEST(Routes, AnIdIsDecodedOnceAndThenJudged) {
  EXPECT_EQ(match("GET", "/v1/jobs/%61da_1_2")->id, "ada_1_2");
  EXPECT_EQ(match("GET", "/v1/jobs/%2561")->id, "%61");
  EXPECT_EQ(match("GET", "/v1/jobs/my%20run%2f1%3aabort")->id, "my run/1:abort");
  for (const auto* path : {"/v1/jobs/a%00b", "/v1/jobs/%zz", "/v1/jobs/%"}) {
    const auto found = match("GET", path);
    ASSERT_FALSE(found) << path;
    EXPECT_EQ(found.error().status, 400) << path;
    EXPECT_EQ(found.error().error.kind, Kind::usage);
  }
}

TEST(Routes, AnyReferenceFitsIntoAPath) {
  EXPECT_TRUE(
      rc::check("a path that is made matches and gives the id back", [](const std::string& id) {
        const auto path = path_for("jobs.abort", id);
        RC_ASSERT(path.has_value() == is_reference(id));
        if (path) RC_ASSERT(match("POST", *path)->id == id);
      }));
  EXPECT_FALSE(path_for("jobs.get", ""));
  EXPECT_FALSE(path_for("jobs.get", std::string(256, 'a')));
  EXPECT_FALSE(path_for("jobs.list", "x"));
  EXPECT_FALSE(path_for("jobs.dance", "x"));
}

TEST(Routes, AWrongMethodNamesTheRightOnes) {
  const auto missed = match("DELETE", "/v1/jobs").error();
  EXPECT_EQ(missed.status, 405);
  EXPECT_EQ(missed.allow, "POST, GET");
  const auto response = response_of(missed);
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(http::find_header(response.headers, "Allow"), "POST, GET");
  EXPECT_EQ(error_from_json(405, response.body).kind, Kind::usage);
}

TEST(Routes, AWrongPathNamesTheNearest) {
  const auto near = [](std::string_view path) { return match("GET", path).error().error.fix[0]; };
  EXPECT_NE(near("/v1/job").find("/v1/jobs"), std::string::npos);
  EXPECT_NE(near("/v1/jobs/ada_1_2/log").find("GET /v1/jobs/{id}/logs"), std::string::npos);
  EXPECT_NE(near("/v1/jobs/ada_1_2:abrot").find("POST /v1/jobs/{id}:abort"), std::string::npos);
  for (const auto* path : {"", "/", "/v1", "/v2/jobs", "/v1/jobs/", "/v1/jobs/a/b/c",
                           "/v1/jobs//logs", "/v1/jobs/a:b:abort", "/../etc/passwd"})
    EXPECT_EQ(match("GET", path).error().status, 404) << path;
}

TEST(Routes, NoPathCrashesTheMatch) {
  EXPECT_TRUE(rc::check("any path", [](const std::string& path) {
    (void)match("GET", path);
    (void)match("POST", "/v1/jobs/" + path);
  }));
}

TEST(Routes, TheReferenceHoldsTheTable) {
  const std::string file = std::string(MUSTER_SOURCE_DIR) + "/docs/reference/api.md";
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  std::string page = text.str();
  const std::string begin = "<!-- routes -->\n";
  const std::string end = "<!-- /routes -->";
  const auto from = page.find(begin);
  const auto to = page.find(end);
  ASSERT_TRUE(from != page.npos && to != page.npos && from < to) << "the page lost its marks";
  const auto start = from + begin.size();
  if (std::getenv("MUSTER_ACCEPT") != nullptr) {
    page.replace(start, to - start, routes_markdown());
    std::ofstream(file) << page;
    return;
  }
  EXPECT_EQ(page.substr(start, to - start), routes_markdown())
      << "run this test with MUSTER_ACCEPT=1 and look at the difference";
}

}  // namespace
}  // namespace muster::api
