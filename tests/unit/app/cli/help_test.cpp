#include "app/cli/help.hpp"

#include <gtest/gtest.h>

#include <set>

#include "app/cli/dispatch.hpp"
#include "app/cli/parse.hpp"
#include "base/text.hpp"
#include "capture.hpp"

namespace muster {
namespace {

TEST(Help, EveryVerbHasASummaryAUsageAndAPageThatBeginsWithIt) {
  for (const auto& verb : all_verbs()) {
    SCOPED_TRACE(verb.name);
    EXPECT_FALSE(verb.summary.empty());
    EXPECT_FALSE(verb.summary.ends_with('.'));
    EXPECT_LE(verb.summary.size(), 52U) << "the list of verbs fits 80 columns";
    EXPECT_TRUE(!verb.summary.empty() && verb.summary.front() >= 'A' &&
                verb.summary.front() <= 'Z');
    EXPECT_FALSE(verb.group.empty());
    EXPECT_TRUE(verb.usage == verb.name || verb.usage.starts_with(fmt::format("{} ", verb.name)));
    EXPECT_NE(verb.run, nullptr);
    const auto page = verb_page(verb);
    ASSERT_FALSE(page.empty()) << "write src/app/verbs/" << verb.name << ".md";
    const auto lines = split(page, '\n');
    EXPECT_EQ(lines[0], verb.summary);
    ASSERT_GT(lines.size(), 5U);
    EXPECT_EQ(lines[1], "");
    for (int i = 2; i < 5; ++i)
      EXPECT_TRUE(lines[static_cast<std::size_t>(i)].starts_with("    ")) << "three examples first";
  }
}

TEST(Help, TheLinesOfEveryPageFitATerminal) {
  for (const auto& verb : all_verbs()) {
    const auto text = help_text(verb);
    for (const auto line : split(text, '\n'))
      EXPECT_LE(columns_of(line), 110U) << verb.name << ": " << line;
  }
}

TEST(Help, EveryPageShowsItsUsageExamplesAndOptions) {
  for (const auto& verb : all_verbs()) {
    const auto text = help_text(verb);
    EXPECT_EQ(text.rfind(fmt::format("{}\n\nUsage: muster {}\n", verb.summary, verb.usage), 0), 0U);
    for (const auto& option : verb.options)
      EXPECT_NE(text.find(fmt::format("--{}", option.name)), std::string::npos) << option.name;
    EXPECT_NE(text.find("\n    muster "), std::string::npos) << verb.name;
    EXPECT_NE(text.find("Everywhere:"), std::string::npos);
  }
}

TEST(Help, NamesAliasesAndFlagsOfVerbsDoNotCollide) {
  std::set<std::string_view> names;
  for (const auto& verb : all_verbs()) {
    EXPECT_TRUE(names.insert(verb.name).second) << verb.name;
    for (const auto alias : verb.aliases) EXPECT_TRUE(names.insert(alias).second) << alias;
    std::set<std::string_view> flags;
    std::set<char> letters;
    for (const auto& option : verb.options) {
      EXPECT_TRUE(flags.insert(option.name).second) << verb.name << " --" << option.name;
      EXPECT_TRUE(option.letter == 0 || letters.insert(option.letter).second)
          << verb.name << " -" << option.letter;
      EXPECT_FALSE(option.text.ends_with('.')) << verb.name << " --" << option.name;
    }
  }
}

TEST(Help, TheExamplesOfEveryPageParse) {
  for (const auto& verb : all_verbs())
    for (const auto line : split(verb_page(verb), '\n')) {
      if (!line.starts_with("    muster ") || line.find_first_of("'\"|<>&;$\\") != line.npos)
        continue;
      std::vector<std::string> words;
      for (const auto word : split(trimmed(line), ' '))
        if (!word.empty()) words.emplace_back(word);
      words.erase(words.begin());
      const auto parsed = parse_command_line(words, all_verbs());
      // Examples may lead to another verb, but never to a line that is refused.
      EXPECT_TRUE(parsed) << line << "\n" << (parsed ? "" : to_text(parsed.error()));
    }
}

TEST(Help, TheWelcomeIsShort) { EXPECT_LE(split(welcome_text(), '\n').size(), 12U); }

TEST(Dispatch, NoVerbWelcomesAndHelpListsAllVerbsForPeople) {
  Capture capture;
  EXPECT_EQ(run_parsed(capture.context, {}, all_verbs()), 0);
  EXPECT_EQ(capture.out, welcome_text());
  Capture overview;
  Parsed asked;
  asked.help = true;
  EXPECT_EQ(run_parsed(overview.context, asked, all_verbs()), 0);
  for (const auto& verb : all_verbs())
    EXPECT_EQ(overview.out.find(verb.summary) != std::string::npos, verb.is_for_people)
        << verb.name;
}

TEST(Dispatch, AVerbsErrorBecomesTextOnStderrAndItsKindsExitCode) {
  const Verb verb{.name = "broken", .run = [](Context&, const Parsed&) -> Result<int> {
                    return fail(Kind::conflict, "two of a kind", "take one away");
                  }};
  Capture capture;
  Parsed parsed;
  parsed.verb = &verb;
  EXPECT_EQ(run_parsed(capture.context, parsed, {}), 8);
  EXPECT_EQ(capture.out, "");
  EXPECT_EQ(capture.err, "muster: two of a kind\n  fix:   take one away\n");
}

TEST(Dispatch, AnAnswerThatCannotBeWrittenIsAFailure) {
  const Verb verb{.name = "loud", .run = [](Context& context, const Parsed&) -> Result<int> {
                    context.out->write("lost");
                    return 0;
                  }};
  Capture capture;
  capture.context.out = fd_writer(-1, "stdout");
  Parsed parsed;
  parsed.verb = &verb;
  EXPECT_NE(run_parsed(capture.context, parsed, {}), 0);
  EXPECT_NE(capture.err.find("stdout takes nothing more"), std::string::npos);
}

}  // namespace
}  // namespace muster
