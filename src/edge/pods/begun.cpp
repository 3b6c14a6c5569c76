#include "edge/pods/begun.hpp"

#include <algorithm>

#include "edge/fs/files.hpp"

namespace muster::pods {

Begun::Begun(const std::string& home, const std::string& place) {
  auto name = place;
  std::replace(name.begin(), name.end(), '/', '_');
  dir_ = home + "/kube/" + name;
}

/// What cannot be noted is launched all the same: at worst a Secret stays.
void Begun::add(const std::string& name) const {
  if (fs::make_dirs(dir_)) (void)fs::write_whole(dir_ + "/" + name, "");
}

void Begun::remove(const std::string& name) const { (void)fs::remove_file(dir_ + "/" + name); }

std::vector<std::string> Begun::names() const { return fs::entries(dir_); }

}  // namespace muster::pods
