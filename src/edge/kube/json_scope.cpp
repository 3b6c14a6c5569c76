#include "edge/kube/json_scope.hpp"

#include "core/model/json.hpp"

namespace muster::kube {
namespace {

constexpr std::size_t kMemory = 64 * 1024;  // most objects; larger ones take more for a moment

}  // namespace

JsonScope::JsonScope() : memory_(kMemory) {}

Result<> JsonScope::with(std::string_view text,
                         const std::function<Result<>(const json::object&)>& use) {
  json::monotonic_resource memory(memory_.data(), memory_.size());
  json::parse_options options;
  options.max_depth = 64;
  json::stream_parser parser(&memory, options);
  json::error_code error;
  parser.write({text.data(), text.size()}, error);
  if (!error) parser.finish(error);
  if (error)
    return fail(Kind::corrupt, fmt::format("the cluster sent no JSON: {}", error.message()));
  const auto value = parser.release();
  if (!value.is_object()) return fail(Kind::corrupt, "the cluster sent JSON that is no object");
  return use(value.get_object());
}

std::string_view version_of(const json::object& object) {
  return text_at(object_at(object, "metadata"), "resourceVersion");
}

const json::object& object_at(const json::object& object, std::string_view name) {
  static const json::object kNothing;
  const auto* value = field(object, name);
  return value != nullptr && value->is_object() ? value->get_object() : kNothing;
}

}  // namespace muster::kube
