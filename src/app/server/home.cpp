#include "app/server/home.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.hpp"
#include "base/time.hpp"
#include "edge/fs/files.hpp"
#include "edge/fs/links.hpp"
#include "edge/fs/own_folder.hpp"

namespace muster::server {
namespace {

std::string holder_text(int fd) {
  char text[512];
  const auto n = ::pread(fd, text, sizeof text, 0);
  return n > 0 ? printable(trimmed({text, static_cast<std::size_t>(n)})) : "an unknown process";
}

Result<> copy_program(const std::string& to) {
  // A hard link keeps the very file alive; another file system needs a copy.
  if (::linkat(AT_FDCWD, "/proc/self/exe", AT_FDCWD, to.c_str(), AT_SYMLINK_FOLLOW) == 0 ||
      errno == EEXIST)
    return {};
  TRY(const auto bytes, fs::read_file("/proc/self/exe", 1U << 30));
  return fs::write_whole(to, bytes, 0700);
}

Result<> link_tool(const std::string& to, const std::string& name) {
  if (::symlink(to.c_str(), name.c_str()) == 0) return {};
  if (errno != EEXIST) return fail_errno(fmt::format("cannot link {}", name), errno);
  const std::string temp = name + ".new";
  ::unlink(temp.c_str());
  if (::symlink(to.c_str(), temp.c_str()) != 0 || ::rename(temp.c_str(), name.c_str()) != 0)
    return fail_errno(fmt::format("cannot link {}", name), errno);
  return {};
}

}  // namespace

Result<> prepare_home(const std::string& home) { return fs::claim_folder(home, "server.lock"); }

Result<UniqueFd> lock_home(const std::string& home) {
  const std::string path = home + "/server.lock";
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail_errno(fmt::format("cannot open {}", path), errno);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    auto failed = fail(Kind::conflict,
                       fmt::format("another server holds {}: {}", home, holder_text(fd.get())),
                       "use it, or stop it first: muster serve --stop");
    failed.value().where = path;  // by this a client knows that it was only slower than another
    return failed;
  }
  const auto text =
      fmt::format("pid {} since {}\n", ::getpid(), to_rfc3339(WallTime{fs::walltime_us()}));
  (void)!::ftruncate(fd.get(), 0);
  (void)!::pwrite(fd.get(), text.data(), text.size(), 0);
  // For people and scripts; on a full disk it is better to serve without.
  (void)fs::write_whole(home + "/server.pid", fmt::format("{}\n", ::getpid()));
  return fd;
}

Result<Tools> install_tools(const std::string& home, const std::string& build_id) {
  Tools tools{
      .binary = fmt::format("{}/bin/muster-{}", home, build_id.empty() ? "unknown" : build_id),
      .dir = home + "/bin/tools"};
  TRY_VOID(fs::make_dirs(tools.dir));
  if (!fs::exists(tools.binary)) {
    const auto copied = copy_program(tools.binary);
    const auto self = fs::link_target("/proc/self/exe");
    // On a full disk it is better to serve from where the program lies: verbs that free some must
    // go.
    const bool serves_anyway =
        !copied && copied.error().kind == Kind::exhausted && fs::exists(self);
    if (!copied && !serves_anyway) return tl::unexpected<Error>(copied.error());
    if (serves_anyway) tools.binary = self;
  }
  const auto linked = link_tool(tools.binary, tools.dir + "/get_cores");
  if (!linked && linked.error().kind != Kind::exhausted)
    return tl::unexpected<Error>(linked.error());
  return tools;
}

}  // namespace muster::server
