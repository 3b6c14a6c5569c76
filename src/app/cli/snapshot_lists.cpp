#include "app/cli/snapshot_lists.hpp"

#include <algorithm>

#include "app/cli/job_cells.hpp"
#include "app/cli/safe_lines.hpp"
#include "base/text.hpp"
#include "edge/fs/files.hpp"
#include "edge/tree/content.hpp"
#include "edge/tree/manifest_read.hpp"
#include "edge/tree/names.hpp"

namespace muster {
namespace {

constexpr std::size_t kShortId = 12;
constexpr std::size_t kShortCommit = 10;

/// Nothing known of it but that it is there, when its root is damaged.
void put_totals(json::object& out, OwnSnapshots& store, const tree::Hash& id) {
  const auto bytes = store.chunks().get_root(id);
  const auto root =
      bytes ? tree::decode_root(*bytes) : Result<tree::Root>(tl::unexpected<Error>(bytes.error()));
  const auto number = [&](std::uint64_t value) {
    return root ? json::value(static_cast<std::int64_t>(value)) : json::value(nullptr);
  };
  out["entries"] = number(root ? root->entries : 0);
  out["bytes"] = number(root ? root->bytes : 0);
}

void put_use(json::object& out, const SnapshotUse& use) {
  const auto job = use.jobs > 0 ? parse_json(use.newest) : Result<json::value>(json::object());
  const json::object nothing;
  const auto& newest = job && job->is_object() ? job->get_object() : nothing;
  const auto* code = field(newest, "code");
  const auto& facts = code != nullptr && code->is_object() ? code->get_object() : nothing;
  const auto copy = [&](const json::object& from, std::string_view name, const char* as) {
    const auto* value = field(from, name);
    out[as] = value == nullptr ? json::value(nullptr) : *value;
  };
  out["jobs"] = static_cast<std::int64_t>(use.jobs);
  copy(newest, "id", "newest_job");
  for (const char* name : {"top", "commit", "branch", "dirty"}) copy(facts, name, name);
}

/// Newest first.
Result<json::array> snapshot_records(Context& context, OwnSnapshots& store) {
  std::vector<BlobInfo> found;
  TRY_VOID(store.blobs().list("v1/trees/", [&](const BlobInfo& info) {
    if (snapshot::hash_in_name(info.name)) found.push_back(info);
    return true;
  }));
  std::sort(found.begin(), found.end(), [](const BlobInfo& a, const BlobInfo& b) {
    return std::pair(a.age_us, a.name) < std::pair(b.age_us, b.name);
  });
  json::array records;
  if (found.empty()) return records;
  TRY(auto uses, snapshot_uses(context));
  const auto now = fs::walltime_us();
  for (const auto& info : found) {
    const auto id = *snapshot::hash_in_name(info.name);
    json::object one{{"id", tree::to_hex(id)},
                     {"written_at", to_rfc3339(WallTime{now - info.age_us})}};
    put_totals(one, store, id);
    put_use(one, uses[tree::to_hex(id)]);
    records.push_back(std::move(one));
  }
  return records;
}

std::string commit_cell(const json::object& one) {
  auto text = shown_at(one, "commit").substr(0, kShortCommit);
  if (!text.empty() && number_at(one, "dirty") > 0)
    text += fmt::format(" +{}", number_at(one, "dirty"));
  return text;
}

std::vector<std::string> row_of_snapshot(const Context& context, const json::object& one) {
  const bool is_whole = field(one, "entries") != nullptr;
  return {shown_at(one, "id").substr(0, context.out_is_tty ? kShortId : 64),
          local_time_at(one, "written_at"),
          is_whole ? std::to_string(number_at(one, "entries")) : "damaged",
          is_whole ? size_text(static_cast<std::uint64_t>(number_at(one, "bytes"))) : "",
          std::to_string(number_at(one, "jobs")),
          commit_cell(one),
          shown_at(one, "top")};
}

std::string mode_text(const tree::Entry& entry) {
  std::string text = entry.kind == tree::EntryKind::folder ? "d"
                     : entry.kind == tree::EntryKind::link ? "l"
                                                           : "-";
  for (int bit = 8; bit >= 0; --bit)
    text += ((entry.mode >> bit) & 1) != 0 ? "rwx"[2 - bit % 3] : '-';
  return text;
}

void print_entry(Context& context, const tree::Entry& entry) {
  const bool is_file = entry.kind == tree::EntryKind::file;
  auto line = fmt::format("{} {:>12}  {}", mode_text(entry),
                          is_file ? std::to_string(entry.size()) : "-", printable(entry.path));
  if (entry.kind == tree::EntryKind::folder) line += "/";
  if (entry.kind == tree::EntryKind::link) line += " -> " + printable(entry.target);
  print_line(context, line);
}

json::object entry_json(const tree::Entry& entry) {
  const bool is_link = entry.kind == tree::EntryKind::link;
  json::object out{{"path", bytes_to_json(entry.path)},
                   {"kind", is_link                                 ? "link"
                            : entry.kind == tree::EntryKind::folder ? "folder"
                                                                    : "file"},
                   {"mode", fmt::format("{:04o}", entry.mode)}};
  if (entry.kind == tree::EntryKind::file) out["size"] = entry.size();
  if (is_link) out["target"] = bytes_to_json(entry.target);
  return out;
}

std::string plain_path(std::string path) {
  while (path.starts_with("./")) path.erase(0, 2);
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

Result<> print_file(Context& context, OwnSnapshots& store, const tree::Entry& file) {
  AnswerBytes out(context);
  const auto read =
      snapshot::read_content(store.chunks(), file, [&](std::string_view bytes) -> Result<> {
        out.put(bytes);
        if (context.out->is_broken()) return fail(Kind::cancelled, "nobody reads on");
        return {};
      });
  if (!read && !context.out->is_broken()) return read;
  out.finish();
  return {};
}

}  // namespace

Result<> print_snapshots(Context& context, OwnSnapshots& store) {
  TRY(auto records, snapshot_records(context, store));
  if (wants_record(context))
    return print_record(context,
                        json::serialize(json::object{{"schema", 1}, {"snapshots", records}}));
  if (context.globals.format == Format::name) {
    for (const auto& one : records) print_line(context, text_at(one.as_object(), "id"));
    return {};
  }
  if (records.empty()) {
    say(context, "no snapshots yet; a submit in a project folder takes one, or muster init");
    return {};
  }
  Table table;
  table.columns = {{.title = "ID"},
                   {.title = "WRITTEN"},
                   {.title = "ENTRIES", .is_number = true},
                   {.title = "SIZE", .is_number = true},
                   {.title = "JOBS", .is_number = true},
                   {.title = "COMMIT"},
                   {.title = "FOLDER", .is_flexible = true}};
  for (auto one = records.rbegin(); one != records.rend(); ++one)  // newest last, as query
    table.rows.push_back(row_of_snapshot(context, one->as_object()));
  print_table(context, table);
  return {};
}

Result<> print_entries(Context& context, OwnSnapshots& store, const tree::Hash& id) {
  TRY(const auto bytes, store.chunks().get_root(id));
  TRY(const auto root, tree::decode_root(bytes));
  json::array entries;
  const bool is_record = wants_record(context);
  if (!is_record)
    print_line(context, fmt::format("snapshot {}\n{} entries, {}", tree::to_hex(id), root.entries,
                                    size_text(root.bytes)));
  TRY_VOID(snapshot::read_manifest(store.chunks(), id, [&](const tree::Entry& entry) -> Result<> {
    if (is_record)
      entries.push_back(entry_json(entry));
    else
      print_entry(context, entry);
    return {};
  }));
  if (!is_record) return {};
  return print_record(context, json::serialize(json::object{{"schema", 1},
                                                            {"id", tree::to_hex(id)},
                                                            {"entries", root.entries},
                                                            {"bytes", root.bytes},
                                                            {"tree", std::move(entries)}}));
}

Result<> print_path(Context& context, OwnSnapshots& store, const tree::Hash& id,
                    const std::string& path) {
  const auto asked = plain_path(path);
  std::optional<tree::Entry> found;
  TRY_VOID(snapshot::read_manifest(store.chunks(), id, [&](const tree::Entry& entry) -> Result<> {
    if (entry.path == asked) found = entry;
    const bool is_inside = found && entry.path.starts_with(asked + "/");
    if (is_inside) print_entry(context, entry);
    return {};
  }));
  if (!found)
    return fail(Kind::not_found,
                fmt::format("snapshot {} has no {}", tree::to_hex(id).substr(0, kShortId),
                            printable(asked)),
                "what it has: muster snapshot show ID");
  if (found->kind == tree::EntryKind::link)
    return fail(Kind::usage,
                fmt::format("{} is a link to {}", printable(asked), printable(found->target)),
                "name the file it leads to");
  return found->kind == tree::EntryKind::file ? print_file(context, store, *found) : Result<>();
}

}  // namespace muster
