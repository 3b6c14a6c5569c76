#include "core/spec/again.hpp"

#include "core/model/json.hpp"

namespace muster::spec {
namespace {

void add_size(SubmitOptions& options, const Request& request) {
  options.nodes = request.nodes;
  options.procs_per_node = request.procs_per_node;
  options.gpus = request.gpus_per_node * request.nodes;
  options.single = request.gpus_per_node > 1 && request.procs_per_node == 1;
}

SubmitOptions options_of(const JobSpec& spec) {
  SubmitOptions options;
  if (spec.shell && spec.command.size() == 3)
    options.shell = spec.command[2];
  else
    options.command = spec.command;
  options.cluster = spec.cluster;
  options.cpus =
      MilliCpus{spec.request.cpus_per_node.count / std::max(spec.request.procs_per_node, 1)};
  if (spec.request.memory_per_node.count > 0) options.memory = spec.request.memory_per_node;
  options.name = spec.name;
  options.priority = spec.priority;
  options.queue = spec.queue;
  if (!spec.experiment.empty()) options.experiment = spec.experiment;
  options.tags = spec.tags;
  options.time_limit = spec.time_limit;
  options.grace = spec.grace;
  options.retries = {.user = spec.retries.user,
                     .infrastructure = spec.retries.infrastructure,
                     .memory = spec.retries.memory,
                     .hang = spec.retries.hang};
  options.dir = spec.dir;
  options.signal_to = spec.signal_to;
  options.dataloader_workers = spec.dataloader_workers;
  options.keep = spec.keep;
  if (!spec.code.setup.empty()) options.setup = spec.code.setup;
  if (!spec.code.requirements.empty()) options.requirements = spec.code.requirements;
  return options;
}

bool says_size(const json::object& overrides) {
  for (const char* name : {"gpus", "nodes", "procs", "procs_per_node", "single"})
    if (field(overrides, name) != nullptr) return true;
  return false;
}

}  // namespace

Result<SubmitOptions> options_again(const JobSpec& spec, std::string_view overrides) {
  TRY(const auto parsed, parse_json(overrides));
  if (!parsed.is_object()) return fail(Kind::usage, "options are a JSON object");
  const auto& object = parsed.get_object();
  auto base = options_of(spec);
  if (!says_size(object)) add_size(base, spec.request);
  if (field(object, "command") != nullptr || field(object, "shell") != nullptr) {
    base.command.clear();
    base.shell.reset();
  }
  return submit_options_from_json(overrides, base);
}

}  // namespace muster::spec
