#include "app/server/machine_config.hpp"

#include <sys/stat.h>

#include "edge/fs/files.hpp"
#include "edge/node/probe.hpp"

namespace muster::server {

std::string MachineConfig::stamp() const {
  struct stat status{};
  if (::stat(file_.c_str(), &status) != 0) return "none";
  return fmt::format("{} {} {}.{}", status.st_ino, status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
}

Result<> MachineConfig::open() {
  stamp_ = stamp();
  TRY(auto view, read());
  view_ = std::make_shared<const MachineView>(std::move(view));
  return {};
}

std::shared_ptr<const MachineView> MachineConfig::current() {
  const std::lock_guard lock(mutex_);
  const auto now = stamp();
  if (now == stamp_) return view_;
  stamp_ = now;
  auto view = read();
  if (view)
    view_ = std::make_shared<const MachineView>(std::move(*view));
  else
    log_.error("the configuration cannot be read", {{"error", to_line(view.error())}});
  return view_;
}

Result<MachineView> MachineConfig::read() const {
  spec::ConfigSources sources;
  if (fs::exists(file_)) {
    TRY(auto text, fs::read_file(file_, 4U << 20));
    sources.user = spec::ConfigFile{file_, std::move(text)};
  }
  TRY(const auto config, spec::read_config(sources));
  TRY(const auto machine, node::probe_machine());
  MachineView view;
  TRY(view.profile, spec::profile_of(config, spec::chosen_profile(config)));
  for (const auto& name : spec::profile_names(config)) {
    TRY(const auto profile, spec::profile_of(config, name));
    view.profiles.push_back(profile);
    if (profile.kind != "local") {
      view.clusters.push_back(profile);
      continue;
    }
    for (auto& node : node::machine_nodes(machine, profile)) {
      node.cluster = name;
      view.nodes.push_back(std::move(node));
    }
  }
  return view;
}

}  // namespace muster::server
