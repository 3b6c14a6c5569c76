/// Ctrl-C and friends for verbs that wait: a thread receives the signals, so that a blocking call
/// needs no interruption. Made before any other thread; the signals stay blocked meanwhile.
#pragma once
#include <functional>
#include <initializer_list>
#include <thread>

namespace muster {

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
