/// The pod's one log: what ranks write, as lines with their rank and offset (core/model/pod_lines)
/// on this process's stdout. A slow reader holds the ranks back, never the agent: it writes only
/// what is taken at once, and while too much waits nobody reads the ranks' pipes. One thread.
#pragma once
#include <poll.h>

#include <optional>
#include <vector>

#include "core/model/pod_lines.hpp"
#include "edge/process/log_pump.hpp"

namespace muster::agent {

class PodOutput {
 public:
  /// `fd` is not owned.
  explicit PodOutput(int fd) : fd_(fd) {}

  /// Takes lines at its end.
  std::string& lines() { return waiting_; }
  bool is_full() const { return waiting_.size() - sent_ >= kFull; }
  bool is_empty() const { return waiting_.size() == sent_; }
  std::size_t waiting() const { return waiting_.size() - sent_; }
  void add_to(std::vector<pollfd>& fds) const;
  /// Writes what is taken without waiting.
  void send();

 private:
  static constexpr std::size_t kFull = 1U << 20;
  bool takes_more() const;
  int fd_;
  std::string waiting_;
  std::size_t sent_ = 0;  // of what waits
  bool is_broken_ = false;
};

/// One rank's two streams.
class PodRankLog final : public process::RankSink {
 public:
  /// `output` must outlive it.
  PodRankLog(PodOutput& output, int rank);
  void append(process::Stream stream, std::string_view bytes, WallTime at) override;
  void finish(WallTime at) override;
  std::string lost() const override { return {}; }
  std::int64_t bytes(process::Stream stream) const override;
  std::string xxh3(process::Stream stream) const override;

  /// When a line that has not ended is to leave as it is; nothing: none is held.
  std::optional<Duration> next_flush() const;
  void flush_old(Duration now);

 private:
  struct Flow {
    PodLineWriter writer;
    Xxh3 hash;
    Duration held_since{0};
  };
  PodOutput& output_;
  Flow flows_[2];
};

}  // namespace muster::agent
