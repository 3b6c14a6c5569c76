#include "app/cli/interrupts.hpp"

#include <csignal>

namespace muster {
namespace {

constexpr int kQuit = SIGUSR2;

}  // namespace

HeldSignals::HeldSignals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGQUIT}) ::sigaddset(&set, number);
  ::pthread_sigmask(SIG_BLOCK, &set, &before_);
}

HeldSignals::~HeldSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

Interrupts::Interrupts(std::initializer_list<int> signals, std::function<void(int)> on_signal) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : signals) ::sigaddset(&set, number);
  ::sigaddset(&set, kQuit);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::thread([set, on_signal = std::move(on_signal)] {
    int number = 0;
    while (::sigwait(&set, &number) == 0 && number != kQuit) on_signal(number);
  });
}

Interrupts::~Interrupts() {
  ::pthread_kill(thread_.native_handle(), kQuit);
  thread_.join();
}

}  // namespace muster
