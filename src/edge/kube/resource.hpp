/// Which objects of the API are meant, and the paths that name them. Pure; any thread.
#pragma once
#include <string>
#include <string_view>

namespace muster::kube {

/// A kind of objects, by its place in the API: group "" is the core group.
struct Resource {
  std::string group;
  std::string version;
  std::string plural;
  auto operator<=>(const Resource&) const = default;
};

inline Resource pods() { return {"", "v1", "pods"}; }
inline Resource nodes() { return {"", "v1", "nodes"}; }
inline Resource events() { return {"", "v1", "events"}; }
inline Resource secrets() { return {"", "v1", "secrets"}; }
inline Resource services() { return {"", "v1", "services"}; }
inline Resource config_maps() { return {"", "v1", "configmaps"}; }
inline Resource namespaces() { return {"", "v1", "namespaces"}; }
inline Resource jobs() { return {"batch", "v1", "jobs"}; }

/// One object: empty `space` for kinds without a namespace. `part` is a subresource ("status").
struct ObjectRef {
  Resource resource;
  std::string space;
  std::string name;
  std::string part = {};
};

/// All objects of a kind, in one namespace or (empty) in all of them.
struct Collection {
  Resource resource;
  std::string space = {};
};

/// "/api/v1/namespaces/default/pods/a/log", every part escaped.
std::string path_of(const ObjectRef& object);
std::string path_of(const Collection& collection);
/// "pods default/a", for messages.
std::string to_text(const ObjectRef& object);
std::string to_text(const Collection& collection);

}  // namespace muster::kube
