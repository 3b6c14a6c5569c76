/// The ranks of one node: started together, each with its pipes and log; reaped, signalled and
/// recorded. Single thread.
#pragma once
#include <poll.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/model/exit_record.hpp"
#include "edge/process/cgroup.hpp"
#include "edge/process/log_pump.hpp"
#include "edge/process/node_order.hpp"

namespace muster::process {

class RankTable {
 public:
  using MakeSink = std::function<std::unique_ptr<RankSink>(int rank)>;
  /// `order` must outlive it.
  RankTable(const NodeOrder& order, const MakeSink& make_sink);

  /// An error means that nothing was started at all. A program that cannot be run is a rank that
  /// ended with 126 or 127.
  Result<> start_all(const Cgroup& cgroup);
  /// Takes in every child that has ended, strangers inherited as a subreaper included.
  void reap();
  /// To running ranks' main processes, or to their groups.
  void signal_mains(int signal) const;
  void signal_groups(int signal) const;

  bool all_ended() const;
  /// The rank that failed first, when one did.
  std::optional<int> first_failed() const { return first_failed_; }

  void add_to(std::vector<pollfd>& fds) const;
  /// Moves what the pipes hold into the logs, a piece of each.
  void pump();
  bool has_open_pipes() const;
  /// Marks open gaps in the logs and gives the record; see docs/design/0003 for what is counted
  /// where.
  ExitRecord finish(const Counters& counters, bool has_cgroup);

 private:
  struct Rank {
    const RankPlan* plan = nullptr;
    pid_t pid = 0;  // 0: not running
    RankExit exit;
    std::int64_t max_rss_bytes = 0;
    std::unique_ptr<RankSink> log;
    UniqueFd pipes[2];
  };
  Result<> start(Rank& rank, const Cgroup& cgroup);
  void ended(Rank& rank, int exit, int signal);
  void pump(Rank& rank, Stream stream);

  const NodeOrder& order_;
  std::deque<Rank> ranks_;
  std::optional<int> first_failed_;
  std::string why_;
  std::string buffer_;
};

}  // namespace muster::process
