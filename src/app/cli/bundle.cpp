#include "app/cli/bundle.hpp"

#include <sys/utsname.h>

#include <algorithm>

#include "app/cli/build.hpp"
#include "app/cli/output.hpp"
#include "app/server/env_store.hpp"
#include "app/server/job_json.hpp"
#include "base/redact.hpp"
#include "base/text.hpp"
#include "base/time.hpp"
#include "core/model/json.hpp"
#include "edge/fs/disk.hpp"
#include "edge/fs/files.hpp"
#include "edge/fs/secrets.hpp"
#include "edge/logs/tail.hpp"
#include "edge/sqlite/records.hpp"

namespace muster {
namespace {

constexpr std::size_t kLines = 100;          // of each log, the last
constexpr std::size_t kTail = 1U << 20;      // bytes of them, at most
constexpr std::size_t kLogs = 16;            // of them, at most
constexpr std::size_t kServerLines = 200;    // of the server's own log
constexpr std::size_t kLargest = 64U << 20;  // of a file that is looked at

/// All values of this home that must not be seen, and those of the job's environment whose names
/// say so.
std::vector<std::string> secrets_of(const std::string& home, const JobSpec& spec) {
  std::vector<std::string> values;
  const fs::Secrets secrets(home + "/secrets");
  if (const auto names = secrets.names())
    for (const auto& name : *names)
      if (auto value = secrets.get(name)) values.push_back(std::move(*value));
  if (const auto env = server::EnvStore(home + "/env").get(spec.env_id))
    for (const auto& [name, value] : *env)
      if (is_secret_name(name)) values.push_back(value);
  // As documents have them, too.
  for (std::size_t i = 0, all = values.size(); i < all; ++i) {
    const auto written = json::serialize(bytes_to_json(values[i]));
    if (written.size() > 2) values.push_back(written.substr(1, written.size() - 2));
  }
  // The longest first: one may be a part of another.
  std::sort(values.begin(), values.end(),
            [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return values;
}

/// Nothing in it can disturb a terminal, line by line.
std::string safe(std::string_view text) {
  std::string out;
  for (const auto line : split(text, '\n')) out += printable(line) + "\n";
  return out;
}

/// Whole lines: half of a secret would not be known as one.
std::string tail_of(const std::string& path) {
  logs::FileTail tail(path);
  if (const auto found = tail.seek_last_lines(kLines); !found) return to_line(found.error());
  const auto pieces = tail.read(kTail);
  if (!pieces) return to_line(pieces.error());
  std::string text;
  for (const auto& piece : *pieces) text += piece.bytes;
  return text;
}

std::string pretty(const std::string& json) {
  const auto text = json_text(json, JsonStyle::pretty);
  return text ? *text : json;
}

class Writing {
 public:
  void add(std::string_view title, std::string_view text) {
    text_ += fmt::format("## {}\n\n{}\n\n", title, trimmed(text));
  }
  std::string text_;
};

std::string machine_text(const std::string& home) {
  utsname names{};
  ::uname(&names);
  const auto build = this_build();
  const auto room = fs::disk_room(home);
  return fmt::format("muster {} build {}\n{} {} {}\n{} bytes free of {} for the home",
                     build.version, build.build_id, names.sysname, names.release, names.machine,
                     room.free, room.all);
}

Result<std::string> events_text(Records& records, JobSeq seq) {
  TRY(const auto events, records.events(0, seq, 0));
  std::string text;
  for (const auto& event : events) text += server::event_json(event) + "\n";
  return text;
}

/// Lines about the job, and all complaints.
std::string server_lines(const std::string& home, const std::string& id) {
  const auto log = fs::read_file(home + "/server.log", kLargest);
  if (!log) return to_line(log.error());
  std::vector<std::string> lines;
  for (const auto line : split(*log, '\n'))
    if (line.find(id) != line.npos || line.find(" warn ") != line.npos ||
        line.find(" error ") != line.npos)
      lines.emplace_back(line);
  if (lines.size() > kServerLines) lines.erase(lines.begin(), lines.end() - kServerLines);
  return join(lines, "\n");
}

bool is_log(std::string_view name) {
  return name.ends_with(".out") || name.ends_with(".err") || name == "setup.log";
}

/// The supervisor's own files, and the ends of logs.
void add_files(Writing& bundle, const std::string& job_dir, bool has_logs) {
  std::size_t logs = 0;
  for (const auto& attempt : fs::entries(job_dir)) {
    if (!attempt.starts_with('a')) continue;
    for (const auto& node : fs::entries(job_dir + "/" + attempt)) {
      const auto dir = fmt::format("{}/{}", attempt, node);
      for (const auto& name : fs::entries(job_dir + "/" + dir)) {
        const auto path = fmt::format("{}/{}/{}", job_dir, dir, name);
        if (name.ends_with(".json"))
          bundle.add(dir + "/" + name, pretty(fs::read_file(path).value_or("")));
        else if (has_logs && is_log(name) && logs++ < kLogs)
          bundle.add(dir + "/" + name, tail_of(path));
      }
    }
  }
}

}  // namespace

Result<Bundle> make_bundle(const Paths& paths, const BundleWish& wish) {
  const auto& home = paths.state;
  TRY(const auto records, open_records(home + "/store.db"));
  TRY(const auto seq, records->resolve(wish.job));
  TRY(const auto detail, records->detail(seq));
  const auto id = detail.job.id.str();
  Writing bundle;
  bundle.add("Machine", machine_text(home));
  bundle.add("Job", pretty(server::job_json(detail, {})));
  TRY(const auto events, events_text(*records, seq));
  bundle.add("Events", events);
  bundle.add("Server", server_lines(home, id));
  add_files(bundle, home + "/jobs/" + id, wish.has_logs);
  const auto head = fmt::format(
      "# muster bundle of job {}\n\nTaken at {}. Values that look secret are taken out; read it "
      "before you send it.\n\n",
      id, to_rfc3339(WallTime{fs::walltime_us()}));
  const auto known = secrets_of(home, detail.spec);
  return Bundle{.id = id, .text = head + safe(redacted(bundle.text_, known))};
}

}  // namespace muster
