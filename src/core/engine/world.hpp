/// The engine's memory, and the one place where events are made.
#pragma once
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/engine/engine.hpp"

namespace muster::engine {

/// Higher priority first, then submission order.
struct QueueKey {
  int priority = 0;
  JobSeq seq = 0;
  bool operator<(const QueueKey& other) const {
    return priority != other.priority ? priority > other.priority : seq < other.seq;
  }
};

/// What is known of a live attempt beside its events; found anew by observation after a restart.
struct Watch {
  std::set<int> running_nodes;
  int launches = 0;
  std::map<int, NodeName> seats;    // where the cluster put it, by node
  std::map<int, Reason> waits_for;  // what keeps a node from running, or from being seen
};

struct Engine::World {
  std::map<JobSeq, Job> jobs;  // not final
  std::set<JobSeq> live;       // those with an attempt
  std::map<JobSeq, Watch> watches;
  std::map<std::pair<std::string, std::string>, JobSeq> keys;  // (user, key)
  std::map<std::string, std::set<QueueKey>> ready;             // by cluster
  std::set<std::pair<RunTime, JobSeq>> delayed;                // queued, by not_before
  std::set<JobSeq> impossible;                                 // queued, cannot fit this inventory
  std::set<int> ports;                                         // leased
  int next_port = 0;
  Inventory inventory;
  sched::View view;
  JobSeq last_seq = 0;
  std::int64_t last_event = 0;
  std::uint64_t id_key = 0;

  // Of the step under way.
  Now now;
  Outbox out;
  std::set<JobSeq> touched;

  void emit(Job& job, EventBody body, std::string actor = "muster");
  void enqueue(const Job& job);
  void dequeue(const Job& job);
  void flush_touched();
  std::vector<sched::Holder> holders() const;

  // commands.cpp
  void take(const SubmitJob& command);
  void take(const AbortJob& command);
  void take(const SignalJob& command);
  // observed.cpp
  void take(const InventorySeen& seen);
  void take(const Seen& seen);
  // place.cpp
  void run_cycle();
  bool place_next(std::set<QueueKey>& queue);
  bool must_wait_for_gang(const Job& job) const;
  int lease_port();
};

}  // namespace muster::engine
