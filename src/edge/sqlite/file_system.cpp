#include "edge/sqlite/file_system.hpp"

#include <sys/vfs.h>

#include <cerrno>
#include <cstdint>

#include "base/text.hpp"

namespace muster {
namespace {

struct Magic {
  std::uint32_t number;
  std::string_view name;
};

constexpr std::uint32_t kFuse = 0x65735546;

// statfs(2), linux/magic.h, and the sources of those that live outside the kernel's tree.
constexpr Magic kNetworked[] = {
    {0x6969, "NFS"},        {0x517B, "SMB"},        {0xFF534D42, "CIFS"},   {0xFE534D42, "SMB2"},
    {kFuse, "FUSE"},        {0x0BD00BD0, "Lustre"}, {0x5346414F, "AFS"},    {0x6B414653, "AFS"},
    {0x01021997, "9p"},     {0x00C36400, "Ceph"},   {0x47504653, "GPFS"},   {0x73757245, "Coda"},
    {0x19830326, "BeeGFS"}, {0xAAD7AAEA, "PanFS"},  {0x564C, "NCP"},        {0x01161970, "GFS2"},
    {0x7461636F, "OCFS2"},  {0x786F4256, "vboxsf"}, {0xBACBACBC, "vmhgfs"},
};

}  // namespace

std::optional<std::string_view> network_fs_name(long magic) {
  for (const auto& row : kNetworked)
    if (row.number == static_cast<std::uint32_t>(magic)) return row.name;
  return std::nullopt;
}

Result<> require_local_fs(const std::string& folder, FuseHome fuse) {
  struct statfs about{};
  int code = 0;
  do code = ::statfs(folder.c_str(), &about);
  while (code != 0 && errno == EINTR);
  if (code != 0) return fail_errno(fmt::format("look at the folder {}", printable(folder)), errno);
  const auto name = network_fs_name(about.f_type);
  if (!name) return {};
  const bool is_fuse = static_cast<std::uint32_t>(about.f_type) == kFuse;
  if (is_fuse && fuse == FuseHome::allowed) return {};
  Error error{.kind = Kind::usage};
  error.what = fmt::format("the store cannot live on {}", *name);
  error.where = printable(folder);
  error.why = "such file systems lose locks and mapped pages, and with them jobs";
  error.fix.emplace_back("set MUSTER_HOME to a folder on a local disk, e.g. /var/tmp/$USER/muster");
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace muster
