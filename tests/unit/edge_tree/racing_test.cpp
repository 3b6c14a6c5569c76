#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>

#include "base/unique_fd.hpp"
#include "edge/tree/read_file.hpp"
#include "unit/edge_tree/lab.hpp"

namespace muster::test {
namespace {

/// Writes to a file as fast as it can, as long as it lives, without changing its size.
class Mutator {
 public:
  explicit Mutator(const std::string& path) : fd_(::open(path.c_str(), O_WRONLY | O_CLOEXEC)) {
    thread_ = std::thread([this] {
      for (std::int64_t i = 0; !is_over_; ++i) {
        (void)!::pwrite(fd_.get(), &i, sizeof i, 0);
        // Its own time each time: a clock that ticks slowly would hide that it was written.
        const timespec times[] = {{i, 0}, {i, 0}};
        (void)!::futimens(fd_.get(), times);
        ++rounds_;
      }
    });
    while (rounds_ == 0) std::this_thread::yield();
  }
  ~Mutator() {
    is_over_ = true;
    thread_.join();
  }

 private:
  UniqueFd fd_;
  std::atomic<bool> is_over_ = false;
  std::atomic<std::uint64_t> rounds_ = 0;
  std::thread thread_;
};

fs::Seen seen_of(const std::string& path, std::uint64_t size) {
  fs::Seen seen;
  seen.path = path;
  seen.size = size;
  return seen;
}

TEST(Racing, AFileThatKeepsChangingIsRefusedByName) {
  Lab lab;
  lab.file("calm");
  lab.file("wild", std::string(16 << 20, 'x'));
  const Mutator mutator(lab.path("wild"));
  const auto sent = snapshot::send_tree(lab.blobs(), lab.options());
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().kind, Kind::conflict);
  EXPECT_NE(to_text(sent.error()).find("wild"), std::string::npos);
  EXPECT_TRUE(lab.objects("v1/trees/").empty());
}

TEST(Racing, ItIsRecordedAsItWasReadWhenThatIsWanted) {
  Lab lab;
  lab.file("wild", std::string(16 << 20, 'x'));
  auto how = lab.options();
  how.racy = snapshot::Racy::record;
  tree::Hash id;
  {
    const Mutator mutator(lab.path("wild"));
    id = must(snapshot::send_tree(lab.blobs(), how)).id;
  }
  const auto back = lab.restored(id);
  ASSERT_TRUE(back.contains("wild"));
  EXPECT_NE(back.at("wild").find("16777216"), std::string::npos);
  // And what it became is what the next one has.
  EXPECT_EQ(difference(picture_of(lab.top()), lab.restored(lab.send().id)), "");
}

/// Changes the file while its first piece is being handed on, `times` times.
std::string read_while_changing(const Lab& lab, int times, Result<bool>& result) {
  std::string bytes;
  int restarts = 0;
  const UniqueFd top(::open(lab.top().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  auto seen = seen_of("file", 3 << 20);
  result = snapshot::read_large(
      top.get(), seen, snapshot::Racy::refuse,
      [&] {
        ++restarts;
        bytes.clear();
      },
      [&](snapshot::ReadPiece&& piece) -> Result<> {
        if (bytes.empty() && restarts < times) {
          lab.file("file", std::string(3 << 20, static_cast<char>('0' + restarts)));
          const timespec at[] = {{restarts, 0}, {restarts, 0}};
          EXPECT_EQ(::utimensat(AT_FDCWD, lab.path("file").c_str(), at, 0), 0);
        }
        bytes += piece.bytes;
        return {};
      });
  return bytes;
}

TEST(Racing, AFileIsReadAgainUntilItHoldsStill) {
  Lab lab;
  lab.file("file", std::string(3 << 20, 'x'));
  Result<bool> result = false;
  EXPECT_EQ(read_while_changing(lab, 3, result), std::string(3 << 20, '2'));
  EXPECT_TRUE(must(result));
}

TEST(Racing, ThreeTimesAndNoMore) {
  Lab lab;
  lab.file("file", std::string(3 << 20, 'x'));
  Result<bool> result = false;
  read_while_changing(lab, 4, result);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, Kind::conflict);
}

TEST(Racing, WhatVanishesIsLeftOut) {
  Lab lab;
  lab.dir("folder");
  lab.link("link", "folder");
  const UniqueFd top(::open(lab.top().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (const char* path : {"gone", "folder", "link", "link/through", "gone/deeper"}) {
    auto seen = seen_of(path, 1);
    const auto pieces = must(snapshot::read_small(top.get(), seen, snapshot::Racy::refuse));
    EXPECT_FALSE(pieces.has_value()) << path;
  }
}

TEST(Racing, AWholeTreeThatComesAndGoesIsSentOrRefusedButNeverWrong) {
  Lab lab;
  for (int i = 0; i < 100; ++i) lab.file(fmt::format("calm{}", i), fmt::format("{}", i));
  std::atomic<bool> is_over = false;
  std::thread coming_and_going([&] {
    Rng rng(7);
    while (!is_over) {
      const auto name = fmt::format("wild{}", rng.below(20));
      if (rng.one_in(2))
        lab.remove(name);
      else
        lab.file(name + "/inside", noise(rng, rng.below(3000)));
    }
  });
  for (int round = 0; round < 40; ++round) {
    const auto sent = snapshot::send_tree(lab.blobs(), lab.options());
    if (!sent) {
      EXPECT_EQ(sent.error().kind, Kind::conflict) << to_text(sent.error());
      continue;
    }
    const auto back = lab.restored(sent->id);
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(back.contains(fmt::format("calm{}", i)));
  }
  is_over = true;
  coming_and_going.join();
  EXPECT_EQ(difference(picture_of(lab.top()), lab.restored(lab.send().id)), "");
}

}  // namespace
}  // namespace muster::test
