#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "app/cli/changes_text.hpp"
#include "app/cli/output.hpp"
#include "app/cli/own_snapshots.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "core/model/json.hpp"
#include "core/model/states.hpp"
#include "edge/fs/files.hpp"
#include "edge/fs/links.hpp"
#include "edge/process/node_setup.hpp"
#include "edge/tree/manifest_read.hpp"

namespace muster {
namespace {

/// Which attempt on which of its nodes.
struct Place {
  std::int64_t attempt = 0;
  std::size_t node = 0;
};

/// A number that was asked for; the error tells which there are.
Result<std::int64_t> number_of(const Parsed& parsed, std::string_view name, std::int64_t low,
                               std::int64_t high) {
  auto number = parse_whole(*parsed.value(name), low, high);
  if (!number)
    number.error().fix.push_back(low == high
                                     ? fmt::format("leave --{} out: there is one only", name)
                                     : fmt::format("--{} {} to {}", name, low, high));
  return number;
}

Result<const json::object*> attempt_of(const json::object& job, const Parsed& parsed) {
  const auto& attempts = list_at(job, "attempts");
  if (attempts.empty())
    return fail(Kind::not_found,
                fmt::format("job {} has not started yet", printable(text_at(job, "id"))),
                "why it waits: muster why ID");
  if (!parsed.has("attempt")) return &attempts.back().as_object();
  TRY(const auto n, number_of(parsed, "attempt", 1, std::ssize(attempts)));
  return &attempts[static_cast<std::size_t>(n - 1)].as_object();
}

Result<Place> place_of(const json::object& job, const Parsed& parsed) {
  TRY(const auto* attempt, attempt_of(job, parsed));
  Place place{.attempt = number_at(*attempt, "n")};
  if (!parsed.has("rank")) return place;
  std::vector<std::int64_t> ranks;
  std::int64_t all = 0;
  for (const auto& count : list_at(*attempt, "ranks_per_node"))
    all += ranks.emplace_back(count.is_int64() ? count.get_int64() : 0);
  TRY(auto rank, number_of(parsed, "rank", 0, std::max<std::int64_t>(all, 1) - 1));
  while (place.node < ranks.size() && rank >= ranks[place.node]) rank -= ranks[place.node++];
  return place;
}

tl::unexpected<Error> no_folder(const json::object& job, const Place& place) {
  const auto id = printable(text_at(job, "id"));
  const auto keep = text_at(job, "keep");
  const auto state = named<JobState>(text_at(job, "state"));
  if (!state || !is_final(*state))
    return fail(Kind::not_found,
                fmt::format("attempt {} of job {} has no folder yet", place.attempt, id),
                "repeat it when the job runs");
  if (keep == "all")
    return fail(Kind::not_found,
                fmt::format("the folder of attempt {} of job {} is gone", place.attempt, id),
                "it may have ended before it had one: muster why ID");
  return fail(Kind::not_found,
              fmt::format("what job {} wrote into its folder was not kept: keep is {}", id, keep),
              "submit with --keep all to look at it afterwards");
}

std::string attempt_folder(const Context& context, const json::object& job, const Place& place) {
  return fmt::format("{}/jobs/{}/a{}/n{}", context.paths.state, text_at(job, "id"), place.attempt,
                     place.node);
}

Result<snapshot::JobTree> tree_of(const Context& context, const json::object& job,
                                  const Place& place) {
  const auto* code = field(job, "code");
  const auto empty = json::object();
  const auto& facts = code != nullptr && code->is_object() ? code->get_object() : empty;
  const auto* top_field = field(facts, "top");
  TRY(const auto top, top_field == nullptr ? Result<std::string>("") : bytes_from_json(*top_field));
  auto name = top.substr(top.rfind('/') + 1);
  if (name.empty()) name = "code";
  auto tree = snapshot::find_job_tree(attempt_folder(context, job, place), name);
  if (!tree) return no_folder(job, place);
  for (const auto& link : list_at(facts, "links")) {
    TRY(const auto link_name, bytes_from_json(link));
    tree->links.emplace_back(link_name, top + "/" + link_name);
  }
  return std::move(*tree);
}

/// What the set-up wrote is not the job's: then the tree it made is what the job began with.
Result<std::string> prepared_tree(Context& context, const json::object& job, const Place& place) {
  const auto* code = field(job, "code");
  const auto* setup = code == nullptr ? nullptr : field(code->as_object(), "setup");
  if (setup == nullptr) return std::string();
  TRY(const auto text, bytes_from_json(*setup));
  if (text.empty()) return std::string();
  auto tree = fs::link_target(attempt_folder(context, job, place) + "/" + process::kSetupTree);
  if (!tree.empty() && fs::exists(tree)) return tree;
  warn(context, "the tree that the set-up made is gone: what the set-up wrote is shown as well");
  return std::string();
}

/// Without paths everything; else these, and what lies in them.
bool is_asked(const std::string& path, const std::vector<std::string>& paths,
              std::set<std::string>& met) {
  const auto asked = std::find_if(paths.begin(), paths.end(), [&](const std::string& one) {
    return path == one || path.starts_with(one + "/");
  });
  if (asked != paths.end()) met.insert(*asked);
  return paths.empty() || asked != paths.end();
}

/// A path that did not change may as well be mistyped.
Result<> warn_of_unknown(Context& context, snapshot::Chunks& chunks, const tree::Hash& id,
                         const std::vector<std::string>& paths, std::set<std::string>& met) {
  if (met.size() == std::set(paths.begin(), paths.end()).size()) return {};
  TRY_VOID(snapshot::read_manifest(chunks, id, [&](const tree::Entry& entry) -> Result<> {
    (void)is_asked(entry.path, paths, met);
    return {};
  }));
  for (const auto& path : paths)
    if (!met.contains(path))
      warn(context, fmt::format("the job had no {}, and made none", printable(path)));
  return {};
}

/// Paths as the snapshot has them: "./a/" is "a".
std::vector<std::string> plain_paths(const Parsed& parsed) {
  std::vector<std::string> paths;
  for (auto path : std::vector(parsed.operands.begin() + 1, parsed.operands.end())) {
    while (path.starts_with("./")) path.erase(0, 2);
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    if (path == "." || path.empty()) return {};
    paths.push_back(std::move(path));
  }
  return paths;
}

Result<UniqueFd> open_folder(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno(fmt::format("cannot open {}", printable(path)), errno);
  return fd;
}

Result<int> run(Context& context, const Parsed& parsed) {
  if (parsed.operands.empty())
    return fail(Kind::usage, "diff needs a job",
                "muster diff ID [PATH...]; two snapshots: muster snapshot diff A B");
  TRY(const auto code, code_of_job(context, parsed.operands.front()));
  TRY(const auto document, parse_json(code.text));
  const auto& job = document.as_object();
  TRY(const auto place, place_of(job, parsed));
  TRY(auto tree, tree_of(context, job, place));
  TRY(tree.prepared, prepared_tree(context, job, place));
  TRY(const auto store, OwnSnapshots::open(context));
  TRY(const auto top, open_folder(tree.folder));
  UniqueFd prepared;
  if (!tree.prepared.empty()) {
    TRY(prepared, open_folder(tree.prepared));
  }
  const ChangeSources sources{store->chunks(), prepared.get(), top.get()};
  const auto paths = plain_paths(parsed);
  std::set<std::string> met;  // of these paths, those that changed
  ChangePrinter printer(context, parsed.has("patch") ? ChangeStyle::patch : ChangeStyle::names);
  TRY_VOID(within(snapshot::job_changes(store->chunks(), code.snapshot, tree,
                                        [&](const snapshot::FolderChange& change) -> Result<> {
                                          if (!is_asked(change.path(), paths, met)) return {};
                                          return printer.add(change_of(change, sources));
                                        }),
                  printable(tree.folder)));
  TRY_VOID(warn_of_unknown(context, store->chunks(), code.snapshot, paths, met));
  TRY_VOID(
      printer.finish(fmt::format(R"("job":"{}","attempt":{},"node":{},"snapshot":"{}")", code.job,
                                 place.attempt, place.node, tree::to_hex(code.snapshot))));
  return 0;
}

}  // namespace

Verb verb_diff() {
  return {
      .name = "diff",
      .aliases = {},
      .group = "Code",
      .summary = "Show what a job changed in its folder",
      .usage = "diff [options] ID [PATH...]",
      .operands = Operands::some,
      .options =
          {{.name = "patch", .letter = 'p', .text = "the differences of text files, as a patch"},
           {.name = "rank", .letter = 'r', .value = "R", .text = "on the node of this rank (0)"},
           {.name = "attempt", .value = "K", .text = "of this attempt (the last)"}},
      .run = run};
}

}  // namespace muster
