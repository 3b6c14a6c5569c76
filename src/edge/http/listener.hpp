/// A listening unix socket at a path of any length, made private (0600) before anybody can see it.
/// Internal to this folder; the socket's one owner is the server.
#pragma once
#include <sys/stat.h>

#include <string>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace muster::http {

class Listener {
 public:
  /// Replaces a socket that is there; anything else at the path is a conflict.
  static Result<Listener> open(const std::string& path);
  Listener(Listener&&) = default;
  Listener& operator=(Listener&&) = default;
  /// Removes the file, unless another server has put its own there.
  ~Listener();

  /// Hands the listening socket over; the file stays this one's to remove.
  UniqueFd take_socket() { return std::move(socket_); }

 private:
  Listener() = default;
  Result<> bind_at(const std::string& path);

  UniqueFd folder_;
  UniqueFd socket_;
  std::string name_;
  struct stat bound_{};
};

}  // namespace muster::http
