#include "app/cli/terminal.hpp"

#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

namespace muster {

Result<RawTerminal> RawTerminal::take() {
  termios before{};
  if (::tcgetattr(STDIN_FILENO, &before) != 0) return fail_errno("cannot ask the terminal", errno);
  sigset_t changes;
  sigemptyset(&changes);
  sigaddset(&changes, SIGWINCH);
  ::sigprocmask(SIG_BLOCK, &changes, nullptr);
  UniqueFd resized(::signalfd(-1, &changes, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!resized) return fail_errno("cannot wait for the terminal's size", errno);
  termios raw = before;
  ::cfmakeraw(&raw);
  if (::tcsetattr(STDIN_FILENO, TCSANOW, &raw) != 0)
    return fail_errno("cannot change the terminal", errno);
  return RawTerminal(before, std::move(resized));
}

RawTerminal::RawTerminal(RawTerminal&& other) noexcept
    : before_(other.before_), resized_(std::move(other.resized_)) {}

RawTerminal::~RawTerminal() {
  if (resized_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

RawTerminal::Size RawTerminal::size() const {
  signalfd_siginfo notice{};
  while (::read(resized_.get(), &notice, sizeof notice) == sizeof notice) continue;
  winsize window{};
  if (::ioctl(STDIN_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0) return {};
  return {.columns = window.ws_col, .rows = window.ws_row};
}

}  // namespace muster
