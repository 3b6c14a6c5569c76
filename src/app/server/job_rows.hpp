/// Jobs as a table shows them, a line for each. The text of a job is kept as long as its stored row
/// stays the same, so that looking at many jobs again costs little more than reading their rows.
/// Thread-safe.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "app/driver/real.hpp"
#include "edge/sqlite/records.hpp"

namespace muster::server {

class JobRows {
 public:
  /// Titles, then the jobs, each with the text of its first reason.
  Result<std::string> list(Records& records, const JobFilter& filter,
                           const driver::Picture& picture, Now now);

 private:
  struct Kept {
    std::uint64_t body = 0;  // the hash of its row
    Job job;                 // for its reasons, which change while it does not
    std::string text;        // its cells but for the reason
  };
  Result<std::shared_ptr<const Kept>> find(Records& records, const StoredJob& stored);

  std::mutex mutex_;
  std::unordered_map<JobSeq, std::shared_ptr<const Kept>> kept_;
};

}  // namespace muster::server
