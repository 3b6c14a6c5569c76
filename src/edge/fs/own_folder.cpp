#include "edge/fs/own_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.hpp"
#include "edge/fs/files.hpp"

namespace muster::fs {
namespace {

constexpr const char* kElsewhere =
    "set MUSTER_HOME to a folder of your own, or to one that is not there yet";

tl::unexpected<Error> refused(Kind kind, const std::string& path, std::string_view why) {
  auto failed = fail(kind, fmt::format("{} cannot be a home", printable(path)), kElsewhere);
  failed.value().why = why;
  return failed;
}

}  // namespace

Result<> claim_folder(const std::string& path, const std::string& mark) {
  if (auto made = make_dirs(path); !made) {
    made.error().fix.emplace_back(kElsewhere);
    return made;
  }
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0)
    return fail_errno(fmt::format("cannot look at {}", path), errno);
  if (!S_ISDIR(status.st_mode)) return refused(Kind::usage, path, "it is not a folder");
  if (status.st_uid != ::geteuid())
    return refused(Kind::denied, path,
                   fmt::format("it belongs to another user (uid {})", status.st_uid));
  if ((status.st_mode & 077) == 0) return {};
  const auto inside = entries(path);
  const bool is_ours = inside.empty() || exists(path + "/" + mark);
  if (!is_ours)
    return refused(
        Kind::conflict, path,
        "others may enter it, and it holds other things; if they are yours alone: chmod 700");
  if ((status.st_mode & 022) != 0 && !inside.empty())
    return refused(Kind::denied, path, "others may write to it: what lies in it may be theirs");
  if (::chmod(path.c_str(), 0700) != 0)
    return fail_errno(fmt::format("cannot close {} to others", path), errno);
  return {};
}

}  // namespace muster::fs
