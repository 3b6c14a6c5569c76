// Ignore rules mean what git says they mean: generated files, patterns and trees, judged by both.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/text.hpp"
#include "core/tree/ignore.hpp"
#include "edge/fs/walk.hpp"
#include "prop/git_oracle.hpp"

namespace muster {
namespace {

using test::GitOracle;
using tree::IgnoreList;

constexpr int kFolders = 30;  // each with an ignore file of its own, all judged in one run of git
constexpr int kPaths = 50;    // below each of them

rc::Gen<std::string> text_of(const std::vector<std::string>& pieces, int most) {
  return rc::gen::exec([=] {
    std::string text;
    const int count = *rc::gen::inRange(1, most + 1);
    for (int i = 0; i < count; ++i)
      text += pieces[*rc::gen::inRange<std::size_t>(0, pieces.size())];
    return text;
  });
}

/// Few letters, so that patterns and names meet often.
std::string any_name() {
  static const std::vector<std::string> kPieces{"a", "b", "c", "a", "b",  "ab", "-", "]",
                                                "[", "!", "#", " ", "\\", "*",  "^", ":",
                                                "é", "z", "A", "9", "_",  "\r", ".x"};
  return *text_of(kPieces, 3);
}

std::string any_path() {
  std::string path = any_name();
  for (int more = *rc::gen::inRange(0, 4); more > 0; --more) path += "/" + any_name();
  return path;
}

std::string any_pattern() {
  static const std::vector<std::string> kPieces{
      "a",     "b",     "c",         "*",     "*",    "**",    "**/",     "/**",
      "/",     "/",     "?",         "[a-c]", "[!a]", "[^b-]", "[]a]",    "[[:alpha:]]",
      "[",     "]",     "-",         "\\",    "\\*",  "[\\]]", "[a\\-c]", "[[:upper:]-b]",
      "[:a]",  "[[:a]", "[[:nix:]]", " ",     "\\ ",  "#",     "!",       "^",
      ".x",    "ab",    "é",         "***",   "[/]",  "\\/",   "\r",      "[+--]",
      "[c-a]", "[!]]",  "[[:]"};
  auto pattern = *text_of(kPieces, 6);
  if (*rc::gen::inRange(0, 5) == 0) pattern.insert(0, "!");
  return pattern + *rc::gen::element<std::string>("", "", "", "/", " ", "\r");
}

std::string any_ignore_file() {
  std::string text = *rc::gen::element<std::string>("", "", "", "\xEF\xBB\xBF");
  for (int lines = *rc::gen::inRange(1, 5); lines > 0; --lines) text += any_pattern() + "\n";
  if (*rc::gen::inRange(0, 4) == 0) text.pop_back();
  return text;
}

/// As a walk would find it: nothing inside an ignored folder comes back.
bool is_ignored(const IgnoreList& list, std::string_view path) {
  for (auto slash = path.find('/'); slash != path.npos; slash = path.find('/', slash + 1))
    if (list.verdict(path.substr(0, slash), true).value_or(false)) return true;
  return list.verdict(path, false).value_or(false);
}

RC_GTEST_PROP(IgnoreRules, OneFileMeansWhatGitSays, ()) {
  const GitOracle git;
  std::vector<std::string> files, paths;
  for (int folder = 0; folder < kFolders; ++folder) {
    files.push_back(any_ignore_file());
    git.write(fmt::format("d{}/.gitignore", folder), files.back());
    for (int i = 0; i < kPaths; ++i) paths.push_back(fmt::format("d{}/{}", folder, any_path()));
  }
  const auto theirs = git.ignored(paths);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto& file = files[i / kPaths];
    const auto path = std::string_view(paths[i]).substr(paths[i].find('/') + 1);
    const bool is_theirs = theirs.contains(paths[i]);
    if (is_ignored(IgnoreList::parse(file), path) != is_theirs)
      RC_FAIL(fmt::format("\"{}\" with \"{}\": git says {}", printable(path), printable(file),
                          is_theirs ? "ignored" : "not ignored"));
  }
}

TEST(IgnoreRules, EveryByteIsInTheClassesThatGitPutsItIn) {
  const std::vector<std::string> classes{"alnum", "alpha", "blank", "cntrl", "digit", "graph",
                                         "lower", "print", "punct", "space", "upper", "xdigit"};
  const GitOracle git;
  std::vector<std::string> paths;
  for (const auto& name : classes) {
    git.write(name + "/.gitignore", "x[[:" + name + ":]]\n");
    for (int c = 1; c < 256; ++c)
      if (c != '/') paths.push_back(name + "/x" + static_cast<char>(c));
  }
  const auto theirs = git.ignored(paths);
  for (const auto& path : paths) {
    const auto slash = path.find('/');
    const auto list = IgnoreList::parse("x[[:" + path.substr(0, slash) + ":]]\n");
    EXPECT_EQ(is_ignored(list, path.substr(slash + 1)), theirs.contains(path)) << printable(path);
  }
}

/// A random tree with ignore files in it; the paths of what it holds.
std::vector<std::string> grow(const GitOracle& git) {
  std::set<std::string> paths;
  const auto add = [&](const std::string& path, std::string_view bytes) {
    std::error_code error;
    if (std::filesystem::exists(git.top() + "/" + path, error) || error) return;
    for (auto slash = path.find('/'); slash != path.npos; slash = path.find('/', slash + 1)) {
      const auto above = git.top() + "/" + path.substr(0, slash);
      if (std::filesystem::exists(above) && !std::filesystem::is_directory(above)) return;
    }
    git.write(path, bytes);
    for (auto slash = path.find('/'); slash != path.npos; slash = path.find('/', slash + 1))
      paths.insert(path.substr(0, slash));
    paths.insert(path);
  };
  const auto folder_of = [](const std::string& path) {
    return path.substr(0, path.rfind('/') + 1);  // with its slash; nothing for the top
  };
  for (int i = 0; i < 250; ++i) {
    const auto path = any_path();
    add(path, "x");
    if (i % 6 == 0) add(folder_of(path) + ".gitignore", any_ignore_file());
  }
  git.write(".git/info/exclude", any_ignore_file());
  return {paths.begin(), paths.end()};
}

RC_GTEST_PROP(IgnoreRules, AWalkLeavesOutWhatGitIgnores, ()) {
  const GitOracle git;
  const auto paths = grow(git);
  const auto theirs = git.ignored(paths);
  std::set<std::string> kept, seen;
  for (const auto& path : paths)
    if (!theirs.contains(path)) kept.insert(path);
  const auto report = fs::walk(git.top(), {}, [&](fs::Seen&& one) -> Result<> {
    seen.insert(one.path);
    return {};
  });
  RC_ASSERT(report.has_value());
  RC_ASSERT(seen == kept);
  for (const auto& name : report->ignored_at_top) RC_ASSERT(theirs.contains(name));
}

RC_GTEST_PROP(IgnoreRules, WhatGitTracksIsTakenWhateverTheRulesSay, ()) {
  const GitOracle git;
  std::vector<std::string> some, more;
  for (const auto& path : grow(git)) {
    if (std::filesystem::is_directory(git.top() + "/" + path)) continue;
    const int lot = *rc::gen::inRange(0, 4);
    if (lot == 0) some.push_back(path);
    if (lot == 1 && more.size() < 3) more.push_back(path);
  }
  git.track(some);
  git.track(more, *rc::gen::arbitrary<bool>());
  git.git(fmt::format("update-index --index-version {}", *rc::gen::element(2, 3, 4)));
  std::set<std::string> seen;
  const auto report = fs::walk(git.top(), {}, [&](fs::Seen&& one) -> Result<> {
    if (one.kind != tree::EntryKind::folder) seen.insert(one.path);
    return {};
  });
  RC_ASSERT(report.has_value());
  RC_ASSERT(report->index_fault == "");
  RC_ASSERT(seen == git.files());
}

}  // namespace
}  // namespace muster
