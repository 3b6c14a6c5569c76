/// The job's code on its way into a pod: from a bundle in a Secret, from a stream that somebody
/// sends into the pod, or from a store. Blocks; for a process of its own.
#pragma once
#include <string>

#include "app/agent/places.hpp"
#include "base/error.hpp"
#include "base/time.hpp"
#include "core/model/plan.hpp"

namespace muster::agent {

/// Restores the plan's snapshot into `into`, which is made anew. `plan.store` names where it may
/// be, one address a line, tried in order: `bundle:///FILE`, `stream:///DIR` (waited for,
/// `patience` long), or a store's. Empty: the Secret when it is there, else the stream.
Result<> take_code(const FolderPlan& plan, const Places& places, const std::string& into,
                   Duration patience);

/// Reads a bundle from `fd` into the store at `dir`. When not a byte comes, waits until somebody
/// else has brought one there. Gives the snapshot's id.
Result<std::string> receive_code(int fd, const std::string& dir, Duration patience);

}  // namespace muster::agent
