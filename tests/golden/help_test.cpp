// Help, as people and scripts see it.
#include <filesystem>

#include "app/cli/help.hpp"
#include "golden.hpp"

namespace muster::golden {
namespace {

TEST(GoldenHelp, EveryVerb) {
  for (const auto& verb : all_verbs())
    expect_golden("help/" + std::string(verb.name) + ".txt", help_text(verb));
}

TEST(GoldenHelp, TheOverviewAndTheFirstWords) {
  expect_golden("help.txt", overview_text(all_verbs()));
  expect_golden("welcome.txt", welcome_text());
}

TEST(GoldenHelp, NoFileIsLeftOfAVerbThatIsGone) {
  const auto folder = std::filesystem::path(MUSTER_SOURCE_DIR) / "tests/golden/help";
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    EXPECT_NE(find_verb(all_verbs(), entry.path().stem().native()), nullptr) << entry.path();
}

}  // namespace
}  // namespace muster::golden
