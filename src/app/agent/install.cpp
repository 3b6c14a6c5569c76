#include "app/agent/install.hpp"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "edge/fs/files.hpp"

namespace muster::agent {
namespace {

/// Without /proc the kernel still says by which name it was started.
Result<UniqueFd> open_self() {
  UniqueFd fd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const auto* name = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  if (!fd && name != nullptr) fd.reset(::open(name, O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno("cannot open this program", errno);
  return fd;
}

Result<> copy(int from, int to, const std::string& path) {
  std::string piece(1U << 20, '\0');
  for (;;) {
    const auto got = ::read(from, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("cannot read this program", errno);
    if (got == 0) return {};
    for (ssize_t done = 0; done < got;) {
      const auto put = ::write(to, piece.data() + done, static_cast<std::size_t>(got - done));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return fail_errno(fmt::format("cannot write {}", printable(path)), errno);
      done += put;
    }
  }
}

}  // namespace

Result<> install(const std::string& dir) {
  TRY(const auto self, open_self());
  TRY_VOID(fs::make_dirs(dir, 0755));
  const auto path = dir + "/muster";
  const auto temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  const UniqueFd file(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0700));
  if (!file) return fail_errno(fmt::format("cannot make {}", printable(temporary)), errno);
  auto done = copy(self.get(), file.get(), temporary);
  if (done && (::fchmod(file.get(), 0755) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0))
    done = fail_errno(fmt::format("cannot put {} in place", printable(path)), errno);
  if (!done) ::unlink(temporary.c_str());
  return done;
}

}  // namespace muster::agent
