/// What a person may say about one job, each absent unless said. One table of fields feeds the
/// flags of submit and run, their help, and the JSON of --from and POST. Pure; any thread.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "core/model/job_spec.hpp"

namespace muster::spec {

/// Budgets that were named; the others keep the profile's.
struct RetriesAsked {
  std::optional<int> user;
  std::optional<int> infrastructure;
  std::optional<int> memory;
  std::optional<int> hang;
};

struct SubmitOptions {
  std::vector<std::string> command;
  std::optional<std::string> shell;
  std::optional<std::string> cluster;
  std::optional<int> gpus;
  std::optional<int> nodes;
  std::optional<int> procs_per_node;
  std::optional<int> procs;
  bool single = false;
  std::optional<MilliCpus> cpus;  // per process
  std::optional<Bytes> memory;    // per node
  std::optional<std::string> name;
  std::optional<int> priority;
  std::optional<std::string> queue;
  std::optional<std::string> experiment;
  std::map<std::string, std::string> tags;
  std::optional<Duration> time_limit;
  std::optional<Duration> grace;
  RetriesAsked retries;
  /// In the order given; without a value: the submitter's own.
  std::vector<std::pair<std::string, std::optional<std::string>>> env;
  std::optional<std::string> key;
  bool here = false;
  bool allow_racy = false;
  std::optional<std::string> snapshot;  // this one, instead of what stands in the folder
  std::optional<Keep> keep;
  std::optional<std::string> setup;
  std::optional<std::string> requirements;
  std::optional<std::string> dir;
  std::optional<SignalTo> signal_to;
  std::optional<int> dataloader_workers;
  std::optional<std::string> image;  // of a cluster of kind kube
  std::optional<Spot> spot;
};

struct SubmitField {
  std::string_view flag;   // "procs-per-node"
  std::string_view field;  // "procs_per_node", its name in JSON
  char letter;             // 0: none
  std::string_view value;  // "N"; "" is a flag
  std::string_view group;
  bool repeats;
  std::string_view text;
  /// Reads the text of a flag or of a JSON scalar; a flag's text is "true" or "false".
  Result<> (*set)(SubmitOptions&, std::string_view text);
};

std::span<const SubmitField> submit_fields();
/// Sets by flag name; the error names the flag.
Result<> set_by_flag(SubmitOptions& options, std::string_view flag, std::string_view text);

/// One job as JSON (`command` or `shell` is the only required field; fields have the flags' names).
/// Unknown fields are errors with the nearest known one; bytes that are not UTF-8 are
/// {"b64":"..."}.
/// What the text does not say is taken from `defaults`.
Result<SubmitOptions> submit_options_from_json(std::string_view text,
                                               const SubmitOptions& defaults = {});
/// The same job as JSON, for sending: reading it back gives equal options.
std::string to_json(const SubmitOptions& options);

}  // namespace muster::spec
