/// Ctrl-C and friends for verbs that wait: a thread receives the signals, so that a blocking call
/// needs no interruption. Made before any other thread; the signals stay blocked meanwhile.
#pragma once
#include <csignal>
#include <functional>
#include <initializer_list>
#include <thread>

namespace muster {

/// Holds the signals of a person who leaves back for its life: who comes to the end without having
/// handed them to an Interrupts gets them then. Made before any other thread.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  sigset_t before_{};
};

class Interrupts {
 public:
  /// `on_signal` runs on the thread of its own.
  Interrupts(std::initializer_list<int> signals, std::function<void(int)> on_signal);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

 private:
  std::thread thread_;
};

}  // namespace muster
