#include "edge/kube/watch_lines.hpp"

#include <array>
#include <optional>

#include "base/text.hpp"
#include "core/model/json.hpp"

namespace muster::kube {
namespace {

struct TypeName {
  std::string_view name;
  WatchType type;
};
constexpr std::array kTypes{
    TypeName{"ADDED", WatchType::added},     TypeName{"MODIFIED", WatchType::modified},
    TypeName{"DELETED", WatchType::deleted}, TypeName{"BOOKMARK", WatchType::bookmark},
    TypeName{"ERROR", WatchType::error},
};

std::optional<WatchType> type_of(std::string_view name) {
  for (const auto& row : kTypes)
    if (row.name == name) return row.type;
  return std::nullopt;
}

}  // namespace

Result<> WatchLines::take(std::string_view line, const OnEvent& on_event) {
  if (trimmed(line).empty()) return {};
  return scope_.with(line, [&](const json::object& event) -> Result<> {
    const auto type = type_of(text_at(event, "type"));
    const auto* object = field(event, "object");
    if (!type || object == nullptr || !object->is_object())
      return fail(Kind::corrupt, "the cluster sent a line that is no event of a watch");
    return on_event(*type, object->get_object());
  });
}

Result<> WatchLines::feed(std::string_view bytes, const OnEvent& on_event) {
  for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    const auto piece = bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    if (begun_.size() + piece.size() > longest_) break;
    if (begun_.empty()) {
      TRY_VOID(take(piece, on_event));
    } else {
      begun_ += piece;
      auto taken = take(begun_, on_event);
      begun_.clear();
      if (begun_.capacity() > 1U << 20) begun_.shrink_to_fit();
      TRY_VOID(taken);
    }
  }
  begun_ += bytes;
  if (begun_.size() > longest_)
    return fail(Kind::corrupt,
                fmt::format("a line of the watch is longer than {} bytes", longest_));
  return {};
}

}  // namespace muster::kube
