#include "edge/kube/credentials.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "edge/fs/files.hpp"
#include "unit/edge_kube/fake_server.hpp"

namespace muster::kube {
namespace {

const ObjectRef kPod{.resource = pods(), .space = "default", .name = "a"};

class Plugins : public ::testing::Test {
 protected:
  Plugins() {
    std::string name = (std::filesystem::temp_directory_path() / "muster-exec-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~Plugins() override { std::filesystem::remove_all(folder_); }

  /// A plug-in that notes each call and its question, and then does `body`.
  ExecPlugin plugin(std::string_view body) {
    const auto path = folder_ + "/login";
    std::ofstream(path) << "#!/bin/sh\necho x >> " << folder_ << "/calls\n"
                        << "printf %s \"$KUBERNETES_EXEC_INFO\" > " << folder_ << "/info\n"
                        << body << "\n";
    ::chmod(path.c_str(), 0755);
    return {.api_version = "client.authentication.k8s.io/v1",
            .command = path,
            .args = {"get"},
            .env = {{"EXTRA", "1"}},
            .install_hint = "install it",
            .interactive_mode = "IfAvailable",
            .wants_cluster = true};
  }
  std::size_t calls() const {
    const auto text = fs::read_file(folder_ + "/calls");
    return text ? text->size() / 2 : 0;
  }
  std::string folder_;
  const Environment env_{{"PATH", "/usr/bin:/bin"}};
};

std::string credential(std::string_view token, std::string_view expires) {
  return fmt::format(R"(echo '{{"kind":"ExecCredential","status":{{"token":"{}",)"
                     R"("expirationTimestamp":"{}"}}}}')",
                     token, expires);
}

TEST_F(Plugins, APluginIsAskedOnceUntilItsAnswerRunsOut) {
  Credentials lasting({.exec = plugin(credential("t1", "2999-01-01T00:00:00Z"))}, {}, "", env_);
  for (int i = 0; i < 3; ++i) {
    const auto identity = lasting.get({});
    ASSERT_TRUE(identity) << to_text(identity.error());
    EXPECT_EQ(identity->authorization, "Bearer t1");
  }
  EXPECT_EQ(calls(), 1U);
  Credentials past({.exec = plugin(credential("t2", "2001-01-01T00:00:00Z"))}, {}, "", env_);
  ASSERT_TRUE(past.get({}));
  ASSERT_TRUE(past.get({}));
  EXPECT_EQ(calls(), 3U);
}

TEST_F(Plugins, ItIsToldAboutTheCluster) {
  const ClusterEntry cluster{.server = "https://c:6443", .tls_server_name = "inner"};
  Credentials credentials({.exec = plugin(credential("t", ""))}, cluster, "PEM", env_);
  ASSERT_TRUE(credentials.get({}));
  const auto info = *fs::read_file(folder_ + "/info");
  for (const auto* part : {R"("interactive":false)", R"("server":"https://c:6443")",
                           R"("tls-server-name":"inner")", R"("certificate-authority-data":"UEVN")",
                           R"("apiVersion":"client.authentication.k8s.io/v1")"})
    EXPECT_NE(info.find(part), std::string::npos) << info;
}

TEST_F(Plugins, AFailureTellsWhatItSaid) {
  Credentials credentials({.exec = plugin("echo 'please log in' >&2; exit 3")}, {}, "", env_);
  const auto identity = credentials.get({});
  ASSERT_FALSE(identity);
  EXPECT_EQ(identity.error().kind, Kind::denied);
  EXPECT_NE(to_text(identity.error()).find("exited with 3"), std::string::npos);
  EXPECT_NE(to_text(identity.error()).find("please log in"), std::string::npos);
  EXPECT_NE(to_text(identity.error()).find("install it"), std::string::npos);
}

TEST_F(Plugins, AMissingOneShowsHowToInstallIt) {
  Credentials credentials({.exec = ExecPlugin{.api_version = "client.authentication.k8s.io/v1",
                                              .command = "no-such-login",
                                              .install_hint = "brew install it"}},
                          {}, "", env_);
  const auto identity = credentials.get({});
  ASSERT_FALSE(identity);
  EXPECT_NE(to_text(identity.error()).find("brew install it"), std::string::npos);
}

TEST_F(Plugins, AnEndlessOneIsBrokenOff) {
  Credentials credentials({.exec = plugin("exec sleep 1000")}, {}, "", env_);
  const std::atomic<bool> is_stopped = true;
  const auto identity = credentials.get({.flag = &is_stopped});
  ASSERT_FALSE(identity);
  EXPECT_EQ(identity.error().kind, Kind::cancelled);
}

TEST(Credentials, WhoLoggedInAgainIsFoundInTheKubeconfig) {
  Target now{.user = {.token = "old"}};
  Credentials credentials(now.user, {}, "", {}, [&]() -> Result<Target> { return now; });
  const auto first = credentials.get({});
  ASSERT_TRUE(first);
  EXPECT_FALSE(credentials.refuse(first->generation)) << "it says the same as before";
  now.user.token = "new";
  EXPECT_TRUE(credentials.refuse(first->generation));
  EXPECT_EQ(credentials.get({})->authorization, "Bearer new");
}

TEST_F(Plugins, ARefusedTokenIsRenewedOnce) {
  FakeServer server([](const http::Request& request, Wire& wire) {
    if (request.header("Authorization") != "Bearer t2")
      return wire.answer(401, status_json(401, "Unauthorized"));
    return wire.answer(200, "{}");
  });
  auto target = server.target();
  target.user = {.exec = plugin(fmt::format("n=$(wc -l < {}/calls); echo "
                                            "\"{{\\\"status\\\":{{\\\"token\\\":\\\"t$n\\\"}}}}\"",
                                            folder_))};
  Api api(*Cluster::open(target, {.env = env_}));
  const auto got = api.get(kPod);
  EXPECT_TRUE(got) << to_text(got.error());
  EXPECT_EQ(calls(), 2U);
  EXPECT_EQ(server.requests(), 2);
}

TEST_F(Plugins, ATokenThatStaysRefusedIsAnErrorAfterOneRenewal) {
  FakeServer server([](const http::Request&, Wire& wire) {
    return wire.answer(401, status_json(401, "Unauthorized"));
  });
  auto target = server.target();
  target.user = {.exec = plugin(credential("t", "2999-01-01T00:00:00Z"))};
  Api api(*Cluster::open(target, {.env = env_}));
  const auto got = api.get(kPod);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, Kind::denied);
  EXPECT_EQ(calls(), 2U);
}

TEST_F(Plugins, ATokensFileIsReadAgainWhenItWasRefused) {
  const auto path = folder_ + "/token";
  std::ofstream(path) << "old\n";
  FakeServer server([&](const http::Request& request, Wire& wire) {
    if (request.header("Authorization") == "Bearer new") return wire.answer(200, "{}");
    std::ofstream(path) << "new\n";
    return wire.answer(401, status_json(401, "Unauthorized"));
  });
  auto target = server.target();
  target.user = {.token_file = path};
  Api api(*Cluster::open(target));
  EXPECT_TRUE(api.get(kPod));
}

TEST(Credentials, APasswordAndAnotherUserGoIntoHeaders) {
  std::mutex mutex;
  http::Request seen;
  FakeServer server([&](const http::Request& request, Wire& wire) {
    const std::lock_guard lock(mutex);
    seen = request;
    return wire.answer(200, "{}");
  });
  auto target = server.target();
  target.user = {.username = "ann", .password = "pw"};
  target.user.as = {.user = "bob", .groups = {"g"}, .extra = {{"scope/x", "v"}}};
  Api api(*Cluster::open(target));
  ASSERT_TRUE(api.get(kPod));
  const std::lock_guard lock(mutex);
  EXPECT_EQ(seen.header("Authorization"), "Basic YW5uOnB3");
  EXPECT_EQ(seen.header("Impersonate-User"), "bob");
  EXPECT_EQ(seen.header("Impersonate-Group"), "g");
  EXPECT_EQ(seen.header("Impersonate-Extra-scope%2Fx"), "v");
}

}  // namespace
}  // namespace muster::kube
