// What every BlobStore promises, asked of each provider.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <barrier>
#include <csignal>
#include <latch>
#include <ostream>
#include <set>
#include <thread>

#include "contract/blobs/stage.hpp"
#include "edge/blob/open.hpp"

namespace muster {

/// How a failing test names its provider.
void PrintTo(const BlobProvider& provider, std::ostream* out);
void PrintTo(const BlobProvider& provider, std::ostream* out) { *out << provider.scheme; }

}  // namespace muster

namespace muster::contract {
namespace {

using test::must;
using namespace std::string_literals;

using StageOf = std::unique_ptr<BlobStage> (*)();
const std::map<std::string_view, StageOf> kStages{{"file", file_blob_stage}};
constexpr std::uint64_t kAll = UINT64_MAX;

std::string bytes_of(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 2'654'435'761U >> 13);
  return bytes;
}

class Blobs : public ::testing::TestWithParam<BlobProvider> {
 protected:
  void SetUp() override {
    const auto found = kStages.find(GetParam().scheme);
    ASSERT_NE(found, kStages.end()) << "write tests/contract/blobs/" << GetParam().scheme << ".cpp";
    stage = found->second();
    blobs = opened();
  }
  std::unique_ptr<BlobStore> opened() { return must(open_blob_store(stage->url())); }
  std::string all_of(const std::string& name) { return must(blobs->get(name, 0, kAll)); }
  bool has(const std::string& name) {
    const auto seen = blobs->look(name);
    EXPECT_TRUE(seen || seen.error().kind == Kind::not_found) << to_text(seen.error());
    return seen.has_value();
  }
  std::set<std::string> names(const std::string& prefix = "") {
    std::set<std::string> found;
    must(blobs->list(prefix, [&](const BlobInfo& one) {
      EXPECT_TRUE(found.insert(one.name).second) << one.name << " is listed twice";
      return true;
    }));
    return found;
  }
  /// The status of a child that runs this and goes.
  template <class Run>
  static int in_a_child(Run run) {
    const auto child = ::fork();
    if (child == 0) {
      run();
      ::_exit(0);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return status;
  }

  std::unique_ptr<BlobStage> stage;
  std::unique_ptr<BlobStore> blobs;
};

TEST_P(Blobs, WhatWasPutIsThere) {
  const auto bytes = "a\0\n\xff"s;
  must(blobs->put("v1/trees/ab", bytes));
  EXPECT_EQ(all_of("v1/trees/ab"), bytes);
  blobs = opened();
  EXPECT_EQ(all_of("v1/trees/ab"), bytes);
  const auto seen = must(blobs->look("v1/trees/ab"));
  EXPECT_EQ(seen.name, "v1/trees/ab");
  EXPECT_EQ(seen.size, bytes.size());
  EXPECT_GE(seen.age_us, 0);
  EXPECT_LT(seen.age_us, 3600LL * 1'000'000);
}

TEST_P(Blobs, AnObjectMayBeEmpty) {
  must(blobs->put("e", ""));
  EXPECT_EQ(all_of("e"), "");
  EXPECT_EQ(must(blobs->look("e")).size, 0U);
}

TEST_P(Blobs, WhatIsThereStaysAsItIs) {
  must(blobs->put("x", "first"));
  must(blobs->put("x", "second"));
  EXPECT_EQ(all_of("x"), "first");
}

TEST_P(Blobs, RangesEndWhereTheObjectDoes) {
  const auto bytes = bytes_of(1000);
  must(blobs->put("x", bytes));
  EXPECT_EQ(must(blobs->get("x", 10, 20)), bytes.substr(10, 20));
  EXPECT_EQ(must(blobs->get("x", 990, 20)), bytes.substr(990));
  EXPECT_EQ(must(blobs->get("x", 1, kAll)), bytes.substr(1));
  EXPECT_EQ(must(blobs->get("x", 5, 0)), "");
  EXPECT_EQ(must(blobs->get("x", 1000, 1)), "");
  EXPECT_EQ(must(blobs->get("x", kAll, kAll)), "");
}

TEST_P(Blobs, WhatIsNotThereIsNotFound) {
  for (const std::string name : {"x", "v1/x", "v1/packs/ab/cd"}) {
    EXPECT_FALSE(has(name));
    EXPECT_EQ(blobs->get(name, 0, 1).error().kind, Kind::not_found);
    must(blobs->remove(name));
  }
  must(blobs->put("v1/packs/ab", "x"));
  EXPECT_FALSE(has("v1/packs")) << "what stands before a slash is no object";
  EXPECT_FALSE(has("v1/packs/ab/cd"));
  EXPECT_EQ(blobs->get("v1/packs", 0, 1).error().kind, Kind::not_found);
  EXPECT_TRUE(names("nothing/").empty());
}

TEST_P(Blobs, WhatIsRemovedIsGoneAndMayComeBack) {
  must(blobs->put("x", "first"));
  must(blobs->remove("x"));
  EXPECT_FALSE(has("x"));
  EXPECT_TRUE(names().empty());
  must(blobs->put("x", "second"));
  EXPECT_EQ(all_of("x"), "second");
}

TEST_P(Blobs, ListsByTheBeginningOfNames) {
  for (const char* name : {"v1/packs/ab/1", "v1/packs/ab/2", "v1/packs/ac/1", "v1/trees/1", "v2/1"})
    must(blobs->put(name, name));
  EXPECT_EQ(names().size(), 5U);
  EXPECT_EQ(names("v1/").size(), 4U);
  EXPECT_EQ(names("v1/packs/a").size(), 3U);
  EXPECT_EQ(names("v1/packs/ab/"), (std::set<std::string>{"v1/packs/ab/1", "v1/packs/ab/2"}));
  EXPECT_EQ(names("v1/trees/1"), std::set<std::string>{"v1/trees/1"});
  EXPECT_TRUE(names("v1/packs/b").empty());
  must(blobs->list("v1/trees/", [](const BlobInfo& one) {
    EXPECT_EQ(one.size, one.name.size());
    return true;
  }));
  int calls = 0;
  must(blobs->list("", [&](const BlobInfo&) { return ++calls < 2; }));
  EXPECT_EQ(calls, 2) << "false ends the listing";
}

TEST_P(Blobs, NamesThatLeadElsewhereAreRefused) {
  for (const std::string name : {"", "/", "/x", "x/", "a//b", ".", "..", "../x", "a/../b", "a/./b",
                                 "A", "a b", "a\n", "ä", "a\\b"}) {
    EXPECT_EQ(blobs->put(name, "x").error().kind, Kind::usage) << name;
    EXPECT_EQ(blobs->get(name, 0, 1).error().kind, Kind::usage) << name;
    EXPECT_EQ(blobs->look(name).error().kind, Kind::usage) << name;
    EXPECT_EQ(blobs->remove(name).error().kind, Kind::usage) << name;
  }
  EXPECT_EQ(blobs->put("a\0b"s, "x").error().kind, Kind::usage);
  EXPECT_EQ(blobs->put(std::string(256, 'a'), "x").error().kind, Kind::usage);
  const auto none = [](const BlobInfo&) { return true; };
  for (const char* prefix : {"../", "/", "a//", "A"})
    EXPECT_EQ(blobs->list(prefix, none).error().kind, Kind::usage) << prefix;
  for (const std::string name : {"a", "0", ".a", "..a", "a-b_c.d", "q/b/c/d/e"})
    must(blobs->put(name, name));
  EXPECT_EQ(names().size(), 6U);
}

TEST_P(Blobs, ALargeObjectComesBack) {
  const auto bytes = bytes_of(100U << 20);
  must(blobs->put("large", bytes));
  EXPECT_TRUE(all_of("large") == bytes);
  EXPECT_TRUE(must(blobs->get("large", 99U << 20, kAll)) == bytes.substr(99U << 20));
}

TEST_P(Blobs, ManyMayPutTheSame) {
  constexpr int kThreads = 8;
  std::barrier start(kThreads);
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i, own = std::shared_ptr(opened())] {
      start.arrive_and_wait();
      for (int k = 0; k < 20; ++k) {
        const auto name = fmt::format("same/{}", k);
        const auto bytes = std::string(10'000, static_cast<char>('a' + i));
        must((i % 2 == 0 ? *own : *blobs).put(name, bytes));
        const auto read = must(own->get(name, 0, kAll));
        EXPECT_EQ(read, std::string(10'000, read.at(0))) << "one of them, whole";
      }
    });
  threads.clear();
  EXPECT_EQ(names().size(), 20U);
}

TEST_P(Blobs, APutThatDiesLeavesNothingToSee) {
  const auto bytes = bytes_of(4U << 20);
  const int status = in_a_child([&] {
    stage->die_in_put();
    (void)opened()->put("x", bytes);
  });
  ASSERT_TRUE(WIFSIGNALED(status)) << "it was not killed on its way";
  EXPECT_FALSE(has("x"));
  EXPECT_TRUE(names().empty());
  must(blobs->put("x", bytes));
  EXPECT_TRUE(all_of("x") == bytes);
}

TEST_P(Blobs, KilledAtAnyTimeWhatWasPutIsWhole) {
  const auto bytes = bytes_of(200'000);
  for (int kill_after = 0; kill_after < 12; ++kill_after) {
    int acknowledged[2];
    ASSERT_EQ(::pipe(acknowledged), 0);
    const auto name = [&](int i) { return fmt::format("{}/{}", kill_after, i); };
    const auto child = ::fork();
    if (child == 0) {
      const auto own = opened();
      for (int i = 0;; ++i)
        if (!own->put(name(i), bytes) || ::write(acknowledged[1], "x", 1) != 1) ::_exit(1);
    }
    ::close(acknowledged[1]);
    char byte = 0;
    for (int i = 0; i < kill_after; ++i) EXPECT_EQ(::read(acknowledged[0], &byte, 1), 1);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    int done = kill_after;
    while (::read(acknowledged[0], &byte, 1) == 1) ++done;
    ::close(acknowledged[0]);
    for (int i = 0; i < done; ++i) EXPECT_TRUE(has(name(i))) << "it was said to be there";
    for (const auto& one : names(fmt::format("{}/", kill_after)))
      EXPECT_TRUE(all_of(one) == bytes) << one;
  }
}

TEST_P(Blobs, SendersShareTheLockAndACollectorIsAlone) {
  const auto other = opened();
  auto first = must(blobs->lock(BlobStore::LockKind::shared));
  auto second = must(other->lock(BlobStore::LockKind::shared));
  EXPECT_EQ(other->lock(BlobStore::LockKind::exclusive).error().kind, Kind::unavailable);
  first.reset();
  EXPECT_EQ(blobs->lock(BlobStore::LockKind::exclusive).error().kind, Kind::unavailable);
  second.reset();
  const auto alone = must(blobs->lock(BlobStore::LockKind::exclusive));
  EXPECT_EQ(blobs->lock(BlobStore::LockKind::exclusive).error().kind, Kind::unavailable);
  EXPECT_TRUE(names().empty()) << "the lock is no object";
}

TEST_P(Blobs, TheLockHoldsAcrossProcessesAndDiesWithItsHolder) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const auto child = ::fork();
  if (child == 0) {
    const auto held = opened()->lock(BlobStore::LockKind::shared);
    if (!held || ::write(ready[1], "x", 1) != 1) ::_exit(1);
    ::pause();
  }
  char byte = 0;
  EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(blobs->lock(BlobStore::LockKind::exclusive).error().kind, Kind::unavailable);
  must(blobs->lock(BlobStore::LockKind::shared));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  must(blobs->lock(BlobStore::LockKind::exclusive));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_P(Blobs, ASenderWaitsForTheCollector) {
  auto alone = must(blobs->lock(BlobStore::LockKind::exclusive));
  std::atomic<bool> is_given_back = false;
  std::latch asks(1);
  std::jthread sender([&, own = std::shared_ptr(opened())] {
    asks.count_down();
    const auto held = must(own->lock(BlobStore::LockKind::shared));
    EXPECT_TRUE(is_given_back) << "it came in while the collector was there";
  });
  asks.wait();
  is_given_back = true;
  alone.reset();
}

INSTANTIATE_TEST_SUITE_P(, Blobs, testing::ValuesIn(all_blob_providers()),
                         [](const auto& tested) { return std::string(tested.param.scheme); });

TEST(BlobAddress, AnUnknownStoreNamesTheKnownOnes) {
  for (const char* url : {"", "x", "/tmp/x", "ftp://x", "://", "FILE:///x"}) {
    const auto opened = open_blob_store(url);
    ASSERT_FALSE(opened) << url;
    EXPECT_EQ(opened.error().kind, Kind::usage);
    ASSERT_FALSE(opened.error().fix.empty());
    EXPECT_NE(opened.error().fix[0].find("file:///"), std::string::npos);
  }
  EXPECT_EQ(open_blob_store("file://relative").error().kind, Kind::usage);
  EXPECT_EQ(open_blob_store("file://").error().kind, Kind::usage);
}

}  // namespace
}  // namespace muster::contract
