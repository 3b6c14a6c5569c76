/// A container's log, line by line, exactly once each: followed across lost connections and server
/// restarts, until the container has ended and its last line is read. Runs on the Api's thread.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "edge/kube/api.hpp"

namespace muster::kube {

struct LogSource {
  std::string space;
  std::string pod;
  std::string container;  // empty: the only one
};

enum class Until { now, end };  // what is there; or all there will be

struct LogOptions {
  Until until = Until::end;
  bool is_previous = false;                    // of the container's last life
  std::optional<std::int64_t> tail;            // the last lines only
  std::string since;                           // RFC 3339: from that second on
  Duration silence = std::chrono::minutes(5);  // a quiet stream is opened anew after this long
};

struct LogLine {
  std::string_view time;  // RFC 3339 with nanoseconds, as the container's runtime noted it
  std::string_view text;  // without its newline
  bool has_newline = true;
};

/// False stops.
using OnLogLine = std::function<bool(const LogLine& line)>;

/// The pod's disappearance is the end as well. A container that has not started yet is waited for
/// when all is wanted.
ApiResult<> read_log(Api& api, const LogSource& source, const LogOptions& options,
                     const OnLogLine& on_line);

}  // namespace muster::kube
