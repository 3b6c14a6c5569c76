#include "core/spec/submit_options.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace muster::spec {
namespace {

SubmitOptions read(std::string_view text) {
  auto options = submit_options_from_json(text);
  EXPECT_TRUE(options) << to_text(options.error());
  return options.value_or(SubmitOptions{});
}

Error refused(std::string_view text) {
  auto options = submit_options_from_json(text);
  EXPECT_FALSE(options) << text;
  return options ? Error{} : options.error();
}

TEST(JobJson, ACommandIsEnough) {
  const auto options = read(R"({"command":["python","train.py",""]})");
  EXPECT_EQ(options.command, (std::vector<std::string>{"python", "train.py", ""}));
  EXPECT_FALSE(options.gpus);
}

TEST(JobJson, FieldsHaveTheFlagsNames) {
  const auto options =
      read(R"({"schema":1,"command":["x"],"gpus":8,"procs_per_node":2,"cpus":0.5,"memory":"2G",)"
           R"("time_limit":"1h","grace":5,"retries":{"user":1,"infra":3},"tags":{"a":"b"},)"
           R"("env":{"A":"1","B":null,"C":3},"single":true,"signal_to":"all","name":null})");
  EXPECT_EQ(options.gpus, 8);
  EXPECT_EQ(options.procs_per_node, 2);
  EXPECT_EQ(options.cpus, MilliCpus{500});
  EXPECT_EQ(options.memory, Bytes{2LL << 30});
  EXPECT_EQ(options.time_limit, Duration(std::chrono::hours(1)));
  EXPECT_EQ(options.grace, Duration(std::chrono::seconds(5)));
  EXPECT_EQ(options.retries.user, 1);
  EXPECT_EQ(options.retries.infrastructure, 3);
  EXPECT_EQ(options.tags.at("a"), "b");
  ASSERT_EQ(options.env.size(), 3U);
  EXPECT_EQ(options.env[0].second, "1");
  EXPECT_FALSE(options.env[1].second);
  EXPECT_EQ(options.env[2].second, "3");
  EXPECT_TRUE(options.single);
  EXPECT_EQ(options.signal_to, SignalTo::all);
  EXPECT_FALSE(options.name);
  EXPECT_EQ(read(R"({"command":["x"],"time":"2m"})").time_limit, Duration(std::chrono::minutes(2)));
  EXPECT_EQ(read(R"({"command":["x"],"retries":2})").retries.user, 2);
}

TEST(JobJson, BytesThatAreNotUtf8ArriveExactly) {
  const auto options = read(R"({"command":["x",{"b64":"/wE="}],"env":{"A":{"b64":"/w=="}}})");
  EXPECT_EQ(options.command[1], "\xff\x01");
  EXPECT_EQ(options.env[0].second, "\xff");
}

TEST(JobJson, UnknownFieldsAreErrorsWithTheNearest) {
  const auto error = refused(R"({"command":["x"],"nods":2})");
  EXPECT_EQ(error.what, "unknown field \"nods\"");
  EXPECT_EQ(error.fix.front(), "did you mean \"nodes\"?");
}

TEST(JobJson, AWrongFieldIsNamed) {
  EXPECT_EQ(refused(R"({"command":["x"],"gpus":"many"})").what.rfind("field \"gpus\":", 0), 0U);
  for (const char* text : {R"([])",
                           R"({})",
                           R"("x")",
                           R"({"command":"python train.py"})",
                           R"({"command":[]})",
                           R"({"command":[1]})",
                           R"({"command":["a\u0000b"]})",
                           R"({"command":["x"],"schema":2})",
                           R"({"command":["x"],"env":["A"]})",
                           R"({"command":["x"],"env":{"A=B":"1"}})",
                           R"({"command":["x"],"env":{"A":"\u0000"}})",
                           R"({"command":["x"],"tags":[]})",
                           R"({"command":["x"],"after":"y"})",
                           R"({"command":["x"],"snapshot":"y"})",
                           R"({"command":["x"],"gpus":{}})",
                           R"({"command":["x"],"gpus":-1})",
                           R"({"command":["x"],"nodes":100001})",
                           R"({"command":["x"],"retries":{"mine":1}})",
                           R"({"command":["x"],"memory":"1K"})",
                           R"({"command":["x"],"name":""})",
                           R"({"command":["x"],"command":1} trailing)"})
    EXPECT_EQ(refused(text).kind, Kind::usage) << text;
}

RC_GTEST_PROP(JobJson, WhatIsWrittenIsReadBack, (const std::vector<std::string>& raw)) {
  SubmitOptions options;
  options.command = {"run"};
  for (auto word : raw) {
    std::erase(word, '\0');
    options.command.push_back(word);
    options.env.emplace_back("V", word);
  }
  options.gpus = *rc::gen::inRange(0, 1000);
  options.cpus = MilliCpus{*rc::gen::inRange(1, 100'000)};
  options.time_limit = Duration(*rc::gen::inRange(0, 1'000'000'000));
  options.retries.memory = *rc::gen::inRange(0, 10);
  options.single = *rc::gen::arbitrary<bool>();
  const auto back = submit_options_from_json(to_json(options));
  RC_ASSERT(back.has_value());
  RC_ASSERT(back->command == options.command);
  RC_ASSERT(back->env == options.env);
  RC_ASSERT(back->gpus == options.gpus);
  RC_ASSERT(back->cpus == options.cpus);
  RC_ASSERT(back->time_limit == options.time_limit);
  RC_ASSERT(back->retries.memory == options.retries.memory);
  RC_ASSERT(back->single == options.single);
}

TEST(SubmitFlags, AreUnique) {
  std::set<std::string_view> flags, fields;
  std::set<char> letters;
  for (const auto& row : submit_fields()) {
    EXPECT_TRUE(row.flag.empty() || flags.insert(row.flag).second) << row.flag;
    EXPECT_TRUE(fields.insert(row.field).second) << row.field;
    EXPECT_TRUE(row.letter == 0 || letters.insert(row.letter).second) << row.letter;
    EXPECT_FALSE(row.text.ends_with('.')) << row.flag;
  }
}

TEST(SubmitFlags, AWrongValueNamesItsFlag) {
  SubmitOptions options;
  const auto result = set_by_flag(options, "gpus", "eight");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().what.rfind("--gpus:", 0), 0U);
  EXPECT_FALSE(set_by_flag(options, "after", "x"));
  EXPECT_FALSE(set_by_flag(options, "cpus", "0"));
  EXPECT_FALSE(set_by_flag(options, "tag", "novalue"));
  EXPECT_FALSE(set_by_flag(options, "env", "=x"));
  EXPECT_FALSE(set_by_flag(options, "retries", "user=1,infra"));
  EXPECT_TRUE(set_by_flag(options, "env", "A=b=c"));
  EXPECT_EQ(options.env.back().second, "b=c");
}

}  // namespace
}  // namespace muster::spec
