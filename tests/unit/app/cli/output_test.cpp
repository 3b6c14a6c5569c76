#include "app/cli/output.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/text.hpp"
#include "capture.hpp"
#include "core/model/json.hpp"
#include "core/spec/yaml.hpp"

namespace muster {
namespace {

TEST(Output, AnErrorSaysWhatWhereWhyAndWhatToDo) {
  Capture capture;
  Error error{
      .kind = Kind::not_found, .what = "no job", .where = "f:1", .why = "gone", .fix = {"a", "b"}};
  EXPECT_EQ(print_error(capture.context, error), 5);
  EXPECT_EQ(capture.err, "muster: no job\n  where: f:1\n  why:   gone\n  fix:   a\n  fix:   b\n");
  EXPECT_EQ(capture.out, "");
}

TEST(Output, NothingUntrustedReachesTheTerminalRaw) {
  Capture capture;
  print_error(capture.context, Error{.kind = Kind::usage, .what = "a\x1b[2Jb\xff\n", .fix = {}});
  warn(capture.context, "x\x1b]0;title\x07");
  for (const char c : capture.err)
    EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << capture.err;
}

TEST(Output, ColourIsUsedOnlyWhereAsked) {
  Capture capture;
  EXPECT_EQ(paint(capture.context, Style::red, "x"), "x");
  capture.context.color = true;
  EXPECT_EQ(paint(capture.context, Style::red, "x"), "\x1b[31mx\x1b[0m");
  EXPECT_EQ(paint_err(capture.context, Style::red, "x"), "x");
}

TEST(Output, QuietSilencesTheConversationButNotWarnings) {
  Capture capture;
  capture.context.globals.quiet = true;
  say(capture.context, "next step");
  warn(capture.context, "mind this");
  EXPECT_EQ(capture.err, "muster: warning: mind this\n");
}

TEST(Output, ARecordIsOneLineWhenPipedAndIndentedOnATerminal) {
  Capture capture;
  capture.context.globals.format = Format::json;
  ASSERT_TRUE(print_record(capture.context, R"({ "a" : [1, {}], "b": "x" })"));
  EXPECT_EQ(capture.out, "{\"a\":[1,{}],\"b\":\"x\"}\n");
  capture.out.clear();
  capture.context.out_is_tty = true;
  ASSERT_TRUE(print_record(capture.context, R"({"a":[1,{}],"b":"x"})"));
  EXPECT_EQ(capture.out, "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": \"x\"\n}\n");
}

TEST(Output, UnsafeCharactersInARecordAreEscapedAndStayJson) {
  const std::string record = R"({"a":"\u001b[31m\u009b\u202e ok é 😀"})";
  const auto text = json_text(record, JsonStyle::compact);
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, "{\"a\":\"\\u001b[31m\\u009b\\u202e ok é 😀\"}");
  EXPECT_EQ(*parse_json(*text), *parse_json(record));
}

TEST(Output, YamlIsReadable) {
  const auto text = yaml_text(
      R"({"jobs":[{"id":"ada_1","n":2,"tags":{},"args":["a b",""],"ok":true},{"id":"x"}],"none":null})");
  ASSERT_TRUE(text);
  EXPECT_EQ(*text,
            "jobs:\n"
            "  - id: ada_1\n"
            "    \"n\": 2\n"  // YAML 1.1 has n for no
            "    tags: {}\n"
            "    args:\n"
            "      - \"a b\"\n"
            "      - \"\"\n"
            "    ok: true\n"
            "  - id: x\n"
            "none: null\n");
}

/// A YAML tree as JSON, by the core schema: the way back.
json::value back(const spec::YamlNode& node) {
  if (node.kind == spec::YamlKind::list) {
    json::array array;
    for (const auto& item : node.items) array.push_back(back(item));
    return array;
  }
  if (node.kind == spec::YamlKind::map) {
    json::object object;
    for (const auto& pair : node.pairs) object[pair.key.text] = back(pair.value);
    return object;
  }
  if (spec::is_null(node)) return nullptr;
  if (const auto flag = spec::as_bool(node)) return *flag;
  if (const auto number = spec::as_int(node)) return *number;
  if (const auto number = spec::as_float(node)) return *number;
  return json::value(node.text);
}

json::value any_json(int depth) {
  const int what = *rc::gen::inRange(0, depth > 0 ? 7 : 5);
  if (what == 0) return nullptr;
  if (what == 1) return *rc::gen::arbitrary<bool>();
  if (what == 2) return *rc::gen::inRange<std::int64_t>(-1'000'000, 1'000'000);
  if (what <= 4) {
    auto text = *rc::gen::oneOf(rc::gen::arbitrary<std::string>(),
                                rc::gen::element<std::string>("yes", "~", "1.5", "-", ": ", "#x",
                                                              "a: b", "0x1", "é\u202e"));
    if (!is_utf8(text)) text = to_hex(text);
    return json::value(text);
  }
  const int count = *rc::gen::inRange(0, 4);
  if (what == 5) {
    json::array array;
    for (int i = 0; i < count; ++i) array.push_back(any_json(depth - 1));
    return array;
  }
  json::object object;
  for (int i = 0; i < count; ++i) object[fmt::format("k {}", i)] = any_json(depth - 1);
  return object;
}

RC_GTEST_PROP(Output, YamlOfARecordReadsBackAsTheSameRecord, ()) {
  const auto value = any_json(3);
  const auto text = yaml_text(json::serialize(value));
  RC_ASSERT(text.has_value());
  const auto tree = spec::parse_yaml(*text, "f");
  if (!tree) RC_FAIL(*text + to_text(tree.error()));
  RC_ASSERT(back(*tree) == value);
}

RC_GTEST_PROP(Output, JsonOfARecordReadsBackAsTheSameRecord, ()) {
  const auto value = any_json(3);
  for (const auto style : {JsonStyle::compact, JsonStyle::pretty}) {
    const auto text = json_text(json::serialize(value), style);
    RC_ASSERT(text.has_value());
    RC_ASSERT(*parse_json(*text) == value);
  }
}

}  // namespace
}  // namespace muster
