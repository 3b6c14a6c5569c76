/// Changes as a patch that git and patch(1) take: unified differences of text files, made by
/// diff(1). One thread.
#pragma once
#include <memory>

#include "app/cli/changes_text.hpp"
#include "app/cli/safe_lines.hpp"

namespace muster {

class PatchPrinter {
 public:
  explicit PatchPrinter(Context& context);
  ~PatchPrinter();
  PatchPrinter(const PatchPrinter&) = delete;
  PatchPrinter& operator=(const PatchPrinter&) = delete;
  /// Folders have no place in a patch; a file that became a link is removed and added.
  Result<> print(const TreeChange& change);
  void finish() { out_.finish(); }

 private:
  Result<> print_one(const TreeChange& change);
  Result<std::string> body_of(const TreeChange& change);
  Result<std::string> differences(const std::vector<std::string>& labels, const std::string& before,
                                  const std::string& after);

  Context& context_;
  AnswerBytes out_;
  std::string folder_;  // for the two files that are compared; made when the first come
};

/// A path as git writes it in a patch: in quotes, with escapes, where it must be.
std::string patch_path(std::string_view path);

}  // namespace muster
