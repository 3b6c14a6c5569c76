#include "app/server/checks.hpp"

#include <sys/stat.h>

#include "app/cli/prune.hpp"
#include "base/text.hpp"
#include "core/model/json.hpp"
#include "edge/fs/disk.hpp"
#include "edge/fs/files.hpp"

namespace muster::server {
namespace {

Check containment(const Office& office) {
  const bool is_full = office.about.tier != "none";
  return {"containment", is_full ? "ok" : "warn",
          is_full ? fmt::format("{}: whole trees are killed, memory is counted and limited",
                                office.about.tier)
                  : "no writable cgroup: trees are killed by descent and by mark; memory is not "
                    "limited, out-of-memory ends are not told apart",
          is_full ? "" : "run as root, or in a session with delegated cgroups"};
}

Check disk(const Office& office) {
  const auto room = fs::disk_room(office.about.home);
  if (room.all == 0)
    return {"disk", "warn", fmt::format("cannot look at {}", office.about.home), ""};
  const Bytes free{static_cast<std::int64_t>(room.free)};
  const bool is_low = free.count < (std::int64_t{1} << 30);
  return {"disk", is_low ? "warn" : "ok",
          fmt::format("{} free for {}", to_text(free), office.about.home),
          is_low ? "free some space: jobs are refused when there is none" : ""};
}

/// The last collection: by the server, or by a person.
Check collection(const Office& office) {
  const auto path = record_file(office.about.home);
  const auto text = fs::read_file(path, 1U << 16);
  const auto parsed = text ? parse_json(*text) : Result<json::value>(tl::unexpected(text.error()));
  struct stat about{};
  const bool is_known = parsed && parsed->is_object() && ::stat(path.c_str(), &about) == 0;
  if (!is_known || text_at(parsed->get_object(), "by").empty())
    return {"collection", "ok", "none yet: the server collects once a day", ""};
  const auto& record = parsed->get_object();
  return {"collection", "ok",
          fmt::format("last at {} ({}): snapshots {}, restored trees {}, Python environments {}; "
                      "freed {}",
                      to_rfc3339(WallTime{std::int64_t{about.st_mtim.tv_sec} * 1'000'000}),
                      text_at(record, "by") == "server" ? "by itself" : "by hand",
                      number_at(record, "snapshots"), number_at(record, "trees"),
                      number_at(record, "venvs"), to_text(Bytes{number_at(record, "bytes")})),
          ""};
}

Check nodes(const sched::View& view) {
  if (view.nodes.empty())
    return {"nodes", "fail", "none", "check the profile: muster config explain nodes"};
  constexpr std::size_t kShown = 4;
  std::vector<std::string> parts;
  for (const auto& node : view.nodes) {
    if (parts.size() == kShown) {
      parts.push_back(fmt::format("and {} more", view.nodes.size() - kShown));
      break;
    }
    parts.push_back(
        fmt::format("{} ({} cpu, {}{})", printable(node.node.name.str()), to_text(node.node.cpus),
                    to_text(node.node.memory),
                    node.node.gpus > 0 ? fmt::format(", {} gpu", node.node.gpus) : std::string()));
  }
  return {"nodes", "ok", join(parts, ", "), ""};
}

/// Jobs of a cluster that is not seen are neither started nor given up.
Check cluster(const ClusterSight& sight) {
  const auto name = fmt::format("cluster {}", sight.name);
  if (!sight.is_open)
    return {name, "warn", fmt::format("the server cannot use it: {}", sight.blindness),
            fmt::format("muster doctor --cluster {}", sight.name)};
  if (!sight.blindness.empty())
    return {name, "warn", fmt::format("the server does not see its jobs: {}", sight.blindness),
            fmt::format("nothing is concluded meanwhile; muster doctor --cluster {}", sight.name)};
  return {name, "ok", "the server sees every change of its jobs there", ""};
}

/// The last complaints of the server's own log.
Check own_log(const Office& office) {
  const std::string path = office.about.home + "/server.log";
  const auto text = fs::read_file(path);
  if (!text) return {"server log", "warn", to_line(text.error()), ""};
  std::vector<std::string> complaints;
  for (const auto line : split(*text, '\n'))
    if (line.find(" error ") != std::string_view::npos ||
        line.find(" warn ") != std::string_view::npos)
      complaints.emplace_back(printable(line));
  if (complaints.empty())
    return {"server log", "ok", fmt::format("nothing to complain about in {}", path), ""};
  return {"server log", "warn",
          fmt::format("{} complaints, the last: {}", complaints.size(), complaints.back()),
          fmt::format("read {}", path)};
}

}  // namespace

std::vector<Check> server_checks(const Office& office) {
  const auto picture = office.driver.picture();
  std::vector<Check> checks;
  checks.push_back(
      {"server", "ok",
       fmt::format("pid {}, {} since {}, {} jobs not final", ::getpid(), office.about.version,
                   to_rfc3339(office.about.started), picture->live_jobs),
       ""});
  checks.push_back(containment(office));
  checks.push_back(nodes(picture->view));
  for (const auto& sight : office.clusters()) checks.push_back(cluster(sight));
  checks.push_back(disk(office));
  checks.push_back(collection(office));
  checks.push_back(own_log(office));
  return checks;
}

}  // namespace muster::server
