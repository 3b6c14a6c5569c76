/// Draws pods' logs into the files of their ranks while they run, and the rest when they have
/// ended. As many at once as there are threads; those that find no place are drawn at their end.
/// Thread-safe.
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/log.hpp"
#include "core/model/exit_record.hpp"
#include "edge/kube/cancel.hpp"
#include "edge/kube/cluster.hpp"
#include "edge/pods/rank_files.hpp"

namespace muster::pods {

struct DrawOrder {
  std::string space;
  std::string pod;
  std::string dir;                   // of the attempt on this node
  RankRange ranks;                   // of this node
  bool is_over = false;              // the pod has ended: draw the rest, mark what is missing
  std::optional<ExitRecord> record;  // then, if it left one
};

class LogDrawer {
 public:
  /// `on_drawn` is called on a drawer's thread when an ended pod's log is as complete as it will
  /// be.
  using OnDrawn = std::function<void(const std::string& pod)>;
  LogDrawer(std::shared_ptr<kube::Cluster> cluster, Log& log, OnDrawn on_drawn);
  ~LogDrawer();

  /// Once per pod for as long as it is under way; a pod that ended meanwhile is drawn to its end
  /// afterwards.
  void draw(DrawOrder order);

 private:
  void work();
  std::optional<DrawOrder> next();
  using Clock = std::chrono::steady_clock;
  void finished(const DrawOrder& order, bool is_drawn);

  std::shared_ptr<kube::Cluster> cluster_;
  Log& log_;
  OnDrawn on_drawn_;
  kube::Cancel cancel_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<DrawOrder> waiting_;                     // ended pods in front
  std::map<std::string, bool> busy_;                  // pods being drawn, and whether to their end
  std::map<std::string, Clock::time_point> resting_;  // running pods not to be asked, until when
  std::size_t following_ = 0;                         // of them, how many still run
  std::vector<std::thread> threads_;
};

}  // namespace muster::pods
