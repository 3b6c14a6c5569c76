#include "app/server/machine_config.hpp"

#include "edge/fs/files.hpp"
#include "edge/node/probe.hpp"

namespace muster::server {

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
    if (profile.kind != "local") continue;
    for (auto& node : node::machine_nodes(machine, profile)) {
      node.cluster = name;
      view.nodes.push_back(std::move(node));
    }
  }
  return view;
}

}  // namespace muster::server
