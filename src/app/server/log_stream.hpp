/// One request for a job's log: ranks, attempts, streams, followed or not. Reads files on readers'
/// threads and holds back when the peer is slow. Frames are "ATTEMPT RANK STREAM LENGTH\n" + bytes.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/server/office.hpp"
#include "edge/logs/tail.hpp"

namespace muster::server {

struct LogWish {
  std::string job;             // what was typed
  std::optional<int> rank;     // absent: all
  std::optional<int> attempt;  // absent: the last, and those that come when followed
  bool all_attempts = false;
  bool out = true;
  bool err = true;
  bool setup = false;  // of the nodes' set-up instead of ranks
  bool follow = false;
  bool framed = false;
  std::optional<std::size_t> tail;  // last lines only
};

Result<LogWish> log_wish(const http::Request& request, std::string id);

/// Answers the request; an unknown job is an error, not an empty log.
void serve_log(Office& office, const Ask& ask, LogWish wish);

}  // namespace muster::server
