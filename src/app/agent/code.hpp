/// The job's code on its way into a pod: from a bundle in a Secret, from a stream that somebody
/// sends into the pod, from a server, or from a store. Blocks; for a process of its own.
#pragma once
#include <optional>
#include <string>

#include "app/agent/places.hpp"
#include "app/agent/pull.hpp"
#include "base/error.hpp"
#include "base/time.hpp"
#include "core/model/plan.hpp"
#include "core/tree/entry.hpp"

namespace muster::agent {

Result<tree::Hash> snapshot_of(const FolderPlan& plan);

/// Restores the plan's snapshot into `into`, which is made anew. `plan.store` names where it may
/// be, one address a line, tried in order: `bundle:///FILE`, `stream:///DIR` (waited for,
/// `patience` long), `http://HOST:PORT` of a server (asked for as long), or a store's. Empty: the
/// Secret when it is there, else the stream.
Result<> take_code(const FolderPlan& plan, const Places& places, const std::string& into,
                   Duration patience);

struct Receiving {
  std::string dir;
  tree::Hash id;
  Duration patience = std::chrono::minutes(10);
  std::optional<CodeSource> peer;  // who may have it, and is asked meanwhile
};
/// The snapshot in the store at `dir`: it may be there already; else a bundle of it is read from
/// `fd`. When not a byte comes, waits until somebody else has brought it there, or the peer has it.
Result<> receive_code(int fd, const Receiving& order);

/// Whether it is to come into the store at `Places::stream` by somebody's doing.
bool is_streamed(const FolderPlan& plan, const Places& places);

}  // namespace muster::agent
