#include "app/cli/parse.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "app/cli/submit_flags.hpp"

namespace muster {
namespace {

using Words = std::vector<std::string>;

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> kVerbs = [] {
    std::vector<Verb> made;
    made.push_back({.name = "submit",
                    .aliases = {"sbatch"},
                    .operands = Operands::command,
                    .options = submit_flags()});
    made.push_back({.name = "logs",
                    .aliases = {"log"},
                    .operands = Operands::some,
                    .options = {{.name = "follow", .letter = 'f'},
                                {.name = "rank", .letter = 'r', .value = "R"},
                                {.name = "spot", .value = "HOW", .optional_value = true},
                                {.name = "clash", .letter = 'c', .value = "X"}}});
    made.push_back({.name = "version", .operands = Operands::none});
    return made;
  }();
  return kVerbs;
}

Parsed parsed(const Words& words) {
  auto result = parse_command_line(words, verbs());
  EXPECT_TRUE(result) << to_text(result.error());
  return result.value_or(Parsed{});
}

Error refused(const Words& words) {
  auto result = parse_command_line(words, verbs());
  EXPECT_FALSE(result);
  return result ? Error{} : result.error();
}

RC_GTEST_PROP(CommandLine, EveryByteAfterTheCommandSurvives, (const Words& rest)) {
  const auto flags = *rc::gen::elementOf(
      std::vector<Words>{{"submit"},
                         {"submit", "-n", "4"},
                         {"-q", "submit", "-n4", "--name=x"},
                         {"submit", "-c", "there", "--env", "A=1", "-eB=2", "--single"},
                         {"--json", "sbatch", "--"}});
  Words words = flags;
  words.push_back("cmd");
  words.insert(words.end(), rest.begin(), rest.end());
  Words expected = rest;
  expected.insert(expected.begin(), "cmd");
  const auto result = parse_command_line(words, verbs());
  RC_ASSERT(result.has_value());
  RC_ASSERT(result->operands == expected);
}

RC_GTEST_PROP(CommandLine, AfterTwoDashesEvenFlagsBelongToTheCommand, (const Words& rest)) {
  Words words{"submit", "--"};
  words.insert(words.end(), rest.begin(), rest.end());
  const auto result = parse_command_line(words, verbs());
  RC_ASSERT(result.has_value());
  RC_ASSERT(result->operands == rest);
  RC_ASSERT(!result->help);
}

RC_GTEST_PROP(CommandLine, NoWordsCrashTheParser, (const Words& words)) {
  (void)parse_command_line(words, verbs());
}

TEST(CommandLine, AValueComesWithAnEqualsSignAsTheNextWordOrAttached) {
  for (const Words& words : {Words{"submit", "--gpus=4", "x"}, Words{"submit", "--gpus", "4", "x"},
                             Words{"submit", "-n4", "x"}, Words{"submit", "-n", "4", "x"}}) {
    const auto line = parsed(words);
    EXPECT_EQ(line.value("gpus"), "4");
    EXPECT_EQ(line.operands, Words{"x"});
  }
  EXPECT_EQ(parsed({"submit", "--name=", "x"}).value("name"), "");
  EXPECT_EQ(parsed({"submit", "-e", "A=b=c", "x"}).value("env"), "A=b=c");
  EXPECT_EQ(parsed({"submit", "--name", "--", "x"}).value("name"), "--");
}

TEST(CommandLine, FlagsMayStandTogetherButNotOnesWithAValue) {
  const auto line = parsed({"logs", "-fq", "id"});
  EXPECT_TRUE(line.has("follow"));
  EXPECT_TRUE(line.globals.quiet);
  EXPECT_NE(refused({"logs", "-fr4", "id"}).what.find("-r takes a value"), std::string::npos);
}

TEST(CommandLine, IdsAndFlagsMayBeMixedWhereThereIsNoCommand) {
  const auto line = parsed({"logs", "a", "-f", "b", "--", "-c"});
  EXPECT_EQ(line.operands, (Words{"a", "b", "-c"}));
  EXPECT_TRUE(line.has("follow"));
  EXPECT_EQ(parsed({"logs", "-"}).operands, Words{"-"});
}

TEST(CommandLine, GlobalOptionsStandBeforeOrAfterTheVerb) {
  const auto before = parsed({"-c", "box", "-o", "json", "--home=/h", "submit", "x"});
  const auto after = parsed({"submit", "--cluster=box", "--json", "--home", "/h", "x"});
  for (const auto& line : {before, after}) {
    EXPECT_EQ(line.globals.cluster, "box");
    EXPECT_EQ(line.globals.home, "/h");
    EXPECT_EQ(line.globals.format, Format::json);
    EXPECT_EQ(line.operands, Words{"x"});
  }
}

TEST(CommandLine, AVerbsOwnLetterWinsOverTheGlobalOne) {
  const auto line = parsed({"logs", "-c", "mine"});
  EXPECT_EQ(line.value("clash"), "mine");
  EXPECT_FALSE(line.globals.cluster);
}

TEST(CommandLine, AnOptionalValueNeedsAnEqualsSign) {
  EXPECT_EQ(parsed({"logs", "--spot=prefer"}).value("spot"), "prefer");
  const auto line = parsed({"logs", "--spot", "id"});
  EXPECT_EQ(line.value("spot"), "");
  EXPECT_EQ(line.operands, Words{"id"});
}

TEST(CommandLine, AnUnknownVerbNamesTheNearest) {
  const auto error = refused({"sumbit", "x"});
  EXPECT_EQ(error.kind, Kind::usage);
  EXPECT_EQ(error.what, "no verb \"sumbit\"");
  EXPECT_EQ(error.fix.front(), "did you mean: muster submit");
  EXPECT_EQ(refused({"\x1b[31mred"}).what, "no verb \"\\x1b[31mred\"");
}

TEST(CommandLine, AnUnknownFlagNamesTheNearestAndTheWayToTheCommand) {
  const auto error = refused({"submit", "--node", "2", "x"});
  EXPECT_EQ(error.fix.front(), "did you mean --nodes?");
  EXPECT_NE(error.fix[1].find("after its first word"), std::string::npos);
  EXPECT_EQ(refused({"submit", "-Z", "x"}).what, "submit has no flag -Z");
  EXPECT_EQ(refused({"--gpus", "2", "submit"}).what, "no flag --gpus before a verb");
}

TEST(CommandLine, MissingSuperfluousAndRepeatedValuesAreRefused) {
  EXPECT_EQ(refused({"submit", "-n"}).what, "-n needs a value (N)");
  EXPECT_EQ(refused({"submit", "--single=yes", "x"}).what, "--single takes no value");
  EXPECT_EQ(refused({"submit", "-n", "2", "--gpus=3", "x"}).what, "--gpus is given twice");
  EXPECT_EQ(parsed({"submit", "-e", "A=1", "-e", "B=2", "x"}).all("env").size(), 2U);
  EXPECT_EQ(refused({"version", "extra"}).what, "version takes no \"extra\"");
  EXPECT_EQ(refused({"-o", "jsn", "version"}).fix.front(), "did you mean: -o json");
  refused({"--cluster=", "version"});
  refused({"--", "x"});
}

TEST(CommandLine, HelpIsAskedForAnywhereButInTheCommand) {
  EXPECT_TRUE(parsed({"--help"}).help);
  EXPECT_TRUE(parsed({"submit", "--help", "--no-such-flag"}).help);
  EXPECT_TRUE(parsed({"logs", "id", "-h"}).help);
  const auto line = parsed({"submit", "python", "--help"});
  EXPECT_FALSE(line.help);
  EXPECT_EQ(line.operands, (Words{"python", "--help"}));
}

TEST(CommandLine, NothingAtAllIsAWelcomeAndVersionIsAlsoAFlag) {
  EXPECT_EQ(parsed({}).verb, nullptr);
  EXPECT_EQ(parsed({"--version"}).verb->name, "version");
}

TEST(CommandLine, FlagsBecomeWhatWasAsked) {
  const auto options = submit_options(
      parsed({"submit", "-n4", "--retries", "user=1,infra=3", "--time=90m", "-e", "A", "-c", "box",
              "--tag", "a=b", "--signal-to", "all", "python", "train.py"}));
  ASSERT_TRUE(options);
  EXPECT_EQ(options->gpus, 4);
  EXPECT_EQ(options->cluster, "box");
  EXPECT_EQ(options->retries.infrastructure, 3);
  EXPECT_EQ(options->time_limit, Duration(std::chrono::minutes(90)));
  EXPECT_EQ(options->command, (Words{"python", "train.py"}));
  EXPECT_EQ(options->tags.at("a"), "b");
  EXPECT_FALSE(submit_options(parsed({"submit", "-n", "many", "x"})));
}

TEST(CommandLine, TheSubmittersOwnLimitsAndMaskAreRead) {
  Context context;
  context.user = "ada";
  context.dir = "/here";
  const auto submitter = submitter_of(context).value();
  EXPECT_EQ(submitter.user, "ada");
  EXPECT_GT(submitter.limits.at("nofile"), 0);
  EXPECT_TRUE(submitter.limits.contains("stack"));
  EXPECT_GE(submitter.umask, 0);
}

}  // namespace
}  // namespace muster
