#include "edge/fs/walk.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "edge/fs/read_ahead.hpp"

namespace muster::fs {
namespace {

/// A folder that is being gone through.
struct Level {
  Scanned folder;
  std::size_t next = 0;
  bool is_left_out = false;
};

Seen seen_of(const Scanned& folder, const Found& found) {
  return {.path = path_in(folder.path, folder.name(found)),
          .kind = found.kind,
          .mode = found.mode,
          .size = found.size,
          .mtime_ns = found.mtime_ns,
          .ctime_ns = found.ctime_ns,
          .inode = found.inode,
          .device = found.device};
}

void move_to(std::vector<std::string>& all, std::vector<std::string>& more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  more.clear();
}

Result<ReadAhead::Setup> setup_of(int top, const WalkOptions& options) {
  ReadAhead::Setup setup{.top = top,
                         .ignore_file = {},
                         .rules = std::make_shared<const IgnoreStack>(),
                         .readers = options.readers,
                         .window = options.window};
  if (!options.use_ignore_rules) return setup;
  setup.ignore_file = ignore_file_name(top);
  TRY(auto rules, first_rules(top, setup.ignore_file));
  setup.rules = std::make_shared<const IgnoreStack>(std::move(rules));
  return setup;
}

/// Goes through the levels with a stack of its own: trees may be deeper than the thread's.
Result<WalkReport> go_through(ReadAhead& ahead, const std::vector<std::string>& leave_out,
                              const std::function<Result<>(Seen&&)>& each) {
  WalkReport report;
  std::vector<Level> levels;
  TRY(auto top, ahead.next());
  if (top.is_gone) return fail(Kind::not_found, "the folder vanished while it was read");
  report.ignored_at_top = std::move(top.ignored);
  for (const auto& found : top.found)
    if (found.is_partly) report.partly_at_top.emplace_back(top.name(found));
  move_to(report.specials, top.specials);
  levels.push_back({.folder = std::move(top)});
  while (!levels.empty()) {
    auto& level = levels.back();
    if (level.next == level.folder.found.size()) {
      levels.pop_back();
      continue;
    }
    const auto& found = level.folder.found[level.next++];
    auto seen = seen_of(level.folder, found);
    const bool is_left_out = level.is_left_out || std::find(leave_out.begin(), leave_out.end(),
                                                            seen.path) != leave_out.end();
    if (found.kind == tree::EntryKind::folder) {
      TRY(auto inner, ahead.next());
      if (inner.is_gone) continue;
      move_to(report.specials, inner.specials);
      levels.push_back({.folder = std::move(inner), .is_left_out = is_left_out});
    }
    if (!is_left_out) TRY_VOID(each(std::move(seen)));
  }
  return report;
}

}  // namespace

Result<WalkReport> walk(const std::string& top, const WalkOptions& options,
                        const std::function<Result<>(Seen&&)>& each) {
  const UniqueFd fd(::open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno(fmt::format("cannot read the folder {}", printable(top)), errno);
  TRY(auto setup, within(setup_of(fd.get(), options), printable(top)));
  const auto rules = setup.rules;
  ReadAhead ahead(std::move(setup));
  TRY(auto report, go_through(ahead, options.leave_out, each));
  if (const auto* tracked = rules->tracked()) report.index_fault = tracked->fault();
  return report;
}

}  // namespace muster::fs
