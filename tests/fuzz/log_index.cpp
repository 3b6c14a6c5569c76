// A rank's log whose index and bytes are arbitrary: read in small steps as in one, or refused, and
// never read beyond what is there.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "edge/logs/tail.hpp"

namespace logs = muster::logs;

namespace {

/// One folder in memory for all runs.
class Folder {
 public:
  Folder() {
    std::string pattern = "/dev/shm/muster-fuzz-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

  void put(const std::string& name, std::string_view bytes) const {
    const auto file = path_ + "/" + name;
    const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || ::write(fd, bytes.data(), bytes.size()) != std::ssize(bytes)) std::abort();
    ::close(fd);
  }

 private:
  std::string path_;
};

struct Read {
  std::string text;  // bytes of both streams, in order
  bool is_whole = true;
};

Read read_all(logs::RankTail& tail, std::size_t budget) {
  Read all;
  for (;;) {
    const auto pieces = tail.read(budget);
    if (!pieces) {
      all.is_whole = false;
      return all;
    }
    for (const auto& piece : *pieces) all.text += piece.bytes;
    if (tail.is_drained()) return all;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Few rows, because each may claim to be long.
  if (size < 2 || size > 400) return 0;
  static const Folder folder;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto logged = bytes.substr(0, data[1]);
  folder.put("rank-00000.out", logged);
  folder.put("rank-00000.err", logged);
  folder.put("rank-00000.idx", bytes.substr(logged.size()));

  logs::RankTail at_once(folder.path(), 0), in_steps(folder.path(), 0), end(folder.path(), 0);
  const auto whole = read_all(at_once, 64U << 20);
  const auto steps = read_all(in_steps, 1U + data[0]);
  if (whole.is_whole != steps.is_whole) std::abort();
  if (whole.is_whole && whole.text != steps.text) std::abort();
  if (!end.seek_last_lines(1U + data[0] % 4)) return 0;
  const auto last = read_all(end, 64U << 20);
  if (whole.is_whole && last.is_whole && !whole.text.ends_with(last.text)) std::abort();
  return 0;
}
