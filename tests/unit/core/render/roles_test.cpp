#include "core/render/roles.hpp"

#include <gtest/gtest.h>

#include "core/model/json.hpp"

namespace muster::render {
namespace {

std::vector<json::object> documents(const RolesFor& wanted) {
  const auto texts = role_documents(wanted);
  EXPECT_TRUE(texts) << to_text(texts.error());
  std::vector<json::object> all;
  for (const auto& text : texts.value_or(std::vector<std::string>{}))
    all.push_back(parse_json(text)->as_object());
  return all;
}

TEST(Roles, NoRightIsAWildcardAndNoSecretIsRead) {
  for (const auto& role : shipped_roles())
    for (const auto& right : role.rights) {
      EXPECT_NE(right.group, "*");
      EXPECT_NE(right.resource, "*");
      for (const auto& verb : right.verbs) {
        EXPECT_NE(verb, "*");
        EXPECT_FALSE(right.resource == "secrets" &&
                     (verb == "get" || verb == "list" || verb == "watch"));
      }
    }
}

TEST(Roles, OnlyTheFirstIsNeeded) {
  std::vector<std::string> needed;
  for (const auto& role : shipped_roles())
    if (role.is_needed) needed.push_back(role.name);
  EXPECT_EQ(needed, std::vector<std::string>{"muster-jobs"});
}

TEST(Roles, WithoutAnAccountNothingIsBound) {
  const auto all = documents({.space = "research", .account = {}, .names = {}});
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].at("kind"), "Role");
  EXPECT_EQ(all[0].at("metadata").at("namespace"), "research");
  EXPECT_EQ(all[2].at("kind"), "ClusterRole");
  EXPECT_FALSE(all[2].at("metadata").as_object().contains("namespace"));
}

TEST(Roles, AnAccountGetsABindingOfItsOwnForEach) {
  const auto all = documents({.space = "research", .account = "ci", .names = {"muster-nodes"}});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].at("kind"), "ClusterRoleBinding");
  EXPECT_EQ(all[1].at("metadata").at("name"), "muster-nodes-research-ci");
  EXPECT_EQ(all[1].at("roleRef").at("name"), "muster-nodes");
  EXPECT_EQ(all[1].at("subjects").at(0).at("namespace"), "research");
}

TEST(Roles, WhatCannotBePrintedIsRefused) {
  const auto unknown = role_documents({.space = {}, .account = {}, .names = {"admin"}});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, Kind::not_found);
  const auto homeless = role_documents({.space = {}, .account = "ci", .names = {}});
  ASSERT_FALSE(homeless);
  EXPECT_EQ(homeless.error().kind, Kind::usage);
}

}  // namespace
}  // namespace muster::render
