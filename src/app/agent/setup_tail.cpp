#include "app/agent/setup_tail.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace muster::agent {

void SetupTail::read() {
  if (!fd_) fd_.reset(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  char piece[16384];
  while (fd_ && !output_.is_full()) {
    const auto got = ::read(fd_.get(), piece, sizeof piece);
    if (got <= 0) return;
    writer_.write({piece, static_cast<std::size_t>(got)}, output_.lines());
  }
}

void SetupTail::finish() {
  read();
  writer_.flush(output_.lines());
}

}  // namespace muster::agent
