/// A shim's line to its server: the link it was born with, and once that breaks the socket `ctl` in
/// its directory, where one server at a time is heard (the newest). Only our own user may connect.
/// Single thread.
#pragma once
#include <poll.h>

#include <vector>

#include "edge/process/lines.hpp"

namespace muster::process {

class Control {
 public:
  /// `dir_fd` must outlive it.
  Control(UniqueFd link, int dir_fd) : channel_(std::move(link)), dir_fd_(dir_fd) {}

  void add_to(std::vector<pollfd>& fds) const;
  struct Heard {
    std::vector<Asked> asked;
    bool is_new_server = false;  // it wants to be told how things stand
  };
  /// Takes in what has arrived; never blocks. Answers what cannot be understood.
  Heard hear();
  void say(const Said& said);
  /// Sends what is queued, for as long as `limit`.
  void flush(Duration limit);
  /// Takes `ctl` away.
  void close();

 private:
  void listen();
  bool accept_newest();

  LineChannel channel_;
  UniqueFd listener_;
  int dir_fd_;
};

}  // namespace muster::process
