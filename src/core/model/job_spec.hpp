/// What a person asked for, resolved. Never changes after submit. Holds no environment values:
/// those live in a file of their own, named by `env_id` (docs/reference/home.md).
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "core/model/names.hpp"
#include "core/model/pod_settings.hpp"
#include "core/model/resources.hpp"

namespace muster {

/// Who gets notices and TERM: each rank's main process, its process group, or all processes.
enum class SignalTo : std::uint8_t { main, group, all };
template <>
std::span<const Named<SignalTo>> names<SignalTo>();

/// What of a job's folder stays when it has ended: all it wrote, its outputs only, or nothing.
enum class Keep : std::uint8_t { all, outputs, none };
template <>
std::span<const Named<Keep>> names<Keep>();

/// The code a job runs: a snapshot, and where it was taken. Without an id it runs in place.
struct Code {
  std::string snapshot;            // id of the tree, 64 hex digits; empty: in place
  std::string top;                 // the folder that was taken
  std::string below;               // the working folder inside it; empty: its top
  std::vector<std::string> links;  // names at the top that were left out and are linked instead
  std::string setup;               // shell text, run once for each content on a node
  std::string requirements;        // a file of it: what its Python environment must have
  std::string commit;              // of git, when it was known
  std::string branch;
  int dirty = -1;  // files that differed from the commit; -1: not known
};

/// How often an attempt may be repeated, by budget. Eviction has no limit.
struct Retries {
  int user = 0;
  int memory = 0;
  int hang = 1;
  int infrastructure = 5;
  auto operator<=>(const Retries&) const = default;
};

struct JobSpec {
  std::vector<std::string> command;
  bool shell = false;  // command is {sh, -c, text}
  std::string dir;     // the folder it was submitted for
  Code code;
  Keep keep = Keep::all;
  std::string name;
  std::string user;
  std::string cluster = "local";
  std::string queue = "default";
  std::string experiment;
  std::map<std::string, std::string> tags;
  int priority = 0;
  Request request;
  Retries retries;
  Duration time_limit{0};  // 0: none
  Duration grace{std::chrono::seconds(30)};
  SignalTo signal_to = SignalTo::main;
  int dataloader_workers = 0;
  std::string env_id;                  // names the file that holds the whole environment
  std::vector<std::string> env_names;  // variables given explicitly, names only
  std::string parent;                  // the job that submitted this one
  std::string key;                     // one key, one job (scope: user)
  std::string request_hash;            // what a repeated key must agree with
  std::optional<PodSettings> pod;      // of a job on Kubernetes
  // How the submitter's shell would have started it.
  int umask = 022;
  int nice = 0;
  std::map<std::string, std::int64_t> limits;  // soft limits: nofile, core, stack, ...
};

}  // namespace muster
