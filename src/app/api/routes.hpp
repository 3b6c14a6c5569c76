/// The one table of routes: the server matches with it, the client builds paths from it, and
/// docs/reference/api.md is its rendering. Pure; any thread.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace muster::api {

/// What a caller must be allowed to do.
enum class Access : std::uint8_t {
  read,    // look
  write,   // change jobs
  control  // change the server itself
};
std::string_view name_of(Access access);

struct Route {
  std::string_view name;     // what `Call::route` says
  std::string_view method;   // GET answers HEAD as well
  std::string_view pattern;  // "{id}" stands for one id
  Access access;
  std::string_view takes;  // content type of the body; empty: none
  std::string_view gives;  // content type of the answer
  std::string_view doc;
};

std::span<const Route> all_routes();
const Route* route_named(std::string_view name);

struct Match {
  const Route* route = nullptr;
  std::string id;  // decoded: any text that may name a job; empty when the pattern has none
};
/// Why nothing matches: 400, 404 or 405, an error that names the nearest route, and for 405 the
/// value of the Allow header.
struct Miss {
  int status = 404;
  Error error;
  std::string allow;
};
/// `path` as sent: its id is decoded here, once.
tl::expected<Match, Miss> match(std::string_view method, std::string_view path);

/// What a person may call a job by: an id, a part of one, a name. It is looked up, never used as a
/// path: files are found by the id the store has.
bool is_reference(std::string_view text);

/// The path of a route; `usage` when there is no such route, or the id does not suit it.
Result<std::string> path_for(std::string_view route, std::string_view id);

/// The table in Markdown.
std::string routes_markdown();

}  // namespace muster::api
