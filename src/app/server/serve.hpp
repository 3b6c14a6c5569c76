/// A whole server: composed, run until stopped, taken down in order.
#pragma once
#include <functional>
#include <string>

#include "base/error.hpp"
#include "base/time.hpp"
#include "edge/http/server.hpp"

namespace muster::server {

struct ServeOptions {
  std::string home;
  std::string config_file;
  bool is_automatic = false;  // started by a client: exits when idle and empty
  Duration idle{std::chrono::minutes(10)};
  int ready_fd = -1;  // told "ok\n" or the error when it is known
  std::function<void()> on_ready = [] {};
  bool verbose = false;
  std::optional<http::TcpAddress> listen;  // where pods get their code
  std::string reached_as;                  // host:port by which they know that place
};

/// Runs in the calling thread until it is stopped. Signals are expected to be blocked by the
/// caller.
Result<> serve(const ServeOptions& options);

}  // namespace muster::server
