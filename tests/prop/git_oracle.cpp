#include "prop/git_oracle.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/text.hpp"

namespace muster::test {
namespace {

std::string quoted(const std::string& word) { return shell_quoted(std::vector{word}); }

}  // namespace

GitOracle::GitOracle() : top_(folder_.file("top")) {
  std::filesystem::create_directory(top_);
  git("init -q .");
}

void GitOracle::write(const std::string& path, std::string_view bytes) const {
  const std::filesystem::path file = top_ + "/" + path;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << bytes;
}

void GitOracle::git(const std::string& arguments) const {
  const auto command = "cd " + quoted(top_) +
                       " && env -i PATH=\"$PATH\" HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 git " +
                       arguments;
  const int status = std::system(command.c_str());
  // 1: check-ignore found nothing that is ignored.
  const bool is_well = WIFEXITED(status) && WEXITSTATUS(status) <= 1;
  if (!is_well) ADD_FAILURE() << "git " << arguments << " ended with " << status;
}

std::set<std::string> GitOracle::ignored(const std::vector<std::string>& paths) const {
  const auto in = folder_.file("in"), out = folder_.file("out");
  // "./" keeps git from seeing a magic word in a path that begins with ':'.
  std::ofstream file(in, std::ios::binary);
  for (const auto& path : paths) file << "./" << path << '\0';
  file.close();
  git("check-ignore --no-index --stdin -z -v -n <" + quoted(in) + " >" + quoted(out));
  std::ostringstream text;
  text << std::ifstream(out, std::ios::binary).rdbuf();
  const auto bytes = text.str();
  const auto fields = split(bytes, '\0');  // source, line, pattern, path; and nothing at the end
  std::set<std::string> found;
  EXPECT_EQ(fields.size(), paths.size() * 4 + 1);
  for (std::size_t i = 0; i + 3 < fields.size(); i += 4)
    if (!fields[i + 2].empty() && !fields[i + 2].starts_with('!'))
      found.emplace(fields[i + 3].substr(2));
  return found;
}

void GitOracle::track(const std::vector<std::string>& paths, bool intends) const {
  const auto in = folder_.file("in");
  std::ofstream file(in, std::ios::binary);
  for (const auto& path : paths) file << path << '\0';
  file.close();
  if (paths.empty()) return;
  git(std::string("--literal-pathspecs add -f ") + (intends ? "-N " : "") +
      "--pathspec-file-nul --pathspec-from-file=" + quoted(in));
}

std::set<std::string> GitOracle::files() const {
  const auto out = folder_.file("out");
  git("ls-files -co --exclude-standard -z >" + quoted(out));
  std::ostringstream text;
  text << std::ifstream(out, std::ios::binary).rdbuf();
  std::set<std::string> found;
  const auto bytes = text.str();
  for (const auto name : split(bytes, '\0'))
    if (!name.empty()) found.emplace(name);
  return found;
}

}  // namespace muster::test
