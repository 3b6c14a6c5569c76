/// The job's code over the network: from the server, or from the first node of the attempt, which
/// has it already. The two sides of edge/http/code_door. Blocks; for a process of its own.
#pragma once
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/time.hpp"
#include "base/unique_fd.hpp"
#include "core/tree/entry.hpp"

namespace muster::agent {

/// Where the first node gives out what came to it.
inline constexpr int kCodePort = 29498;

struct CodeSource {
  std::string host;
  int port = kCodePort;
  std::string token;
  tree::Hash snapshot;
};

/// Of "http://HOST:PORT".
Result<CodeSource> source_at(std::string_view address, std::string token, const tree::Hash& id);

/// The bundle in a file without a name, on the disk of `folder`, at its beginning. What is in it is
/// not looked at. `denied` when the other side does not know the token, `unavailable` when it may
/// work later.
Result<UniqueFd> pull_once(const CodeSource& source, const std::string& folder);
/// The same, again and again. A server that has just come may not know its attempts yet, so a
/// refusal counts when it has lasted for half a minute.
Result<UniqueFd> pull(const CodeSource& source, const std::string& folder, Duration patience);

struct Serving {
  std::string store;   // folder of the store that has the snapshot
  std::string folder;  // for the bundle, while somebody wants it
  tree::Hash snapshot;
  std::string token;
  int port = kCodePort;
};
/// Gives it out until the process is killed. Returns only when it cannot.
Result<> serve_code(const Serving& serving);

}  // namespace muster::agent
