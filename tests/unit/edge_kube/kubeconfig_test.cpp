#include "edge/kube/kubeconfig.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/text.hpp"
#include "edge/kube/url.hpp"

namespace muster::kube {
namespace {

constexpr std::string_view kFirst = R"(
apiVersion: v1
kind: Config
current-context: work
clusters:
- name: c
  cluster: {server: "https://c.example.org:6443", certificate-authority: pki/ca.crt,
            tls-server-name: inner, proxy-url: "socks5://localhost:1080"}
users:
- name: u
  user:
    token: 0123
    as: bob
    as-groups: [a, b]
contexts:
- {name: work, context: {cluster: c, user: u, namespace: team}}
)";

constexpr std::string_view kSecond = R"(
current-context: other
clusters:
- {name: c, cluster: {server: "https://never"}}
- {name: d, cluster: {server: "https://d", insecure-skip-tls-verify: true}}
users:
- name: az
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      command: ./kubelogin
      args: [get-token, --login, azurecli]
      env: [{name: A, value: b}]
      installHint: install kubelogin
      provideClusterInfo: true
contexts:
- {name: other, context: {cluster: d, user: az}}
)";

TEST(Kubeconfig, AContextIsLookedUpWithItsClusterAndUser) {
  const auto config = parse_kubeconfig(kFirst, "/home/ann/.kube/config");
  ASSERT_TRUE(config) << to_text(config.error());
  const auto target = target_of(*config, "");
  ASSERT_TRUE(target) << to_text(target.error());
  EXPECT_EQ(target->context, "work");
  EXPECT_EQ(target->space, "team");
  EXPECT_EQ(target->cluster.server, "https://c.example.org:6443");
  EXPECT_EQ(target->cluster.tls_server_name, "inner");
  EXPECT_EQ(target->cluster.proxy_url, "socks5://localhost:1080");
  EXPECT_EQ(target->user.as.user, "bob");
  EXPECT_EQ(target->user.as.groups, (std::vector<std::string>{"a", "b"}));
}

TEST(Kubeconfig, FilesAreRelativeToTheFolderOfTheConfig) {
  const auto first = parse_kubeconfig(kFirst, "/home/ann/.kube/config");
  EXPECT_EQ(target_of(*first, "")->cluster.ca_file, "/home/ann/.kube/pki/ca.crt");
  const auto second = parse_kubeconfig(kSecond, "/etc/k/config");
  EXPECT_EQ(target_of(*second, "")->user.exec->command, "/etc/k/./kubelogin");
}

TEST(Kubeconfig, ATokenThatLooksLikeANumberStaysAsItWasWritten) {
  const auto config = parse_kubeconfig(kFirst, "f");
  EXPECT_EQ(config->users.front().token, "0123");
}

TEST(Kubeconfig, TheFirstFileThatSaysSomethingWins) {
  const auto all = merged(*parse_kubeconfig(kFirst, "/a/x"), *parse_kubeconfig(kSecond, "/b/y"));
  EXPECT_EQ(all.current_context, "work");
  EXPECT_EQ(target_of(all, "")->cluster.server, "https://c.example.org:6443");
  const auto other = target_of(all, "other");
  ASSERT_TRUE(other);
  EXPECT_TRUE(other->cluster.is_insecure);
  EXPECT_EQ(other->space, "default");
  ASSERT_TRUE(other->user.exec);
  EXPECT_EQ(other->user.exec->args, (std::vector<std::string>{"get-token", "--login", "azurecli"}));
  EXPECT_TRUE(other->user.exec->wants_cluster);
}

TEST(Kubeconfig, InlineCredentialsAreDecoded) {
  const auto text = fmt::format(
      "users:\n- name: u\n  user: {{client-certificate-data: {}, client-key-data: {}}}\n",
      to_base64("CERT"), to_base64("KEY"));
  const auto config = parse_kubeconfig(text, "f");
  ASSERT_TRUE(config) << to_text(config.error());
  EXPECT_EQ(config->users.front().cert_pem, "CERT");
  EXPECT_EQ(config->users.front().key_pem, "KEY");
}

TEST(Kubeconfig, WhatIsWrongIsToldWithItsPlace) {
  const auto broken = parse_kubeconfig("clusters:\n- {name: c, cluster: [1}\n", "/k/config");
  ASSERT_FALSE(broken);
  EXPECT_NE(to_line(broken.error()).find("/k/config:2"), std::string::npos)
      << to_line(broken.error());
  const auto data =
      parse_kubeconfig("users:\n- {name: u, user: {client-key-data: \"%%%\"}}\n", "/k/config");
  ASSERT_FALSE(data);
  EXPECT_NE(to_line(data.error()).find("client-key-data"), std::string::npos);
}

TEST(Kubeconfig, AMissingContextNamesTheNearest) {
  const auto config = parse_kubeconfig(kFirst, "f");
  const auto target = target_of(*config, "wokr");
  ASSERT_FALSE(target);
  EXPECT_EQ(target.error().kind, Kind::not_found);
  EXPECT_NE(to_text(target.error()).find("did you mean \"work\""), std::string::npos);
}

class Files : public ::testing::Test {
 protected:
  Files() {
    std::string name = (std::filesystem::temp_directory_path() / "muster-kube-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~Files() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, std::string_view text) {
    const auto path = folder_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
    return path;
  }
  std::string folder_;
};

TEST_F(Files, KubeconfigListsAreMergedAndMissingOnesPassedOver) {
  const auto first = write("a", kFirst);
  const auto second = write("b", kSecond);
  const auto target =
      load({.context = "other",
            .env = {{"KUBECONFIG", fmt::format("{}/none:{}:{}", folder_, first, second)}}});
  ASSERT_TRUE(target) << to_text(target.error());
  EXPECT_EQ(target->cluster.server, "https://d");
}

TEST_F(Files, TheHomesFileIsTheDefault) {
  write(".kube/config", kFirst);
  const auto target = load({.env = {{"HOME", folder_}}});
  ASSERT_TRUE(target);
  EXPECT_EQ(target->context, "work");
}

TEST_F(Files, InsideAPodItsServiceAccountIsTaken) {
  write("sa/token", "t\n");
  write("sa/namespace", "jobs");
  const auto target = load({.env = {{"HOME", folder_},
                                    {"KUBERNETES_SERVICE_HOST", "fd00::1"},
                                    {"KUBERNETES_SERVICE_PORT", "6443"}},
                            .service_account = folder_ + "/sa"});
  ASSERT_TRUE(target) << to_text(target.error());
  EXPECT_EQ(target->cluster.server, "https://[fd00::1]:6443");
  EXPECT_EQ(target->space, "jobs");
  EXPECT_EQ(target->user.token_file, folder_ + "/sa/token");
}

TEST_F(Files, NothingAnywhereSaysWhatToSet) {
  const auto target = load({.env = {{"HOME", folder_}}});
  ASSERT_FALSE(target);
  EXPECT_NE(to_text(target.error()).find("KUBECONFIG"), std::string::npos);
}

TEST(Url, AddressesAreTakenApart) {
  const auto url = parse_url("https://User%40x:p@[FD00::1]:6443/k8s/c1/");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->user, "User@x:p");
  EXPECT_EQ(url->host, "fd00::1");
  EXPECT_EQ(url->port, 6443);
  EXPECT_EQ(url->path, "/k8s/c1");
  EXPECT_EQ(url->authority(), "[fd00::1]:6443");
  EXPECT_EQ(parse_url("https://h")->port, 443);
  EXPECT_EQ(parse_url("http://h")->port, 80);
  for (const auto* bad : {"", "https://", "https://h:0", "https://h:x", "https://h:70000",
                          "https://[::1", "https://u::1]:68", "https://::1", "a,b://h",
                          "https://[::1]x1", "https://[abc]", "https://a b", "https://h/a\nb"})
    EXPECT_FALSE(parse_url(bad)) << bad;
}

TEST(Url, NoProxyNamesHostsDomainsAndRanges) {
  EXPECT_TRUE(is_exempt("10.1.2.3", "localhost, 10.0.0.0/8"));
  EXPECT_FALSE(is_exempt("11.1.2.3", "10.0.0.0/8"));
  EXPECT_TRUE(is_exempt("api.example.org", ".example.org"));
  EXPECT_TRUE(is_exempt("api.example.org", "example.org:443"));
  EXPECT_FALSE(is_exempt("notexample.org", "example.org"));
  EXPECT_TRUE(is_exempt("fd00::5", "fd00::/16"));
  EXPECT_TRUE(is_exempt("anything", "*"));
}

}  // namespace
}  // namespace muster::kube
