/// Names of what an attempt is made of on Kubernetes. They follow from job, home and attempt alone,
/// so that creating again after a crash finds what is there. Pure; any thread.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "core/model/job.hpp"

namespace muster::render {

using Labels = std::map<std::string, std::string>;

constexpr const char* kHomeLabel = "muster.dev/home";
constexpr const char* kClusterLabel = "muster.dev/cluster";
constexpr const char* kPlaceLabel = "muster.dev/place";
constexpr const char* kJobLabel = "muster.dev/job";
constexpr const char* kAttemptLabel = "muster.dev/attempt";
constexpr const char* kUserLabel = "muster.dev/user";
constexpr const char* kNameLabel = "muster.dev/name";
/// On every pod until its end is committed here.
constexpr const char* kRecordFinalizer = "muster.dev/record";
constexpr int kMasterPort = 29500;

/// m-<8hex>-<home4>-<attempt>: the Job, its Service and the Secret with its plan.
std::string object_name(const AttemptRef& ref, std::string_view home_id);
/// The Secret with its code.
std::string code_name(const AttemptRef& ref, std::string_view home_id);
/// The pod of a node of the attempt, as the others reach it: <name>-<index>.<name>.
std::string peer_address(std::string_view object_name, int index);

/// What everything of an attempt carries; pods, Job, Service and Secrets alike.
Labels labels_of(const AttemptRef& ref, std::string_view home_id);
/// Selects everything of a home: "muster.dev/home=<uuid>".
std::string selector_of(std::string_view home_id);
/// And of one of its clusters: several profiles may name the same namespace, and one profile may
/// have named the same cluster in another way before.
std::string selector_of(std::string_view home_id, std::string_view cluster, std::string_view place);
/// Eight digits that stand for a kubeconfig and one of its contexts.
std::string place_of(std::string_view kubeconfig, std::string_view context);
/// The same for one attempt.
std::string selector_of(const AttemptRef& ref, std::string_view home_id);

/// The nearest text that may be the value of a label: at most 63 characters of [A-Za-z0-9._-],
/// letters or digits at both ends.
std::string label_value(std::string_view text);

}  // namespace muster::render
