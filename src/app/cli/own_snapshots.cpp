#include "app/cli/own_snapshots.hpp"

#include "app/cli/client.hpp"
#include "app/cli/take_code.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "core/model/json.hpp"
#include "edge/blob/open.hpp"
#include "edge/fs/files.hpp"
#include "edge/tree/names.hpp"

namespace muster {
namespace {

constexpr std::size_t kFewestDigits = 4;
constexpr std::size_t kShown = 8;

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

tl::unexpected<Error> ambiguous(std::string_view word, const std::set<std::string>& ids) {
  Error error{.kind = Kind::usage};
  error.what = fmt::format("\"{}\" may mean several snapshots", printable(word));
  for (const auto& id : ids) {
    if (error.fix.size() < kShown)
      error.fix.push_back(id);
    else if (error.fix.size() == kShown)
      error.fix.back() += "  (and more)";
  }
  return tl::unexpected<Error>(std::move(error));
}

tl::unexpected<Error> no_snapshot(std::string_view word) {
  return fail(Kind::not_found, fmt::format("no snapshot and no job \"{}\"", printable(word)),
              "list them: muster snapshot list, muster query --all");
}

Result<json::value> jobs_of(Context& context,
                            std::vector<std::pair<std::string, std::string>> query) {
  TRY(const auto text, call_again(context, {.route = "jobs.list", .query = std::move(query)}));
  TRY(auto parsed, parse_json(text));
  if (!parsed.is_object())
    return fail(Kind::corrupt, "the server's answer cannot be read",
                "muster doctor shows which server answers");
  return parsed;
}

Result<std::set<std::string>> of_live_jobs(Context& context, std::string_view name) {
  TRY(const auto parsed, jobs_of(context, {{"final", "false"}}));
  std::set<std::string> words;
  for (const auto& job : list_at(parsed.get_object(), "jobs"))
    words.emplace(text_at(job.as_object(), name));
  return words;
}

}  // namespace

Result<std::unique_ptr<OwnSnapshots>> OwnSnapshots::open(Context& context) {
  TRY(auto blobs, open_blob_store(own_store(context)));
  std::shared_ptr<void> lock;
  // Looking into a home does not make one.
  if (fs::exists(context.paths.state + "/chunks")) {
    TRY(lock, blobs->lock(BlobStore::LockKind::shared));
  }
  return std::unique_ptr<OwnSnapshots>(
      new OwnSnapshots(context, std::move(blobs), std::move(lock)));
}

Result<std::set<std::string>> OwnSnapshots::beginning_with(const std::string& digits) {
  std::set<std::string> ids;
  TRY_VOID(blobs_->list("v1/trees/" + digits, [&](const BlobInfo& info) {
    if (const auto id = snapshot::hash_in_name(info.name)) ids.insert(tree::to_hex(*id));
    return true;
  }));
  return ids;
}

Result<tree::Hash> OwnSnapshots::find(const std::string& word) {
  const bool may_be_id = word.size() >= kFewestDigits && word.size() <= 64 && is_hex(word);
  if (may_be_id) {
    TRY(const auto ids, beginning_with(word));
    if (ids.size() > 1) return ambiguous(word, ids);
    if (ids.size() == 1) return *tree::from_hex(*ids.begin());
    if (word.size() == 64)
      return fail(Kind::not_found, fmt::format("there is no snapshot {}", word),
                  "those that are there: muster snapshot list");
  }
  auto code = code_of_job(context_, word);
  if (code) return code->snapshot;
  if (may_be_id && code.error().kind == Kind::not_found) return no_snapshot(word);
  return tl::unexpected<Error>(code.error());
}

std::string size_text(std::uint64_t bytes) {
  return to_text(Bytes{static_cast<std::int64_t>(bytes)});
}

Result<JobCode> code_of_job(Context& context, const std::string& word) {
  TRY(auto text, call_again(context, {.route = "jobs.get", .id = word}));
  TRY(const auto parsed, parse_json(text));
  const auto& job = parsed.as_object();
  const auto id = tree::from_hex(text_at(job, "snapshot"));
  if (!id)
    return fail(
        Kind::conflict,
        fmt::format("job {} ran in place: it has no snapshot", printable(text_at(job, "id"))),
        "jobs get one unless --here, code: here or MUSTER_CODE=here says otherwise");
  return JobCode{std::string(text_at(job, "id")), std::move(text), *id};
}

Result<std::map<std::string, SnapshotUse>> snapshot_uses(Context& context) {
  TRY(const auto parsed, jobs_of(context, {}));
  std::map<std::string, SnapshotUse> uses;
  for (const auto& job : list_at(parsed.get_object(), "jobs")) {
    const std::string id(text_at(job.as_object(), "snapshot"));
    if (id.empty()) continue;
    auto& use = uses[id];
    if (use.jobs++ == 0) use.newest = json::serialize(job);  // the list begins with the newest
  }
  return uses;
}

Result<std::set<std::string>> live_snapshots(Context& context) {
  return of_live_jobs(context, "snapshot");
}

Result<std::set<std::string>> live_jobs(Context& context) { return of_live_jobs(context, "id"); }

}  // namespace muster
