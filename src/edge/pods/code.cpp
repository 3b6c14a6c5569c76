#include "edge/pods/code.hpp"

#include "base/hash.hpp"
#include "base/text.hpp"
#include "edge/blob/file_store.hpp"
#include "edge/fs/files.hpp"
#include "edge/tree/bundle_file.hpp"
#include "edge/tree/transfer.hpp"

namespace muster::pods {
namespace {

using render::CodeFrom;

constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kTokenDigits = 40;
constexpr auto kPullPatience = std::chrono::seconds(20);

std::string chunks_of(const std::string& home) { return home + "/chunks"; }

/// A folder that is not there is not made: who writes beside the volume helps nobody.
Result<> put_into(const CodeStore& store, BlobStore& from, const tree::Hash& id) {
  if (!fs::exists(store.folder))
    return fail(Kind::not_found,
                fmt::format("there is no folder {} to put the code into", printable(store.folder)),
                fmt::format("mount the volume of the claim {} there, or leave the folder out of "
                            "the profile's store",
                            store.claim));
  FileStore to(store.folder, FileStore::Access::as_folder);
  TRY_VOID(within(snapshot::transfer(from, to, id), printable(store.folder)));
  return {};
}

/// Packed, as far as a Secret can hold it.
Result<std::string> small_bundle(BlobStore& from, const tree::Hash& id) {
  std::string bytes;
  TRY_VOID(snapshot::write_bundle(from, id, [&](std::string_view more) -> Result<> {
    if (bytes.size() + more.size() > render::kLargestSecretCode)
      return fail(Kind::exhausted, "too large for a Secret");
    bytes.append(more);
    return {};
  }));
  return bytes;
}

}  // namespace

Result<Code> prepare_code(const FolderPlan& folder, const PodSettings& settings,
                          const CodePlaces& places) {
  if (folder.snapshot.empty()) return Code{};
  const auto id = tree::from_hex(folder.snapshot);
  if (!id) return fail(Kind::corrupt, "the plan names no snapshot: " + folder.snapshot);
  FileStore own(chunks_of(places.home));
  if (settings.store && !settings.store->folder.empty()) {
    TRY_VOID(put_into(*settings.store, own, *id));
    return Code{.from = CodeFrom::store, .bytes = {}};
  }
  if (!places.served_at.empty()) return Code{.from = CodeFrom::server, .bytes = {}};
  auto bytes = small_bundle(own, *id);
  if (bytes) return Code{.from = CodeFrom::secret, .bytes = std::move(*bytes)};
  if (bytes.error().kind != Kind::exhausted) return tl::unexpected<Error>(bytes.error());
  return Code{.from = render::code_by_size(UINT64_MAX, settings), .bytes = {}};
}

Result<UniqueFd> bundle_of(const std::string& snapshot, const std::string& home) {
  const auto id = tree::from_hex(snapshot);
  if (!id) return fail(Kind::not_found, "the attempt's snapshot is not known");
  FileStore own(chunks_of(home));
  return snapshot::bundle_file(own, *id, home);
}

std::set<std::string> pods_to_send(const Group& group, const Member& member,
                                   std::chrono::steady_clock::time_point now) {
  const bool is_late = member.first_ran && now - *member.first_ran >= kPullPatience;
  std::set<std::string> names;
  for (const auto& pod : group.pods)
    if (pod.wants_code && !pod.is_deleting && (pod.index == 0 || is_late)) names.insert(pod.name);
  return names;
}

Result<std::string> attempt_key(const std::string& home) {
  const auto path = home + "/attempt.key";
  if (fs::exists(path)) return fs::read_file(path, 1024);
  const auto key = to_hex(random_bytes(kKeyBytes));
  TRY_VOID(fs::write_durably(path, key));
  return key;
}

// The key on both sides: nobody makes the token of another attempt from the one he has.
std::string attempt_token(std::string_view key, std::string_view attempt) {
  return sha256_hex(fmt::format("{}:{}", key, sha256_hex(fmt::format("{}:{}", key, attempt))))
      .substr(0, kTokenDigits);
}

}  // namespace muster::pods
