#include "core/spec/config_edit.hpp"

#include <gtest/gtest.h>

namespace muster::spec {
namespace {

const NewProfile kNew{.name = "aks", .values = {{"kind", "kube"}, {"context", "my aks"}}};
const std::string kLines = "  aks:\n    kind: kube\n    context: \"my aks\"\n";

std::string edited(std::string_view text, Existing existing = Existing::refuse) {
  const auto made = with_profile(text, "config.yaml", kNew, existing);
  return made ? *made : to_text(made.error());
}

Error refused(std::string_view text, const NewProfile& profile = kNew) {
  const auto made = with_profile(text, "config.yaml", profile, Existing::refuse);
  EXPECT_FALSE(made) << *made;
  return made ? Error{} : made.error();
}

TEST(ConfigEdit, AnEmptyFileGetsAHead) {
  EXPECT_EQ(edited(""), "clusters:\n" + kLines);
  EXPECT_EQ(edited("default: local"), "default: local\nclusters:\n" + kLines);
}

TEST(ConfigEdit, EveryOtherByteStays) {
  EXPECT_EQ(edited("# mine\nclusters:   # all of them\n    # the box\n    box: {gpus: 1}\n\n# end"),
            "# mine\nclusters:   # all of them\n    aks:\n      kind: kube\n      context: \"my "
            "aks\"\n    # the box\n    box: {gpus: 1}\n\n# end");
}

TEST(ConfigEdit, AProfileOfThatNameIsReplacedOnlyWhenAsked) {
  const std::string before =
      "clusters:\n  a: {gpus: 1}\n  aks:\n    kind: kube\n    env:\n      "
      "X: |\n        # text\n\n        more\n\n  # of b\n  b: {gpus: 2}\n";
  EXPECT_EQ(refused(before).kind, Kind::conflict);
  EXPECT_EQ(edited(before, Existing::replace),
            "clusters:\n  a: {gpus: 1}\n" + kLines + "\n  # of b\n  b: {gpus: 2}\n");
}

TEST(ConfigEdit, WhatIsNotWrittenLineByLineIsLeftToPeople) {
  const auto error = refused("clusters: {box: {gpus: 1}}\n");
  EXPECT_EQ(error.kind, Kind::conflict);
  EXPECT_EQ(error.fix.at(0), "add it below clusters: aks: {kind: kube, context: \"my aks\"}");
  EXPECT_EQ(refused("default: local\n...\n").kind, Kind::conflict);
}

TEST(ConfigEdit, ValuesAreReadBackAsTheyAre) {
  for (const char* value : {"yes", "012", "a: b", "x #y", "\"quoted\"", "back\\slash", "-", "ü"}) {
    const auto made =
        with_profile("", "f", {.name = "n", .values = {{"context", value}}}, Existing::refuse);
    EXPECT_TRUE(made) << value << ": " << to_text(made.error());
  }
}

TEST(ConfigEdit, AWrongValueIsToldAsSuch) {
  const auto error = refused("", {.name = "n", .values = {{"namespace", "No_Such"}}});
  EXPECT_EQ(error.kind, Kind::usage);
  EXPECT_NE(error.what.find("No_Such"), std::string::npos) << error.what;
}

TEST(ConfigEdit, AFileThatCannotBeReadIsNotTouched) {
  EXPECT_EQ(refused("clusters: [\n").kind, Kind::usage);
}

}  // namespace
}  // namespace muster::spec
