/// This process's terminal, handed to a program elsewhere: every key goes there as it is typed, and
/// its size as it changes. As it was again when the object goes. One thread.
#pragma once
#include <termios.h>

#include <csignal>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace muster {

class RawTerminal {
 public:
  /// stdin must be a terminal.
  static Result<RawTerminal> take();
  RawTerminal(RawTerminal&& other) noexcept;
  ~RawTerminal();

  struct Size {
    int columns = 80;
    int rows = 24;
  };
  /// The size now; takes a waiting notice away.
  Size size() const;
  /// Readable when the size has changed.
  int resized() const { return resized_.get(); }

 private:
  RawTerminal(const termios& before, UniqueFd resized)
      : before_(before), resized_(std::move(resized)) {}
  termios before_;
  UniqueFd resized_;
};

}  // namespace muster
