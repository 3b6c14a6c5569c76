#include "app/agent/pod_output.hpp"

#include <unistd.h>

#include <cerrno>
#include <climits>

#include "edge/process/clocks.hpp"

namespace muster::agent {
namespace {
constexpr Duration kPatience = std::chrono::milliseconds(200);  // with a line that does not end
}

void PodOutput::add_to(std::vector<pollfd>& fds) const {
  if (!is_empty()) fds.push_back({fd_, POLLOUT, 0});
}

bool PodOutput::takes_more() const {
  pollfd fd{fd_, POLLOUT, 0};
  return ::poll(&fd, 1, 0) == 1;
}

void PodOutput::send() {
  // Up to this size, a pipe that is ready takes all of it without waiting.
  while (!is_empty() && !is_broken_ && takes_more()) {
    const auto some = std::min<std::size_t>(waiting_.size() - sent_, PIPE_BUF);
    const auto put = ::write(fd_, waiting_.data() + sent_, some);
    if (put < 0 && (errno == EINTR || errno == EAGAIN)) break;
    is_broken_ = put < 0;
    if (put > 0) sent_ += static_cast<std::size_t>(put);
  }
  if (is_broken_) sent_ = waiting_.size();  // nobody will ever read it: the ranks go on
  if (sent_ < waiting_.size() / 2) return;
  waiting_.erase(0, sent_);
  sent_ = 0;
}

PodRankLog::PodRankLog(PodOutput& output, int rank)
    : output_(output),
      flows_{{PodLineWriter(rank, PodStream::out), {}, {}},
             {PodLineWriter(rank, PodStream::err), {}, {}}} {}

void PodRankLog::append(process::Stream stream, std::string_view bytes, WallTime) {
  auto& flow = flows_[static_cast<std::size_t>(stream)];
  const auto before = output_.lines().size();
  const bool was_holding = flow.writer.is_holding();
  flow.hash.feed(bytes);
  flow.writer.write(bytes, output_.lines());
  // A line that grows and grows still leaves in time.
  if (!was_holding || output_.lines().size() != before) flow.held_since = process::monotonic_now();
}

void PodRankLog::finish(WallTime) {
  for (auto& flow : flows_) flow.writer.flush(output_.lines());
}

std::int64_t PodRankLog::bytes(process::Stream stream) const {
  return static_cast<std::int64_t>(flows_[static_cast<std::size_t>(stream)].writer.taken());
}

std::string PodRankLog::xxh3(process::Stream stream) const {
  return flows_[static_cast<std::size_t>(stream)].hash.hex();
}

std::optional<Duration> PodRankLog::next_flush() const {
  std::optional<Duration> next;
  for (const auto& flow : flows_)
    if (flow.writer.is_holding() && (!next || flow.held_since + kPatience < *next))
      next = flow.held_since + kPatience;
  return next;
}

void PodRankLog::flush_old(Duration now) {
  for (auto& flow : flows_)
    if (flow.writer.is_holding() && flow.held_since + kPatience <= now)
      flow.writer.flush(output_.lines());
}

}  // namespace muster::agent
