#include "edge/kube/list.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/text.hpp"
#include "core/model/json.hpp"
#include "edge/kube/item_splitter.hpp"
#include "unit/edge_kube/fake_server.hpp"

namespace muster::kube {
namespace {

std::string page(const std::vector<std::string>& items, std::string_view next) {
  return fmt::format(
      R"({{"kind":"PodList","metadata":{{"resourceVersion":"77","continue":"{}"}},"items":[{}]}})",
      next, join(items, ","));
}

struct Seen {
  int beginnings = 0;
  std::vector<std::string> names;
  ListSink sink() {
    return {.begin =
                [this] {
                  ++beginnings;
                  names.clear();
                },
            .item =
                [this](const json::object& item) {
                  names.emplace_back(text_at(item.at("metadata").as_object(), "name"));
                }};
  }
};

TEST(List, PagesAreAskedForUntilTheLast) {
  FakeServer server([](const http::Request& request, Wire& wire) {
    EXPECT_EQ(request.parameter("limit"), "2");
    EXPECT_EQ(request.parameter("labelSelector"), "app=x");
    if (request.parameter("continue") == "more")
      return wire.answer(200, page({pod_json("c", "3")}, ""));
    return wire.answer(200, page({pod_json("a", "1"), pod_json("b", "2")}, "more"));
  });
  Api api(server.cluster());
  Seen seen;
  const auto listed = list(api, {pods(), "default"}, {.labels = "app=x"}, seen.sink(), 2);
  ASSERT_TRUE(listed) << to_text(listed.error());
  EXPECT_EQ(seen.names, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(listed->version, "77");
  EXPECT_EQ(listed->items, 3U);
  EXPECT_EQ(seen.beginnings, 1);
}

TEST(List, AnExpiredTokenBeginsTheListAnew) {
  std::atomic<int> expiries = 1;
  FakeServer server([&](const http::Request& request, Wire& wire) {
    if (request.parameter("continue")) {
      if (expiries-- > 0) return wire.answer(410, status_json(410, "Expired"));
      return wire.answer(200, page({pod_json("c", "3")}, ""));
    }
    return wire.answer(200, page({pod_json(expiries > 0 ? "old" : "a", "1")}, "more"));
  });
  Api api(server.cluster());
  Seen seen;
  ASSERT_TRUE(list(api, {pods(), ""}, {}, seen.sink()));
  EXPECT_EQ(seen.beginnings, 2);
  EXPECT_EQ(seen.names, (std::vector<std::string>{"a", "c"}));
}

TEST(List, ATokenThatAlwaysExpiresEndsInOneLargeList) {
  FakeServer server([&](const http::Request& request, Wire& wire) {
    if (!request.parameter("limit")) return wire.answer(200, page({pod_json("a", "1")}, ""));
    if (request.parameter("continue")) return wire.answer(410, status_json(410, "Expired"));
    return wire.answer(200, page({pod_json("a", "1")}, "more"));
  });
  Api api(server.cluster());
  Seen seen;
  ASSERT_TRUE(list(api, {pods(), ""}, {}, seen.sink()));
  EXPECT_EQ(seen.names, (std::vector<std::string>{"a"}));
}

TEST(List, APageThatBreaksOffIsAskedForAgain) {
  std::atomic<int> cuts = 2;
  const auto whole = page({pod_json("a", "1"), pod_json("b", "2")}, "");
  FakeServer server([&](const http::Request&, Wire& wire) {
    if (cuts-- <= 0) return wire.answer(200, whole);
    wire.begin_chunks();
    wire.chunk(whole.substr(0, whole.size() / 2));
    return false;
  });
  Api api(server.cluster());
  Seen seen;
  const auto listed = list(api, {pods(), ""}, {}, seen.sink());
  ASSERT_TRUE(listed) << to_text(listed.error());
  EXPECT_EQ(listed->items, 2U);
  EXPECT_EQ(seen.names.back(), "b");
}

TEST(List, NonsenseIsCorrupt) {
  FakeServer server([](const http::Request&, Wire& wire) {
    return wire.answer(200, R"({"items":[{"metadata":{]]}})");
  });
  Api api(server.cluster());
  Seen seen;
  const auto listed = list(api, {pods(), ""}, {}, seen.sink());
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().kind, Kind::corrupt);
}

struct Split {
  std::vector<std::string> items;
  std::string rest;
  bool operator==(const Split&) const = default;
};

std::optional<Split> split_text(std::string_view text, std::size_t piece) {
  ItemSplitter splitter;
  Split split;
  while (!text.empty()) {
    const auto fed = splitter.feed(text.substr(0, piece), [&](std::string_view item) -> Result<> {
      split.items.emplace_back(item);
      return {};
    });
    if (!fed) return std::nullopt;
    text.remove_prefix(std::min(piece, text.size()));
  }
  auto rest = splitter.finish();
  if (!rest) return std::nullopt;
  split.rest = *rest;
  return split;
}

TEST(ItemSplitter, ItemsAreTheSameHoweverTheTextIsCut) {
  const std::string text =
      R"({ "metadata" : {"items":["x"],"continue":"]}\""}, "items": [ {"a":[{"b":"}]\\"}]} , {} ], "z": 1 })";
  const auto whole = split_text(text, text.size());
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->items, (std::vector<std::string>{R"({"a":[{"b":"}]\\"}]})", "{}"}));
  ASSERT_TRUE(parse_json(whole->rest)) << whole->rest;
  for (std::size_t piece = 1; piece < text.size(); ++piece)
    EXPECT_EQ(split_text(text, piece), whole) << piece;
}

TEST(ItemSplitter, WhatIsNoListIsRefused) {
  for (const auto* text : {"", "[]", "{", "{}x", R"({"items":[1]})", R"({"items":["a"]})",
                           R"({"items":[{})", R"({"items":[[]]})"})
    EXPECT_FALSE(split_text(text, 100)) << text;
  EXPECT_TRUE(split_text(R"({"items":null})", 100));
  EXPECT_TRUE(split_text(R"({"items":[]})", 100));
}

TEST(ItemSplitter, EveryListComesApartIntoItsItems) {
  rc::check([](const std::vector<std::string>& texts) {
    json::array items;
    for (const auto& text : texts)
      items.push_back(json::object{{"name", bytes_to_json(text)}, {"items", json::array{1, "]"}}});
    const json::object list{{"metadata", json::object{{"x", "y"}}}, {"items", items}, {"n", 1}};
    const auto split = split_text(json::serialize(list), *rc::gen::inRange<std::size_t>(1, 50));
    RC_ASSERT(split.has_value());
    RC_ASSERT(split->items.size() == items.size());
    for (std::size_t i = 0; i < items.size(); ++i)
      RC_ASSERT(split->items[i] == json::serialize(items[i]));
  });
}

}  // namespace
}  // namespace muster::kube
