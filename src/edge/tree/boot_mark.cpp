#include "edge/tree/boot_mark.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include "edge/fs/files.hpp"

namespace muster::snapshot {

Result<bool> is_whole(const std::string& tree) {
  TRY(const auto boot, fs::boot_id());
  const auto mark = tree + kBootMark;
  const auto made_in = fs::read_file(mark, 256);
  if (!made_in || *made_in != boot || !fs::exists(tree)) return false;
  renew_mark(mark);
  return true;
}

Result<> mark_whole(const std::string& tree) {
  TRY(const auto boot, fs::boot_id());
  return fs::write_whole(tree + kBootMark, boot);
}

void renew_mark(const std::string& mark) { ::utimensat(AT_FDCWD, mark.c_str(), nullptr, 0); }

}  // namespace muster::snapshot
