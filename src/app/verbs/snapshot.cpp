#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "app/api/start.hpp"
#include "app/cli/changes_text.hpp"
#include "app/cli/output.hpp"
#include "app/cli/own_snapshots.hpp"
#include "app/cli/prune.hpp"
#include "app/cli/snapshot_lists.hpp"
#include "base/text.hpp"
#include "core/model/json.hpp"
#include "edge/fs/files.hpp"
#include "edge/fs/remove_tree.hpp"
#include "edge/tree/restore.hpp"
#include "edge/tree/verify.hpp"

namespace muster {
namespace {

constexpr int kDifferent = 1;  // as diff(1) ends

Result<int> list(Context& context, const Parsed&, std::span<const std::string>) {
  TRY(const auto store, OwnSnapshots::open(context));
  TRY_VOID(print_snapshots(context, *store));
  return 0;
}

Result<int> show(Context& context, const Parsed&, std::span<const std::string> words) {
  TRY(const auto store, OwnSnapshots::open(context));
  TRY(const auto id, store->find(words[0]));
  if (words.size() == 2)
    TRY_VOID(print_path(context, *store, id, words[1]));
  else
    TRY_VOID(print_entries(context, *store, id));
  return 0;
}

Result<int> diff(Context& context, const Parsed& parsed, std::span<const std::string> words) {
  TRY(const auto store, OwnSnapshots::open(context));
  TRY(const auto before, store->find(words[0]));
  TRY(const auto after, store->find(words[1]));
  ChangePrinter printer(context, parsed.has("patch") ? ChangeStyle::patch : ChangeStyle::sizes);
  TRY_VOID(snapshot::diff(store->chunks(), before, after, [&](const snapshot::Change& change) {
    return printer.add(change_of(change, store->chunks()));
  }));
  TRY_VOID(printer.finish(
      fmt::format(R"("before":"{}","after":"{}")", tree::to_hex(before), tree::to_hex(after))));
  return printer.count() == 0 ? 0 : kDifferent;
}

/// In a folder as long as it is filled: killed in the middle, the next try knows that all in it may
/// go.
constexpr const char* kUnderWay = ".muster-checkout-under-way";

void empty(const std::string& dir) {
  for (const auto& name : fs::entries(dir)) fs::remove_tree(dir + "/" + name);
}

/// Makes the folder, or takes an empty one, and marks it. Tells whether it was made.
Result<bool> take_empty_folder(const std::string& dir) {
  struct stat about{};
  const bool is_there = ::stat(dir.c_str(), &about) == 0;
  if (is_there && !S_ISDIR(about.st_mode))
    return fail(Kind::conflict, fmt::format("{} is no folder", printable(dir)),
                "name one that is not there yet");
  if (is_there && fs::exists(dir + "/" + kUnderWay)) empty(dir);
  if (is_there && !fs::entries(dir).empty())
    return fail(Kind::conflict, fmt::format("{} is not empty", printable(dir)),
                "name an empty folder, or one that is not there yet");
  if (!is_there) TRY_VOID(fs::make_dirs(dir, 0777));
  TRY_VOID(fs::write_whole(dir + "/" + kUnderWay, ""));
  return !is_there;
}

Result<int> checkout(Context& context, const Parsed&, std::span<const std::string> words) {
  TRY(const auto store, OwnSnapshots::open(context));
  TRY(const auto id, store->find(words[0]));
  const auto& dir = words[1];
  TRY_VOID(store->chunks().get_root(id));  // no folder is made for nothing
  TRY(const bool is_made, take_empty_folder(dir));
  auto restored = snapshot::restore(store->chunks(), id, dir);
  if (restored) restored = fs::remove_file(dir + "/" + kUnderWay);
  if (!restored) {
    // It was empty: all that is in it now is a part of what was wanted.
    empty(dir);
    if (is_made) ::rmdir(dir.c_str());
    return tl::unexpected<Error>(restored.error());
  }
  say(context, fmt::format("snapshot {} is in {}", tree::to_hex(id), printable(dir)));
  return 0;
}

std::string record_of(const snapshot::Verified& found, bool is_repaired) {
  json::array faults;
  for (const auto& fault : found.faults)
    faults.push_back(json::object{{"name", bytes_to_json(fault.name)},
                                  {"kind", fault.is_pack   ? "pack"
                                           : fault.is_tree ? "snapshot"
                                                           : "file"},
                                  {"what", bytes_to_json(fault.what)}});
  return json::serialize(json::object{{"schema", 1},
                                      {"packs", found.packs},
                                      {"chunks", found.chunks},
                                      {"bytes", found.bytes},
                                      {"snapshots", found.trees},
                                      {"repaired", is_repaired},
                                      {"faults", std::move(faults)}});
}

void print_verified(Context& context, const snapshot::Verified& found, bool is_repaired) {
  for (const auto& fault : found.faults)
    print_line(context, fmt::format("{} {}: {}", paint(context, Style::red, "damaged:"),
                                    printable(fault.name), printable(fault.what)));
  print_line(context,
             fmt::format("checked: packs {}, chunks {} ({}), snapshots {}; faults {}", found.packs,
                         found.chunks, size_text(found.bytes), found.trees, found.faults.size()));
  if (found.faults.empty()) return;
  say(context, is_repaired ? "what was damaged is removed; the next submit sends it again from the "
                             "folder, where it still is the same"
                           : "remove what is damaged, so that the next submit sends it again: "
                             "muster snapshot verify --repair");
}

Result<int> verify(Context& context, const Parsed& parsed, std::span<const std::string>) {
  const bool repairs = parsed.has("repair");
  TRY(auto store, OwnSnapshots::open(context));
  snapshot::Verified found;
  if (fs::exists(context.paths.state + "/chunks")) {
    store->release();  // a repair is alone in the store
    TRY(found, snapshot::verify(store->blobs(), repairs));
  }
  if (wants_record(context))
    TRY_VOID(print_record(context, record_of(found, repairs && !found.faults.empty())));
  else
    print_verified(context, found, repairs);
  return found.faults.empty() ? 0 : row_of(Kind::corrupt).exit_code;
}

/// What the server starts by itself: nobody waits for it, it does not outlive the server, and
/// starts none.
void step_back(Context& context) {
  // Shared by the copies a std::function may make of its target.
  auto kept = std::make_shared<std::unique_ptr<Api>>();
  context.open_api = [kept](Context& from) -> Result<Api*> {
    TRY(*kept, api::connect_only(from.paths.state));
    return kept->get();
  };
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setpriority(PRIO_PROCESS, 0, 19);
  constexpr int kWhoProcess = 1, kIdleClass = 3 << 13;  // of ioprio_set(2)
  ::syscall(SYS_ioprio_set, kWhoProcess, 0, kIdleClass);
}

std::string record_of(const Pruned& pruned) {
  return json::serialize(json::object{{"schema", 1},
                                      {"snapshots", pruned.snapshots},
                                      {"bytes", pruned.bytes},
                                      {"trees", pruned.trees.folders},
                                      {"tree_bytes", pruned.trees.bytes},
                                      {"venvs", pruned.venvs.folders},
                                      {"venv_bytes", pruned.venvs.bytes}});
}

Result<int> prune(Context& context, const Parsed& parsed, std::span<const std::string>) {
  const bool is_told = parsed.has("dry-run"), is_servers = parsed.has("background");
  if (is_servers) step_back(context);
  TRY(const auto pruned, prune_snapshots(context, is_told      ? Pruning::only_told
                                                  : is_servers ? Pruning::by_server
                                                               : Pruning::by_hand));
  if (wants_record(context)) {
    TRY_VOID(print_record(context, record_of(pruned)));
    return 0;
  }
  print_line(
      context,
      fmt::format("{}: snapshots {} ({} of the store), restored trees {} ({}), Python "
                  "environments {} ({})",
                  is_told ? "would go" : "removed", pruned.snapshots, size_text(pruned.bytes),
                  pruned.trees.folders, size_text(pruned.trees.bytes), pruned.venvs.folders,
                  size_text(pruned.venvs.bytes)));
  return 0;
}

struct Sub {
  std::string_view name;
  std::string_view usage;
  std::size_t least, most;   // words after its name
  std::string_view options;  // those it takes, with spaces between them
  Result<int> (*run)(Context&, const Parsed&, std::span<const std::string>);
};

constexpr Sub kSubs[] = {{"list", "list", 0, 0, "", list},
                         {"show", "show ID [PATH]", 1, 2, "", show},
                         {"diff", "diff A B [--patch]", 2, 2, "patch", diff},
                         {"checkout", "checkout ID DIR", 2, 2, "", checkout},
                         {"verify", "verify [--repair]", 0, 0, "repair", verify},
                         {"prune", "prune [--dry-run]", 0, 0, "dry-run background", prune}};

Result<const Sub*> find_sub(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const auto& sub : kSubs) {
    if (!words.empty() && words.front() == sub.name) return &sub;
    names.emplace_back(sub.name);
  }
  const auto all = fmt::format("muster snapshot {}", join(names, " | "));
  if (words.empty()) return fail(Kind::usage, "snapshot needs to know what to do", all);
  const auto near = nearest(words.front(), names);
  return fail(Kind::usage, fmt::format("snapshot cannot \"{}\"", printable(words.front())),
              near ? fmt::format("did you mean \"{}\"?", *near) : all);
}

Result<int> run(Context& context, const Parsed& parsed) {
  TRY(const auto* sub, find_sub(parsed.operands));
  const std::span words(parsed.operands.begin() + 1, parsed.operands.end());
  const auto usage = fmt::format("muster snapshot {}", sub->usage);
  if (words.size() < sub->least || words.size() > sub->most)
    return fail(
        Kind::usage,
        fmt::format("snapshot {} takes {} words, not {}", sub->name,
                    sub->least == sub->most ? std::to_string(sub->least)
                                            : fmt::format("{} or {}", sub->least, sub->most),
                    words.size()),
        usage);
  const auto known = split(sub->options, ' ');
  for (const auto& [name, value] : parsed.options)
    if (std::find(known.begin(), known.end(), name) == known.end())
      return fail(Kind::usage, fmt::format("snapshot {} has no --{}", sub->name, name), usage);
  auto ended = sub->run(context, parsed, words);
  if (!ended && ended.error().kind == Kind::corrupt && ended.error().fix.empty())
    ended.error().fix.emplace_back("find out what is lost: muster snapshot verify");
  return ended;
}

}  // namespace

Verb verb_snapshot() {
  return {.name = "snapshot",
          .aliases = {},
          .group = "Code",
          .summary = "Look at the code of jobs, compare it, get it back",
          .usage = "snapshot list | show ID [PATH] | diff A B | checkout ID DIR | verify | prune",
          .operands = Operands::some,
          .options = {{.name = "patch",
                       .letter = 'p',
                       .text = "diff: the differences of text files, as a patch"},
                      {.name = "repair", .text = "verify: remove what is damaged"},
                      {.name = "dry-run", .text = "prune: only say what would go"},
                      {.name = "background",
                       .text = "prune: what was not used for long, with patience",
                       .group = "Used by muster itself"}},
          .run = run};
}

}  // namespace muster
