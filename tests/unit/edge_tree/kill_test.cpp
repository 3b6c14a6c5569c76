/// kill -9 at random moments. MUSTER_TREE_KILLS sets how often, MUSTER_TREE_SEED where it begins.
#include <cstdlib>
#include <iostream>
#include <random>
#include <set>

#include "edge/fs/files.hpp"
#include "edge/tree/collect.hpp"
#include "edge/tree/manifest_read.hpp"
#include "edge/tree/restore.hpp"
#include "edge/tree/verify.hpp"
#include "unit/edge_tree/lab.hpp"

namespace muster::test {
namespace {

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class Kills : public testing::Test {
 protected:
  Kills() : seed_(number_from("MUSTER_TREE_SEED", std::random_device{}())), rng_(seed_) {
    std::cout << "replay: MUSTER_TREE_SEED=" << seed_ << " MUSTER_TREE_KILLS=" << kills_ * 3
              << std::endl;
    for (int i = 0; i < 60; ++i) lab_.file(fmt::format("small/{}", i), noise(rng_, 3000));
    for (int i = 0; i < 24; ++i)
      lab_.file(fmt::format("large/{}", i), noise(rng_, 1'000'000 + rng_.below(800'000)));
    picture_ = picture_of(lab_.top());
  }

  /// Does it in children that are killed at moments of the time it usually takes, and says how many
  /// were: that is the machine's to say. What the usual time is, children that were not killed
  /// tell: a few at first, and those that were faster than the kill.
  void storm(const std::function<void()>& begin, const std::function<void()>& work,
             const std::function<void()>& check) {
    std::multiset<std::uint64_t> times;
    for (int i = 0; i < 3; ++i) {
      begin();
      times.insert(killed_in_child(work, kNever).value());
    }
    int killed = 0;
    for (std::uint64_t i = 0; i < kills_ && !HasFailure(); ++i) {
      begin();
      const auto usual = *std::next(times.begin(), static_cast<std::ptrdiff_t>(times.size() / 2));
      const auto took = killed_in_child(work, rng_.below(usual));
      if (took)
        times.insert(*took);
      else
        ++killed;
      check();
    }
    std::cout << killed << " of " << kills_ << " were killed on the way, which takes "
              << *times.begin() / 1000 << " to " << *times.rbegin() / 1000 << " ms" << std::endl;
  }

  void empty_the_store() {
    for (const auto& [name, size] : lab_.objects()) must(lab_.blobs().remove(name));
    std::filesystem::remove(lab_.cache());
  }

  /// Chunks of data that this snapshot has, and how many of them the packs have now.
  std::pair<std::size_t, std::size_t> data_of(const tree::Hash& id, snapshot::Chunks& now) {
    std::set<tree::Hash> all;
    snapshot::Chunks chunks(lab_.blobs());
    must(snapshot::read_manifest(chunks, id, [&](const tree::Entry& entry) -> Result<> {
      for (const auto& piece : entry.pieces) all.insert(piece.hash);
      return {};
    }));
    std::size_t there = 0;
    for (const auto& hash : all) there += must(now.has(hash)) ? 1 : 0;
    return {all.size(), there};
  }

  Lab lab_;
  Picture picture_;
  static constexpr std::uint64_t kNever = UINT64_MAX;
  std::uint64_t kills_ = number_from("MUSTER_TREE_KILLS", 60) / 3;
  std::uint64_t seed_;
  Rng rng_;
};

TEST_F(Kills, DuringASendTheNextOneSendsWhatIsMissing) {
  storm([&] { empty_the_store(); },
        [&] { (void)snapshot::send_tree(lab_.blobs(), lab_.options()); },
        [&] {
          snapshot::Chunks left(lab_.blobs());
          must(left.load());
          const bool was_done = !lab_.objects("v1/trees/").empty();
          const auto sent = lab_.send();
          const auto [all, there] = data_of(sent.id, left);
          EXPECT_EQ(sent.new_chunks, all - there);
          EXPECT_TRUE(!was_done || there == all) << "a root was there before its chunks";
          EXPECT_EQ(difference(picture_, lab_.restored(sent.id)), "");
          EXPECT_TRUE(must(snapshot::verify(lab_.blobs(), false)).faults.empty());
        });
}

TEST_F(Kills, DuringARestoreTheNextOneIsWhole) {
  const auto id = lab_.send().id;
  const auto trees = lab_.room("trees");
  const auto folder = trees + "/" + tree::to_hex(id);
  storm([&] { std::filesystem::remove(folder + ".boot"); },
        [&] { (void)snapshot::restore_once(lab_.blobs(), id, trees); },
        [&] {
          // Who looks finds it whole or not at all.
          EXPECT_TRUE(!fs::exists(folder) || picture_ == picture_of(folder));
          EXPECT_EQ(must(snapshot::restore_once(lab_.blobs(), id, trees)), folder);
          EXPECT_EQ(difference(picture_, picture_of(folder)), "");
          EXPECT_EQ(fs::entries(trees).size(), 3U) << "a killed restore left something behind";
        });
}

TEST_F(Kills, DuringACollectionNothingWantedIsLost) {
  const auto collect = [&](const tree::Hash& wanted) {
    return snapshot::collect(lab_.blobs(), [&](const tree::Hash& id) { return id == wanted; });
  };
  tree::Hash wanted;
  storm(
      [&] {
        empty_the_store();
        lab_.file("large/0", noise(rng_, 1'000'000));
        const auto dropped = lab_.send();
        // Packs of the first one have more dead than alive, and are written anew.
        for (int i = 0; i < 24; ++i)
          if (i % 4 != 0) lab_.file(fmt::format("large/{}", i), noise(rng_, 1'400'000));
        const auto sent = lab_.send();
        wanted = sent.id;
        must(snapshot::unpin(lab_.blobs(), dropped.pin));
        must(snapshot::unpin(lab_.blobs(), sent.pin));
        picture_ = picture_of(lab_.top());
      },
      [&] { (void)collect(wanted); },
      [&] {
        EXPECT_EQ(difference(picture_, lab_.restored(wanted)), "");
        must(collect(wanted));
        EXPECT_EQ(difference(picture_, lab_.restored(wanted)), "");
        EXPECT_TRUE(must(snapshot::verify(lab_.blobs(), false)).faults.empty());
        EXPECT_EQ(lab_.objects("v1/trees/").size(), 1U);
        std::uint64_t bytes = 0,
                      needed = must(lab_.blobs().look("v1/trees/" + tree::to_hex(wanted))).size;
        for (const auto& [name, size] : lab_.objects("v1/")) bytes += size;
        for (const auto& [path, text] : picture_)
          if (text.starts_with("file")) needed += std::filesystem::file_size(lab_.path(path));
        EXPECT_LT(bytes, 2 * needed) << "more than half of it is dead";
      });
}

}  // namespace
}  // namespace muster::test
