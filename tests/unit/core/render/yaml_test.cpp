#include "core/render/yaml.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/text.hpp"
#include "core/model/json.hpp"
#include "core/spec/yaml.hpp"

namespace muster::render {
namespace {

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
  return json::value(node.text);
}

const std::vector<std::string> kTraps{
    "N",      "n",        "y",        "Y",          "yes", "No",  "on",   "OFF",   "true", "False",
    "null",   "Null",     "~",        "",           "1",   "-1",  "+1",   "1e3",   "0777", "0o17",
    "0x1F",   "1_000",    "12:30:45", "2001-01-01", "1.5", ".5",  ".inf", "-.inf", ".NaN", "=",
    "<<",     "- a",      "a: b",     "a #b",       "#a",  "&a",  "*a",   "!a",    "|",    ">",
    "'a'",    "\"a\"",    "%a",       "@a",         "`a`", "{a}", "[a]",  "a,b",   "?",    ":",
    "a:",     " a",       "a ",       "a\nb",       "\t",  "---", "...",  "\\",    "é",    "\u2028",
    "\ufeff", "\xc2\x85", "0b1",      "1__0",       "_1",  "4Gi", "500m", "-",     "😀"};

RC_GTEST_PROP(KubeYaml, ReadsBackAsTheSameValues, ()) {
  json::object object;
  const int count = *rc::gen::inRange(0, 6);
  for (int i = 0; i < count; ++i) {
    auto text = *rc::gen::oneOf(rc::gen::arbitrary<std::string>(), rc::gen::elementOf(kTraps));
    if (!is_utf8(text)) text = to_hex(text);
    object[text] = json::array{text, i, json::object{{"k", text}, {"n", nullptr}}};
  }
  const auto text = to_yaml(json::serialize(object));
  RC_ASSERT(text.has_value());
  const auto tree = spec::parse_yaml(*text, "f");
  if (!tree) RC_FAIL(*text + to_text(tree.error()));
  RC_ASSERT(back(*tree) == (count == 0 ? json::value(json::object{}) : json::value(object)));
}

TEST(KubeYaml, WhatAnOlderReaderWouldMisreadIsQuoted) {
  for (const auto& trap : kTraps) {
    const auto text = to_yaml(json::serialize(json::object{{"k", trap}}));
    ASSERT_TRUE(text);
    EXPECT_EQ(text->rfind("k: \"", 0), 0U) << *text;
  }
}

TEST(KubeYaml, OrdinaryWordsStayPlain) {
  const auto text = to_yaml(
      R"({"kind":"Job","labels":{"muster.dev/job":"ann_1_0b"},"path":"/dev/shm","count":2,"e":{}})");
  ASSERT_TRUE(text);
  EXPECT_EQ(*text,
            "kind: Job\nlabels:\n  muster.dev/job: ann_1_0b\npath: /dev/shm\ncount: 2\ne: {}\n");
}

TEST(KubeYaml, WhatIsNotJsonIsRefused) { EXPECT_FALSE(to_yaml("{")); }

}  // namespace
}  // namespace muster::render
