#include "edge/tree/bundle_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/text.hpp"

namespace muster::snapshot {

Result<UniqueFd> file_without_name(const std::string& folder) {
  UniqueFd file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file) return file;
  // Not every file system has those.
  auto name = folder + "/bundle-XXXXXX";
  file.reset(::mkostemp(name.data(), O_CLOEXEC));
  if (!file) return fail_errno(fmt::format("cannot make a file in {}", printable(folder)), errno);
  ::unlink(name.c_str());
  return file;
}

Result<UniqueFd> bundle_file(BlobStore& from, const tree::Hash& id, const std::string& folder) {
  TRY(auto file, file_without_name(folder));
  TRY_VOID(write_bundle(from, id, [&](std::string_view bytes) -> Result<> {
    while (!bytes.empty()) {
      const auto put = ::write(file.get(), bytes.data(), bytes.size());
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return fail_errno("cannot write the code's bundle", errno);
      bytes.remove_prefix(static_cast<std::size_t>(put));
    }
    return {};
  }));
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return fail_errno("cannot read the bundle", errno);
  return file;
}

Source source_of(int fd) {
  return [fd](char* into, std::size_t most) -> Result<std::size_t> {
    for (;;) {
      const auto got = ::read(fd, into, most);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) return fail_errno("cannot read the bundle", errno);
    }
  };
}

}  // namespace muster::snapshot
