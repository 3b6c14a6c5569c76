/// The log of a pod, as the files a local rank would have (docs/reference/home.md): fed with the
/// agent's lines in any order and any number of times, it keeps each byte once. What never came is
/// marked with its size. Goes on where an earlier server stopped. One thread.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/time.hpp"
#include "base/unique_fd.hpp"
#include "core/model/exit_record.hpp"
#include "core/model/pod_lines.hpp"

namespace muster::pods {

/// The ranks of a node: whatever a process wrote past the agent, no other gets a file.
struct RankRange {
  int first = 0;
  int count = 1;
  bool holds(int rank) const { return rank >= first && rank - first < count; }
};

class RankFiles {
 public:
  /// `dir` is the attempt's folder for this node; made when it is not there.
  static Result<RankFiles> open(const std::string& dir, RankRange ranks);
  RankFiles(RankFiles&&) noexcept;
  RankFiles& operator=(RankFiles&&) noexcept;
  ~RankFiles();

  void take(const PodLine& line, WallTime at);
  /// Marks what is missing at the end, by the sizes the record tells.
  void finish(const ExitRecord& record, WallTime at);
  /// True when everything the record tells of is here.
  bool has_all(const ExitRecord& record);

 private:
  struct File;
  struct Files;
  explicit RankFiles(std::unique_ptr<Files> files);
  std::unique_ptr<Files> files_;
};

}  // namespace muster::pods
