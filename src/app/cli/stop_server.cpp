#include "app/cli/stop_server.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "app/api/start.hpp"
#include "base/unique_fd.hpp"

namespace muster {
namespace {

bool is_free(const std::string& home) {
  const UniqueFd lock(::open((home + "/server.lock").c_str(), O_RDONLY | O_CLOEXEC));
  return !lock || ::flock(lock.get(), LOCK_SH | LOCK_NB) == 0;
}

}  // namespace

Result<bool> stop_server(const std::string& home) {
  auto api = api::connect_only(home);
  if (!api && api.error().kind == Kind::unavailable) return false;
  TRY(const auto connected, std::move(api));
  TRY_VOID(connected->call({.route = "server.stop"}));
  // It is gone when its lock is free: then another may serve, or the home may be removed.
  for (int tries = 0; !is_free(home); ++tries) {
    if (tries > 6000)
      return fail(Kind::unavailable, "the server does not stop",
                  "look at its log: server.log in the home");
    ::usleep(5000);
  }
  return true;
}

}  // namespace muster
