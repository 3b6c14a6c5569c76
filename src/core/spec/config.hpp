/// Profiles: where jobs go and what they get by default (docs/reference/profiles.md). Layers, the
/// strongest first: flag, environment, the project's muster.yaml, the user's config.yaml, what a
/// profile's `_base_` says, built in. Every value keeps where it came from.
/// Pure functions over texts: reading files is the caller's. Any thread.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "core/model/job_spec.hpp"
#include "core/model/plan.hpp"
#include "core/spec/yaml.hpp"

namespace muster::spec {

enum class Layer : std::uint8_t { flag, environment, project, user, base, built_in };

struct Origin {
  Layer layer = Layer::built_in;
  std::string place;  // "muster.yaml:3:5", "MUSTER_QUEUE", "--cluster"; empty when built in
};
/// "muster.yaml:3:5", "environment MUSTER_QUEUE", "flag --cluster", "built in".
std::string to_text(const Origin& origin);

/// Nodes of one kind, as a profile names them. What is absent is taken from the machine.
struct NodeGroup {
  std::string name;
  int count = 1;
  std::optional<MilliCpus> cpus;
  std::optional<Bytes> memory;
  std::optional<int> gpus;
  std::map<std::string, std::string> labels;
  bool is_spot = false;
};

/// A profile as it stands when every layer has spoken.
struct Profile {
  std::string name = "local";
  std::string kind = "local";
  std::vector<NodeGroup> nodes;  // empty: this machine is one node
  Environment env;
  std::string queue = "default";
  int priority = 0;
  std::optional<int> gpus;
  std::optional<int> gpus_per_node;
  Duration time_limit{0};
  Duration grace{std::chrono::seconds(30)};
  Retries retries;
  bool runs_here = false;  // code: here
  std::string setup;
  std::string requirements;
  Keep keep = Keep::all;
  // Of kind kube.
  std::string context;                               // of the kubeconfig
  std::string kubeconfig;                            // its path; empty: where kubectl finds it
  Duration patience{std::chrono::minutes(5)};        // with an image or a Secret that is not there
  Duration gang_patience{std::chrono::minutes(10)};  // with a gang that is placed in part
  PodSettings pod;                                   // empty image and shm: not said
};

/// One value of one layer. `key` is "queue", "env.NAME", "retries.user", "nodes", ...
struct Setting {
  std::string key;
  std::string value;
  Origin origin;
  std::vector<NodeGroup> nodes;  // of the key "nodes"
};

struct ConfigFile {
  std::string path;  // as messages name it
  std::string text;
};

struct ConfigSources {
  std::optional<ConfigFile> user;
  std::optional<ConfigFile> project;
  Environment env;
  std::optional<std::string> cluster;  // --cluster
};

/// What one file says about one profile.
struct ProfileLayer {
  std::string profile;
  std::optional<std::string> base;
  Origin origin;
  std::vector<Setting> settings;
};

/// Everything that was said, checked but not yet weighed.
struct Config {
  std::vector<Setting> defaults;       // who says which profile is the default, strongest first
  std::vector<Setting> environment;    // MUSTER_<KEY>
  std::vector<ProfileLayer> profiles;  // project's first, then the user's
  std::vector<std::string> warnings;
};

Result<Config> read_config(const ConfigSources& sources);

/// The names of all profiles, "local" among them.
std::vector<std::string> profile_names(const Config& config);
/// The profile that `--cluster`, the environment or the files choose.
std::string chosen_profile(const Config& config);
/// All settings of a profile, for each key the winner first.
Result<std::vector<Setting>> settings_of(const Config& config, std::string_view profile);
Result<Profile> profile_of(const Config& config, std::string_view profile);

/// The environment's name for a key: "time_limit" -> "MUSTER_TIME_LIMIT".
std::string variable_of(std::string_view key);

}  // namespace muster::spec
