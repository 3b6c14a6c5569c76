#include "edge/process/log_pump.hpp"

#include <fcntl.h>
#include <rapidcheck/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <filesystem>

#include "edge/process/files.hpp"
#include "lab.hpp"

namespace muster::process::testing {
namespace {

struct Row {
  std::uint64_t offset, length, stream, wall;
};

std::vector<Row> rows_of(const std::string& index) {
  std::vector<Row> rows;
  for (std::size_t at = 0; at + 24 <= index.size(); at += 24) {
    Row row{};
    std::uint32_t length = 0;
    std::memcpy(&row.offset, index.data() + at, 8);
    std::memcpy(&length, index.data() + at + 8, 4);
    std::memcpy(&row.wall, index.data() + at + 16, 8);
    row.length = length;
    row.stream = static_cast<std::uint64_t>(index[at + 12]);
    rows.push_back(row);
  }
  return rows;
}

struct Folder {
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "muster-log-XXXXXX";
    path = ::mkdtemp(name.data());
    fd = std::move(*open_dir(path));
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string operator[](const char* name) const { return content_of(path + "/" + name); }
  std::string path;
  UniqueFd fd;
};

std::string hash_of(const std::string& bytes) {
  Xxh3 hash;
  hash.feed(bytes);
  return hash.hex();
}

/// While it lives, a file of this process can be no larger.
struct FileSizeLimit {
  explicit FileSizeLimit(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before);
    const rlimit limit{bytes, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before);
    ::signal(SIGXFSZ, SIG_DFL);
  }
  rlimit before{};
};

RC_GTEST_PROP(RankLog, FilesHoldTheExactBytesAndTheIndexTellsTheirOrder, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::pair<bool, std::string>>>(
      rc::gen::pair(rc::gen::arbitrary<bool>(), rc::gen::string<std::string>()));
  const Folder folder;
  RankLog log(folder.fd.get(), 3);
  std::string wanted[2];
  std::int64_t at = 100;
  for (const auto& [is_err, bytes] : pieces) {
    log.append(is_err ? Stream::err : Stream::out, bytes, {at++});
    wanted[is_err ? 1 : 0] += bytes;
  }
  log.finish({at});
  RC_ASSERT(folder["rank-00003.out"] == wanted[0]);
  RC_ASSERT(folder["rank-00003.err"] == wanted[1]);
  RC_ASSERT(log.xxh3(Stream::out) == hash_of(wanted[0]));
  RC_ASSERT(log.bytes(Stream::err) == static_cast<std::int64_t>(wanted[1].size()));
  std::uint64_t reached[2] = {0, 0};
  std::uint64_t time = 0;
  for (const auto& row : rows_of(folder["rank-00003.idx"])) {
    RC_ASSERT(row.offset == reached[row.stream]);
    RC_ASSERT(row.wall > time);
    reached[row.stream] += row.length;
    time = row.wall;
  }
  RC_ASSERT(reached[0] == wanted[0].size());
  RC_ASSERT(reached[1] == wanted[1].size());
}

TEST(RankLog, AStreamWithoutBytesHasNoFile) {
  const Folder folder;
  RankLog log(folder.fd.get(), 0);
  log.append(Stream::err, "x", {1});
  log.finish({2});
  EXPECT_FALSE(std::filesystem::exists(folder.path + "/rank-00000.out"));
  EXPECT_EQ(folder["rank-00000.err"], "x");
}

TEST(RankLog, WhatADiskRefusesIsCountedAndMarkedOnceItTakesBytesAgain) {
  const Folder folder;
  RankLog log(folder.fd.get(), 0);
  {
    const FileSizeLimit limit(10);
    log.append(Stream::out, "0123456", {1});
    log.append(Stream::out, "789abcdef", {2});  // three fit
    log.append(Stream::out, "gone too", {3});
  }
  log.append(Stream::out, "back\n", {4});
  log.finish({5});
  const std::string wanted = "0123456789\n[muster: 14 bytes lost: File too large]\nback\n";
  EXPECT_EQ(folder["rank-00000.out"], wanted);
  EXPECT_EQ(log.bytes(Stream::out), static_cast<std::int64_t>(wanted.size()));
  EXPECT_EQ(log.xxh3(Stream::out), hash_of(wanted));
  std::uint64_t reached = 0;
  for (const auto& row : rows_of(folder["rank-00000.idx"])) {
    EXPECT_EQ(row.offset, reached);
    reached += row.length;
  }
  EXPECT_EQ(reached, wanted.size()) << "the index makes up for rows it could not write";
}

TEST(RankLog, AGapAtTheEndIsMarkedAtTheEnd) {
  const Folder folder;
  RankLog log(folder.fd.get(), 0);
  {
    const FileSizeLimit limit(4);
    log.append(Stream::out, "1234", {1});
    log.append(Stream::out, "56", {2});
  }
  log.finish({3});
  EXPECT_EQ(folder["rank-00000.out"], "1234\n[muster: 2 bytes lost: File too large]\n");
}

}  // namespace
}  // namespace muster::process::testing
