#include "edge/process/container_counters.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/text.hpp"
#include "edge/process/files.hpp"

namespace muster::process {
namespace {

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

/// The number in a file: alone, or behind a word at the beginning of a line.
std::optional<std::int64_t> number_in(const std::string& path, std::string_view word = "") {
  const auto text = read_file(AT_FDCWD, path);
  if (!text) return std::nullopt;
  if (word.empty()) return number_of(*text);
  for (const auto line : split(*text, '\n'))
    if (line.starts_with(word) && line.size() > word.size() && line[word.size()] == ' ')
      return number_of(line.substr(word.size() + 1));
  return std::nullopt;
}

}  // namespace

bool is_first_process() { return ::getpid() == 1; }

ContainerCounters::ContainerCounters(std::string root) : root_(std::move(root)), base_(totals()) {}

std::optional<Counters> ContainerCounters::totals() const {
  if (const auto kills = number_in(root_ + "/memory.events", "oom_kill"))
    return Counters{.cpu_us = number_in(root_ + "/cpu.stat", "usage_usec").value_or(0),
                    .peak_bytes = number_in(root_ + "/memory.peak").value_or(0),
                    .oom_kills = *kills};
  const auto memory = root_ + "/memory";
  if (const auto kills = number_in(memory + "/memory.oom_control", "oom_kill"))
    return Counters{.cpu_us = number_in(root_ + "/cpuacct/cpuacct.usage").value_or(0) / 1000,
                    .peak_bytes = number_in(memory + "/memory.max_usage_in_bytes").value_or(0),
                    .oom_kills = *kills};
  return std::nullopt;
}

/// The peak is the container's since it began: its cgroup began with it.
std::optional<Counters> ContainerCounters::since() const {
  const auto now = totals();
  if (!now || !base_) return std::nullopt;
  return Counters{.cpu_us = std::max<std::int64_t>(0, now->cpu_us - base_->cpu_us),
                  .peak_bytes = now->peak_bytes,
                  .oom_kills = std::max<std::int64_t>(0, now->oom_kills - base_->oom_kills)};
}

}  // namespace muster::process
