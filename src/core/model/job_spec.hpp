/// What a person asked for, resolved. Never changes after submit. Holds no environment values:
/// those live in a file of their own, named by `env_id` (docs/reference/home.md).
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "core/model/names.hpp"
#include "core/model/resources.hpp"

namespace muster {

/// Who gets notices and TERM: each rank's main process, its process group, or all processes.
enum class SignalTo : std::uint8_t { main, group, all };
template <>
std::span<const Named<SignalTo>> names<SignalTo>();

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
  std::string dir;     // the job runs here, in place
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
  // How the submitter's shell would have started it.
  int umask = 022;
  int nice = 0;
  std::map<std::string, std::int64_t> limits;  // soft limits: nofile, core, stack, ...
};

}  // namespace muster
