#include "edge/process/exit_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "edge/process/files.hpp"

namespace muster::process {
namespace {
constexpr const char* kReserved = "exit.json.tmp";
}  // namespace

Result<ExitFile> ExitFile::reserve(int dir_fd, std::size_t ranks) {
  ExitFile file;
  file.dir_fd_ = dir_fd;
  file.fd_.reset(::openat(dir_fd, kReserved, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file.fd_) return fail_errno("cannot make the exit record", errno);
  const auto size = static_cast<off_t>(4096 + 512 * ranks);
  // Where the file system cannot reserve, the record takes its chances like any file.
  if (::fallocate(file.fd_.get(), 0, 0, size) != 0 && (errno == ENOSPC || errno == EDQUOT))
    return fail_errno("cannot reserve room for the exit record", errno);
  return file;
}

Result<> ExitFile::publish(const std::string& text) {
  if (::lseek(fd_.get(), 0, SEEK_SET) != 0) return fail_errno("cannot rewind exit.json", errno);
  TRY_VOID(within(write_all(fd_.get(), text), "exit.json"));
  if (::ftruncate(fd_.get(), static_cast<off_t>(text.size())) != 0)
    return fail_errno("cannot cut exit.json to its size", errno);
  if (::renameat(dir_fd_, kReserved, dir_fd_, "exit.json") != 0)
    return fail_errno("cannot rename exit.json into place", errno);
  return {};
}

void ExitFile::sync() {
  ::fsync(fd_.get());
  ::fsync(dir_fd_);
}

void ExitFile::discard() {
  if (fd_) ::unlinkat(dir_fd_, kReserved, 0);
  fd_.reset();
}

}  // namespace muster::process
