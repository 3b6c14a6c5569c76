#include "edge/kube/resource.hpp"

#include <fmt/core.h>

#include "edge/http/message.hpp"

namespace muster::kube {
namespace {

using http::percent_encoded;

std::string base_of(const Resource& resource, const std::string& space) {
  std::string path = resource.group.empty()
                         ? fmt::format("/api/{}", percent_encoded(resource.version))
                         : fmt::format("/apis/{}/{}", percent_encoded(resource.group),
                                       percent_encoded(resource.version));
  if (!space.empty()) path += fmt::format("/namespaces/{}", percent_encoded(space));
  return fmt::format("{}/{}", path, percent_encoded(resource.plural));
}

}  // namespace

std::string path_of(const ObjectRef& object) {
  std::string path =
      fmt::format("{}/{}", base_of(object.resource, object.space), percent_encoded(object.name));
  if (!object.part.empty()) path += fmt::format("/{}", percent_encoded(object.part));
  return path;
}

std::string path_of(const Collection& collection) {
  return base_of(collection.resource, collection.space);
}

std::string to_text(const ObjectRef& object) {
  const auto space = object.space.empty() ? "" : fmt::format("{}/", object.space);
  const auto part = object.part.empty() ? "" : fmt::format(" ({})", object.part);
  return fmt::format("{} {}{}{}", object.resource.plural, space, object.name, part);
}

std::string to_text(const Collection& collection) {
  if (collection.space.empty()) return collection.resource.plural;
  return fmt::format("{} in {}", collection.resource.plural, collection.space);
}

}  // namespace muster::kube
