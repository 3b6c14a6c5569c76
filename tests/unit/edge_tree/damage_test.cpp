#include <fcntl.h>

#include "base/unique_fd.hpp"
#include "edge/fs/remove_tree.hpp"
#include "edge/tree/collect.hpp"
#include "edge/tree/restore.hpp"
#include "edge/tree/verify.hpp"
#include "unit/edge_tree/lab.hpp"

namespace muster::test {
namespace {

std::string text_in(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void put_byte(const std::string& path, std::uint64_t at, char byte) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_EQ(::pwrite(fd.get(), &byte, 1, static_cast<off_t>(at)), 1);
}

/// Some of it compresses, some does not; two packs and two snapshots.
std::pair<tree::Hash, tree::Hash> fill(Lab& lab) {
  Rng rng(11);
  for (int i = 0; i < 12; ++i) lab.file(fmt::format("text{}", i), std::string(400, 'a' + i));
  lab.file("folder/noise", noise(rng, 3000));
  lab.link("link", "folder");
  const auto first = lab.send().id;
  lab.file("folder/more", noise(rng, 2000));
  return {first, lab.send().id};
}

/// What a restore wrote before it failed is the beginning of the truth.
void expect_beginnings(const std::string& made, const std::string& top) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(made)) {
    const auto same = top + "/" + std::filesystem::relative(entry.path(), made).string();
    if (!entry.is_regular_file() || entry.is_symlink()) continue;
    EXPECT_TRUE(text_in(same).starts_with(text_in(entry.path().string()))) << same;
  }
}

/// True when the restore failed; then it said where.
bool restore_finds_it(Lab& lab, const tree::Hash& id, const std::string& object) {
  const auto to = lab.room("to");
  snapshot::Chunks chunks(lab.blobs());
  const auto done = snapshot::restore(chunks, id, to);
  if (done)
    EXPECT_EQ(difference(picture_of(lab.top()), picture_of(to)), "");
  else
    EXPECT_NE(to_text(done.error()).find(object), std::string::npos) << to_text(done.error());
  expect_beginnings(to, lab.top());
  fs::remove_tree(to);
  return !done;
}

TEST(Damage, TenThousandFlippedBitsAreAllFoundAndNamed) {
  Lab lab;
  const auto id = fill(lab).second;
  std::vector<std::pair<std::string, std::uint64_t>> objects;
  std::uint64_t all = 0;
  for (const auto& [name, size] : lab.objects("v1/"))
    if (!name.starts_with("v1/pins/")) {
      objects.emplace_back(name, size);
      all += size;
    }
  Rng rng(12);
  int found_by_restore = 0;
  for (int round = 0; round < 10'000 && !testing::Test::HasFailure(); ++round) {
    auto at = rng.below(all);
    auto object = objects.begin();
    for (; at >= object->second; ++object) at -= object->second;
    const auto path = lab.store() + "/" + object->first;
    const char good = text_in(path)[at];
    put_byte(path, at, static_cast<char>(good ^ (1U << rng.below(8))));
    const auto report = must(snapshot::verify(lab.blobs(), false));
    bool is_named = false;
    for (const auto& fault : report.faults) is_named |= fault.name == object->first;
    EXPECT_TRUE(is_named) << object->first << " at " << at;
    found_by_restore += restore_finds_it(lab, id, object->first) ? 1 : 0;
    put_byte(path, at, good);
  }
  EXPECT_GT(found_by_restore, 5000);
  EXPECT_TRUE(must(snapshot::verify(lab.blobs(), false)).faults.empty());
}

TEST(Damage, RepairingAndSendingAgainHeals) {
  Lab lab;
  const auto id = fill(lab).second;
  Rng rng(13);
  for (int round = 0; round < 100; ++round) {
    const auto objects = lab.objects("v1/packs/");
    auto object = objects.begin();
    std::advance(object, static_cast<std::ptrdiff_t>(rng.below(objects.size())));
    const auto path = lab.store() + "/" + object->first;
    const auto at = rng.below(object->second);
    put_byte(path, at, static_cast<char>(text_in(path)[at] ^ (1U << rng.below(8))));
    EXPECT_FALSE(must(snapshot::verify(lab.blobs(), true)).faults.empty());
    const auto again = lab.send();
    ASSERT_EQ(again.id, id);
    ASSERT_TRUE(must(snapshot::verify(lab.blobs(), false)).faults.empty());
    ASSERT_EQ(difference(picture_of(lab.top()), lab.restored(again.id)), "");
  }
}

TEST(Damage, ALostPackIsNamedByTheFilesThatNeedIt) {
  Lab lab;
  fill(lab);
  lab.file("folder/last", "only in the last pack");
  const auto before = lab.objects("v1/packs/");
  lab.send();
  for (const auto& [name, size] : lab.objects("v1/packs/"))
    if (!before.contains(name)) must(lab.blobs().remove(name));
  // The leaf is lost with it, so the snapshot is; the two before it are whole.
  const auto report = must(snapshot::verify(lab.blobs(), false));
  EXPECT_EQ(report.trees, 3U);
  ASSERT_EQ(report.faults.size(), 1U);
  EXPECT_TRUE(report.faults.front().is_tree);
}

TEST(Damage, ADamagedPackDoesNotBlameSnapshotsThatDoNotNeedIt) {
  Lab lab;
  fill(lab);
  const auto before = lab.objects("v1/packs/");
  lab.file("new", "one more");
  const auto third = lab.send().id;
  for (const auto& [name, size] : lab.objects("v1/packs/"))
    if (!before.contains(name)) put_byte(lab.store() + "/" + name, size - 1, '!');
  const auto report = must(snapshot::verify(lab.blobs(), false));
  ASSERT_EQ(report.faults.size(), 2U);
  EXPECT_TRUE(report.faults[0].is_pack);
  EXPECT_EQ(report.faults[1].name, "v1/trees/" + tree::to_hex(third));
}

/// Two files of noise, each with blocks of its own, in one pack; one snapshot has both, the other
/// the first alone.
struct TwoNoises {
  tree::Hash one, both;
  std::string pack;
};
TwoNoises two_noises(Lab& lab) {
  Rng rng(14);
  TwoNoises made;
  lab.file("first", noise(rng, 3 << 20));
  made.one = lab.send().id;
  lab.file("second", noise(rng, 3 << 20));
  made.both = lab.send().id;
  // Small packs are joined into one.
  must(snapshot::collect(
      lab.blobs(), [](const tree::Hash&) { return true; }, snapshot::Removing::really));
  const auto packs = lab.objects("v1/packs/");
  EXPECT_EQ(packs.size(), 1U);
  made.pack = lab.store() + "/" + packs.begin()->first;
  return made;
}

TEST(Damage, ADamagedBlockCostsTheFilesInItAndNoOthers) {
  Lab lab;
  const auto made = two_noises(lab);
  const auto second = text_in(lab.top() + "/second");
  const auto at = text_in(made.pack).find(second.substr(second.size() / 2, 64));
  ASSERT_NE(at, std::string::npos) << "noise is stored as it is";
  put_byte(made.pack, at, static_cast<char>(text_in(made.pack)[at] ^ 1));
  const auto report = must(snapshot::verify(lab.blobs(), false));
  std::set<std::string> files;
  for (const auto& fault : report.faults)
    if (!fault.is_pack && !fault.is_tree) files.insert(fault.name);
  EXPECT_EQ(files, std::set<std::string>{"second"});
  // What is good in the pack outlives the repair.
  must(snapshot::verify(lab.blobs(), true));
  EXPECT_TRUE(must(snapshot::verify(lab.blobs(), false)).faults.empty());
  EXPECT_TRUE(lab.blobs().look("v1/trees/" + tree::to_hex(made.one)));
  EXPECT_FALSE(lab.blobs().look("v1/trees/" + tree::to_hex(made.both)));
  const auto restored = lab.restored(made.one);
  EXPECT_TRUE(restored.contains("first"));
}

TEST(Damage, APackThatCannotBeReadHarmsNobodyWhoDoesNotNeedIt) {
  Lab lab;
  const auto first = fill(lab).first;
  const auto before = lab.objects("v1/packs/");
  Rng rng(15);
  lab.file("other", noise(rng, 5000));
  const auto third = lab.send().id;
  for (const auto& [name, size] : lab.objects("v1/packs/")) {
    if (before.contains(name)) continue;
    ASSERT_EQ(::truncate((lab.store() + "/" + name).c_str(), 50), 0);
  }
  EXPECT_FALSE(lab.restored(first).empty());
  // The folder still has what is lost: the next snapshot brings it back.
  lab.file("new", "one more");
  const auto fourth = lab.send().id;
  EXPECT_NE(fourth, third);
  for (const auto& [name, size] : lab.objects("v1/pins/")) must(lab.blobs().remove(name));
  const auto wanted = [&](const tree::Hash& id) { return id != third; };
  EXPECT_EQ(must(snapshot::collect(lab.blobs(), wanted, snapshot::Removing::really)).damage, "");
  EXPECT_EQ(difference(picture_of(lab.top()), lab.restored(fourth)), "");
}

TEST(Damage, NothingIsTakenFromASnapshotThatIsDamaged) {
  Lab lab;
  const auto id = fill(lab).second;
  for (const auto& [name, size] : lab.objects("v1/packs/"))
    ASSERT_EQ(::truncate((lab.store() + "/" + name).c_str(), static_cast<off_t>(size / 2)), 0);
  const auto before = lab.objects("v1/packs/");
  const auto wanted = [&](const tree::Hash& one) { return one == id; };
  EXPECT_FALSE(
      must(snapshot::collect(lab.blobs(), wanted, snapshot::Removing::really)).damage.empty());
  EXPECT_EQ(lab.objects("v1/packs/"), before);
}

TEST(Damage, ATruncatedObjectIsFound) {
  Lab lab;
  fill(lab);
  for (const auto& [name, size] : lab.objects("v1/")) {
    if (name.starts_with("v1/pins/")) continue;
    const auto path = lab.store() + "/" + name;
    const auto good = text_in(path);
    for (const std::uint64_t left : {std::uint64_t{0}, std::uint64_t{1}, size / 2, size - 1}) {
      ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(left)), 0);
      EXPECT_FALSE(must(snapshot::verify(lab.blobs(), false)).faults.empty()) << name << left;
    }
    std::ofstream(path, std::ios::binary | std::ios::trunc) << good;
  }
}

}  // namespace
}  // namespace muster::test
