#include "app/cli/changes_text.hpp"

#include "app/cli/output.hpp"
#include "app/cli/own_snapshots.hpp"
#include "app/cli/patch.hpp"
#include "base/text.hpp"
#include "core/model/json.hpp"
#include "edge/tree/content.hpp"

namespace muster {
namespace {

std::string_view word_of(tree::EntryKind kind) {
  switch (kind) {
    case tree::EntryKind::file: return "file";
    case tree::EntryKind::folder: return "folder";
    case tree::EntryKind::link: return "link";
  }
  return "";
}

std::string_view word_of(snapshot::FolderEntry::Kind kind) {
  using Kind = snapshot::FolderEntry::Kind;
  switch (kind) {
    case Kind::file: return "file";
    case Kind::folder: return "folder";
    case Kind::link: return "link";
    case Kind::special:
    case Kind::whiteout: return "special";
  }
  return "";
}

Result<std::string> bytes_of(snapshot::Chunks& chunks, const tree::Entry& entry,
                             std::size_t limit) {
  if (entry.size() > limit)
    return fail(Kind::exhausted, fmt::format("{} is too large", printable(entry.path)));
  std::string bytes;
  TRY_VOID(snapshot::read_content(chunks, entry, [&](std::string_view some) -> Result<> {
    bytes += some;
    return {};
  }));
  return bytes;
}

ChangeSide side_of(const tree::Entry& entry, snapshot::Chunks& chunks) {
  return {.kind = word_of(entry.kind),
          .mode = entry.mode,
          .size = entry.size(),
          .target = entry.target,
          .read = [&chunks, entry](std::size_t limit) { return bytes_of(chunks, entry, limit); }};
}

std::function<Result<std::string>(std::size_t)> bytes_below(int top, std::string path) {
  return [top, path = std::move(path)](std::size_t limit) {
    return snapshot::read_below(top, path, limit);
  };
}

ChangeSide side_of(const snapshot::FolderEntry& entry, int top) {
  return {.kind = word_of(entry.kind),
          .mode = entry.mode,
          .size = entry.size,
          .target = entry.target,
          .read = bytes_below(top, entry.path)};
}

/// What is worth knowing of one side: a file's size, a link's target.
std::string about(const ChangeSide& side) {
  if (side.kind == "file") return size_text(side.size);
  return side.kind == "link" ? "-> " + printable(side.target) : std::string(side.kind);
}

std::string details(const TreeChange& change) {
  if (!change.before) return about(*change.after);
  if (!change.after) return about(*change.before);
  const auto &before = *change.before, &after = *change.after;
  if (before.kind != after.kind) return fmt::format("{}, was a {}", after.kind, before.kind);
  std::vector<std::string> parts;
  if (before.kind == "file" && before.size != after.size)
    parts.push_back(fmt::format("{}, was {}", size_text(after.size), size_text(before.size)));
  else if (before.kind != "folder" && before.mode == after.mode)
    parts.push_back(about(after));
  if (before.mode != after.mode)
    parts.push_back(fmt::format("mode {:04o}, was {:04o}", after.mode, before.mode));
  return join(parts, "; ");
}

json::value side_json(const std::optional<ChangeSide>& side) {
  if (!side) return nullptr;
  json::object out{{"kind", side->kind}, {"mode", fmt::format("{:04o}", side->mode)}};
  if (side->kind == "file") out["size"] = side->size;
  if (side->kind == "link") out["target"] = bytes_to_json(side->target);
  return out;
}

std::string_view name_of_change(const TreeChange& change) {
  return !change.before ? "added" : !change.after ? "removed" : "modified";
}

char letter_of(const TreeChange& change) {
  return !change.before ? 'A' : !change.after ? 'D' : 'M';
}

bool is_folder(const TreeChange& change) {
  return (change.after ? *change.after : *change.before).kind == "folder";
}

}  // namespace

struct ChangePrinter::Parts {
  json::array changes;
  std::optional<PatchPrinter> patch;
};

TreeChange change_of(const snapshot::Change& change, snapshot::Chunks& chunks) {
  TreeChange out{.path = change.path(), .before = {}, .after = {}};
  if (change.before) out.before = side_of(*change.before, chunks);
  if (change.after) out.after = side_of(*change.after, chunks);
  return out;
}

TreeChange change_of(const snapshot::FolderChange& change, const ChangeSources& sources) {
  TreeChange out{.path = change.path(), .before = {}, .after = {}};
  if (change.before) out.before = side_of(*change.before, sources.chunks);
  if (change.before && sources.prepared >= 0)
    out.before->read = bytes_below(sources.prepared, change.before->path);
  if (change.after) out.after = side_of(*change.after, sources.folder);
  return out;
}

ChangePrinter::ChangePrinter(Context& context, ChangeStyle style)
    : context_(context), style_(style), parts_(std::make_unique<Parts>()) {
  if (style == ChangeStyle::patch) parts_->patch.emplace(context);
}

ChangePrinter::~ChangePrinter() = default;

Result<> ChangePrinter::add(const TreeChange& change) {
  ++count_;
  if (wants_record(context_)) {
    parts_->changes.push_back(json::object{{"path", bytes_to_json(change.path)},
                                           {"change", name_of_change(change)},
                                           {"before", side_json(change.before)},
                                           {"after", side_json(change.after)}});
    return {};
  }
  if (parts_->patch) return parts_->patch->print(change);
  auto line = fmt::format("{} {}{}", letter_of(change), printable(change.path),
                          is_folder(change) ? "/" : "");
  if (style_ == ChangeStyle::sizes) {
    const auto more = details(change);
    if (!more.empty() && !(is_folder(change) && more == "folder"))
      line += fmt::format("  ({})", more);
  }
  print_line(context_, line);
  return {};
}

Result<> ChangePrinter::finish(const std::string& fields) {
  if (!wants_record(context_)) {
    if (parts_->patch) parts_->patch->finish();
    return {};
  }
  return print_record(context_, fmt::format(R"({{"schema":1,{},"changes":{}}})", fields,
                                            json::serialize(parts_->changes)));
}

}  // namespace muster
