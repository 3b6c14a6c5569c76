#include "core/spec/yaml.hpp"

#include <gtest/gtest.h>

namespace muster::spec {
namespace {

YamlNode parsed(std::string_view text) {
  auto result = parse_yaml(text, "f.yaml");
  EXPECT_TRUE(result) << to_text(result.error());
  return result.value_or(YamlNode{});
}

Error refused(std::string_view text) {
  auto result = parse_yaml(text, "f.yaml");
  EXPECT_FALSE(result) << text;
  return result ? Error{} : result.error();
}

YamlNode plain(std::string text) {
  YamlNode node;
  node.text = std::move(text);
  return node;
}

TEST(Yaml, MapsListsAndScalarsKeepTheirPlaces) {
  const auto root = parsed("a: 1\nb:\n  - x\n  - {c: 'd'}\n");
  ASSERT_EQ(root.pairs.size(), 2U);
  EXPECT_EQ(root.pairs[0].value.text, "1");
  const auto* b = find(root, "b");
  ASSERT_NE(b, nullptr);
  ASSERT_EQ(b->items.size(), 2U);
  EXPECT_EQ(b->items[0].line, 3);
  EXPECT_EQ(b->items[0].column, 5);
  const auto* c = find(b->items[1], "c");
  ASSERT_NE(c, nullptr);
  EXPECT_EQ(c->text, "d");
  EXPECT_TRUE(c->is_quoted);
  EXPECT_EQ(c->line, 4);
}

TEST(Yaml, AnEmptyTextOrOnlyCommentsIsNull) {
  EXPECT_TRUE(is_null(parsed("")));
  EXPECT_TRUE(is_null(parsed("  \n\n")));
  EXPECT_TRUE(is_null(parsed("# nothing here\n")));
}

TEST(Yaml, ADuplicateKeyIsRefusedAtItsPlace) {
  const auto error = refused("a: 1\nb: 2\na: 3\n");
  EXPECT_EQ(error.where, "f.yaml:3:1");
  EXPECT_NE(error.what.find("\"a\""), std::string::npos);
}

TEST(Yaml, AKeyThatIsQuotedTheSecondTimeIsStillADuplicate) {
  EXPECT_EQ(refused("a: 1\n\"a\": 2\n").where, "f.yaml:2:1");
}

TEST(Yaml, BrokenTextIsRefusedWithALineAndColumn) {
  for (const char* text : {"a: \"never closed\nb: 1\n", "a:\n\tb: 1\n", "a: [1, 2\n", "{a: 1",
                           "a: 'x", "a: b: c\n", "- a\nb: c\n", "key\n: x\n- y", "a: *nobody\n"}) {
    const auto error = refused(text);
    EXPECT_EQ(error.where.rfind("f.yaml:", 0), 0U) << text << " -> " << error.where;
    EXPECT_EQ(error.kind, Kind::usage) << text;
  }
}

TEST(Yaml, ATabAsIndentationIsRefused) {
  const auto error = refused("clusters:\n\tmine: {}\n");
  EXPECT_EQ(error.where.rfind("f.yaml:2:", 0), 0U) << error.where;
}

TEST(Yaml, ASecondDocumentIsRefused) {
  EXPECT_EQ(refused("a: 1\n---\nb: 2\n").what, "a second document begins here");
}

TEST(Yaml, TagsAndKeysThatAreNotScalarsAreRefused) {
  refused("a: !!python/object:os.system ls\n");
  refused("? [a, b]\n: c\n");
}

TEST(Yaml, TextThatIsNotUtf8IsRefusedWithItsLine) {
  EXPECT_EQ(refused("a: 1\nb: \xff\xfe\n").where, "f.yaml:2:1");
  EXPECT_EQ(refused(std::string_view("a: 1\nb: \0\n", 11)).where, "f.yaml:2:1");
}

TEST(Yaml, AnAliasIsACopyOfWhatItNames) {
  const auto root = parsed("a: &x {k: v}\nb: *x\n");
  const auto* k = find(*find(root, "b"), "k");
  ASSERT_NE(k, nullptr);
  EXPECT_EQ(k->text, "v");
}

TEST(Yaml, AnAliasBombIsRefused) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    bomb += fmt::format("a{}: &a{} [", i, i);
    for (int k = 0; k < 9; ++k) bomb += fmt::format("{}*a{}", k == 0 ? "" : ", ", i - 1);
    bomb += "]\n";
  }
  EXPECT_NE(refused(bomb).what.find("more than"), std::string::npos);
}

TEST(Yaml, AnAliasThatWouldNestTooDeepIsRefused) {
  std::string text = "a0: &a0 [x]\n";
  for (int i = 1; i < 80; ++i) text += fmt::format("a{}: &a{} [*a{}]\n", i, i, i - 1);
  EXPECT_NE(refused(text).what.find("nested deeper"), std::string::npos);
}

TEST(Yaml, DeepNestingIsRefusedNotFollowed) {
  refused(std::string(100'000, '['));
  EXPECT_NE(refused("a: " + std::string(60, '[') + std::string(60, ']')).what.find("nested"),
            std::string::npos);
}

TEST(Yaml, AFileLargerThanTheCapIsRefused) {
  EXPECT_NE(refused(std::string(5 * 1024 * 1024, 'x')).what.find("bytes"), std::string::npos);
}

TEST(Yaml, OnlyTheWordsOfTheCoreSchemaAreBooleansAndNull) {
  EXPECT_EQ(as_bool(plain("true")), true);
  EXPECT_EQ(as_bool(plain("FALSE")), false);
  for (const char* word : {"yes", "no", "on", "off", "y", "tRue", "1"})
    EXPECT_FALSE(as_bool(plain(word))) << word;
  EXPECT_TRUE(is_null(plain("~")));
  EXPECT_FALSE(is_null(plain("nil")));
  auto quoted = plain("true");
  quoted.is_quoted = true;
  EXPECT_FALSE(as_bool(quoted));
}

TEST(Yaml, NumbersFollowTheCoreSchema) {
  EXPECT_EQ(as_int(plain("012")), 12);  // not octal
  EXPECT_EQ(as_int(plain("0o14")), 12);
  EXPECT_EQ(as_int(plain("0xC")), 12);
  EXPECT_EQ(as_int(plain("-7")), -7);
  EXPECT_EQ(as_int(plain("+7")), 7);
  for (const char* word : {"", "+-7", "0x-1", "1_000", "12e", "9223372036854775808", "1.0"})
    EXPECT_FALSE(as_int(plain(word))) << word;
  EXPECT_EQ(as_float(plain("1e3")), 1000.0);
  EXPECT_EQ(as_float(plain("-.5")), -0.5);
  EXPECT_TRUE(as_float(plain(".inf")));
  for (const char* word : {"inf", "nan", "0x1p3", "--1", "1:30", "e3"})
    EXPECT_FALSE(as_float(plain(word))) << word;
}

}  // namespace
}  // namespace muster::spec
