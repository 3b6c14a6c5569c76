#include "edge/process/requirements.hpp"

#include <set>
#include <string_view>

#include "base/text.hpp"
#include "edge/fs/files.hpp"

namespace muster::process {
namespace {

/// The list that a line includes: "-r other.txt", "--constraint=c.txt".
std::string_view included(std::string_view line) {
  for (const std::string_view flag : {"-r", "-c", "--requirement", "--constraint"}) {
    if (!line.starts_with(flag)) continue;
    auto rest = line.substr(flag.size());
    if (flag.starts_with("--") && !rest.starts_with(' ') && !rest.starts_with('=')) continue;
    while (rest.starts_with(' ') || rest.starts_with('=') || rest.starts_with('\t'))
      rest.remove_prefix(1);
    return trimmed(rest.substr(0, rest.find(" #")));
  }
  return {};
}

bool is_local(std::string_view line) {
  return line.starts_with('.') || line.starts_with('/') || line.starts_with("-e") ||
         line.starts_with("--editable") || line.starts_with("file:") ||
         line.starts_with("--find-links") || line.starts_with("-f") ||
         line.find("@ file:") != std::string_view::npos;
}

class Reader {
 public:
  explicit Reader(std::string tree) : tree_(std::move(tree)) {}

  /// False when it is not there. Each list counts once: they may name each other.
  bool read(const std::string& list) {
    if (!read_.insert(list).second) return true;
    const auto text = fs::read_file(list.starts_with('/') ? list : tree_ + "/" + list);
    if (!text) return false;
    found_.text += list + '\0' + *text + '\0';
    const auto slash = list.rfind('/');
    const auto folder = slash == std::string::npos ? "" : list.substr(0, slash + 1);
    for (const auto raw : split(*text, '\n')) {
      const auto line = trimmed(raw);
      found_.needs_tree = found_.needs_tree || is_local(line);
      // One that is missing is pip's to complain about.
      if (const auto other = included(line); !other.empty())
        (void)read(other.starts_with('/') ? std::string(other) : folder + std::string(other));
    }
    return true;
  }

  Requirements found() && { return std::move(found_); }

 private:
  std::string tree_;
  std::set<std::string> read_;
  Requirements found_;
};

}  // namespace

std::optional<Requirements> requirements_of(const std::string& tree, const std::string& list) {
  Reader reader(tree);
  if (!reader.read(list)) return std::nullopt;
  return std::move(reader).found();
}

}  // namespace muster::process
