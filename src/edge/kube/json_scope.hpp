/// JSON that lives for the length of a call, in memory that is taken once and reused: lists and
/// watches see many objects and keep none. One thread. Internal to this folder.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "edge/kube/json_fwd.hpp"

namespace muster::kube {

class JsonScope {
 public:
  JsonScope();
  /// Calls `use` with the object that `text` is; anything else is `corrupt`.
  Result<> with(std::string_view text,
                const std::function<Result<>(const boost::json::object&)>& use);

 private:
  std::vector<unsigned char> memory_;
};

/// metadata.resourceVersion; empty when there is none.
std::string_view version_of(const boost::json::object& object);
/// The object below a name; an empty one when there is none.
const boost::json::object& object_at(const boost::json::object& object, std::string_view name);

}  // namespace muster::kube
