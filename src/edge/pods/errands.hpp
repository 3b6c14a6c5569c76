/// The calls that make wishes true. Each may be repeated at any time: names are deterministic, what
/// is there is no error, what is gone neither. Blocking; a worker's thread.
#pragma once
#include <string>
#include <vector>

#include "core/render/kube_job.hpp"
#include "core/render/names.hpp"
#include "edge/kube/api.hpp"
#include "edge/pods/board.hpp"

namespace muster::pods {

/// Secrets, Service and Job, in this order; then the Job owns the others.
kube::ApiResult<> create(kube::Api& api, const std::string& space,
                         const std::vector<render::Object>& objects);

/// No new pods, and the ones there are, seen or not, are told to end within the grace. False when
/// there is no Job.
kube::ApiResult<bool> stop(kube::Api& api, const std::string& space, const std::string& job,
                           Board& board, const std::string& why, int grace_seconds);

/// The pod's end is committed: it may go.
kube::ApiResult<> release(kube::Api& api, const std::string& space, const std::string& pod);

/// The Job with all it owns.
kube::ApiResult<> remove(kube::Api& api, const std::string& space, const std::string& job);

/// What stands there without a Job to own it: its Service and its Secrets.
kube::ApiResult<> remove_parts(kube::Api& api, const std::string& space, const std::string& job);

/// Asks for what the watches do not show of an attempt and tells the board: a row that a list did
/// not name, the Job, pods that nobody has seen. True when there is a Job.
kube::ApiResult<bool> seek(kube::Api& api, const std::string& space, const std::string& job,
                           Board& board);

/// Puts labels back that somebody took off.
kube::ApiResult<> relabel(kube::Api& api, const kube::ObjectRef& object,
                          const render::Labels& labels);

/// The newest warning about an object, in the cluster's words; empty when there is none.
kube::ApiResult<std::string> last_warning(kube::Api& api, const std::string& space,
                                          const std::string& object);

/// Whether an answer stays the same however often one asks: the request itself is refused.
bool is_final_refusal(const kube::ApiError& error);

}  // namespace muster::pods
