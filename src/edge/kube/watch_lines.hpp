/// The bytes of a watch, taken apart: one JSON object a line. Pure; one thread.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "edge/kube/json_fwd.hpp"
#include "edge/kube/json_scope.hpp"

namespace muster::kube {

enum class WatchType : std::uint8_t { added, modified, deleted, bookmark, error };

class WatchLines {
 public:
  using OnEvent = std::function<Result<>(WatchType type, const boost::json::object& object)>;
  static constexpr std::size_t kLongestLine = 16U << 20;

  explicit WatchLines(std::size_t longest = kLongestLine) : longest_(longest) {}
  /// The first error, of a line or of `on_event`, ends it.
  Result<> feed(std::string_view bytes, const OnEvent& on_event);

 private:
  Result<> take(std::string_view line, const OnEvent& on_event);

  std::size_t longest_;
  std::string begun_;  // of a line whose end has not come
  JsonScope scope_;
};

}  // namespace muster::kube
