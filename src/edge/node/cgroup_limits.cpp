#include "edge/node/cgroup_limits.hpp"

#include <charconv>

#include "base/text.hpp"
#include "edge/fs/files.hpp"

namespace muster::node {
namespace {

// cgroup v1 says "no limit" with the largest page-aligned number.
constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;

std::optional<std::int64_t> number_of(std::string_view text) {
  text = trimmed(text);
  std::int64_t number = 0;
  const auto* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc() || at != end) return std::nullopt;
  return number;
}

template <class T>
void tighten(std::optional<T>& limit, std::optional<T> other) {
  if (other && (!limit || *other < *limit)) limit = other;
}

std::optional<MilliCpus> quota_of(std::int64_t quota, std::int64_t period) {
  if (quota <= 0 || period <= 0) return std::nullopt;
  return MilliCpus{std::max<std::int64_t>(quota * 1000 / period, 1)};
}

/// cpu.max: "max 100000" or "150000 100000".
std::optional<MilliCpus> cpu_max(const std::string& dir) {
  const auto text = fs::read_file(dir + "/cpu.max");
  if (!text) return std::nullopt;
  const auto parts = split(trimmed(*text), ' ');
  if (parts.size() != 2) return std::nullopt;
  const auto quota = number_of(parts[0]);
  const auto period = number_of(parts[1]);
  return quota && period ? quota_of(*quota, *period) : std::nullopt;
}

std::optional<Bytes> bytes_in(const std::string& path) {
  const auto text = fs::read_file(path);
  const auto number = text ? number_of(*text) : std::nullopt;
  if (!number || *number <= 0 || *number >= kNoLimit) return std::nullopt;
  return Bytes{*number};
}

std::optional<MilliCpus> cfs_quota(const std::string& dir) {
  const auto quota = fs::read_file(dir + "/cpu.cfs_quota_us");
  const auto period = fs::read_file(dir + "/cpu.cfs_period_us");
  if (!quota || !period) return std::nullopt;
  return quota_of(number_of(*quota).value_or(0), number_of(*period).value_or(0));
}

/// Calls `look` for the group and every group above it, the root of the hierarchy included.
template <class Look>
void walk_up(const std::string& root, std::string path, Look look) {
  for (;;) {
    look(root + (path == "/" ? "" : path));
    if (path.empty() || path == "/") return;
    path.resize(path.find('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

void look_v1(const Roots& roots, std::string_view controllers, const std::string& path,
             CgroupLimits& limits) {
  for (const auto controller : split(controllers, ',')) {
    if (controller != "cpu" && controller != "memory") continue;
    // Inside a container the path of /proc may not exist under its own mount: the walk ends at
    // the mount's root, which is then the container's group.
    walk_up(fmt::format("{}/{}", roots.cgroup, controller), path, [&](const std::string& dir) {
      if (controller == "cpu")
        tighten(limits.cpus, cfs_quota(dir));
      else
        tighten(limits.memory, bytes_in(dir + "/memory.limit_in_bytes"));
    });
  }
}

}  // namespace

CgroupLimits cgroup_limits(const Roots& roots) {
  CgroupLimits limits;
  const auto groups = fs::read_file(roots.proc + "/self/cgroup");
  if (!groups) return limits;
  for (const auto line : split(*groups, '\n')) {
    const auto first = line.find(':');
    const auto second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    const std::string path(line.substr(second + 1));
    if (!controllers.empty()) {
      look_v1(roots, controllers, path, limits);
      continue;
    }
    walk_up(roots.cgroup, path, [&](const std::string& dir) {
      tighten(limits.cpus, cpu_max(dir));
      tighten(limits.memory, bytes_in(dir + "/memory.max"));
    });
  }
  return limits;
}

}  // namespace muster::node
