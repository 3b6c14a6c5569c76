#include "edge/sqlite/records.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "edge/sqlite/store.hpp"
#include "unit/edge_sqlite/builders.hpp"

namespace muster {
namespace {

using test::must;
using test::queued_job;
using test::TempFolder;
using test::Writer;
using namespace std::string_literals;

struct RecordsTest : testing::Test {
  TempFolder folder;
  NoLog log;
  std::string path = folder.file("store.db");
  Writer writer;
  std::unique_ptr<SqliteStore> store = must(open_store(path, log));
  std::unique_ptr<Records> records = must(open_records(path));

  Job submit(JobSeq seq, std::string id = {}, std::string name = {}) {
    auto job = queued_job(seq);
    if (!id.empty()) job.id = JobId(std::move(id));
    if (!name.empty()) job.name = std::move(name);
    must(store->commit(writer.submit(job)));
    return job;
  }
  std::vector<JobSeq> listed(const JobFilter& filter) {
    std::vector<JobSeq> seqs;
    for (const auto& row : must(records->list(filter))) seqs.push_back(row.job.seq);
    return seqs;
  }
  Error refused(std::string_view text) {
    const auto result = records->resolve(text);
    EXPECT_FALSE(result) << text;
    return result ? Error{} : result.error();
  }
};
using Seqs = std::vector<JobSeq>;

TEST_F(RecordsTest, AnEmptyStoreAnswersEverything) {
  EXPECT_TRUE(listed({}).empty());
  EXPECT_TRUE(must(records->events(0, std::nullopt, 0)).empty());
  EXPECT_TRUE(must(records->counts()).empty());
  EXPECT_EQ(must(records->queued_ahead(0, 1)), 0);
  EXPECT_FALSE(must(records->env_in_use("e")));
  EXPECT_EQ(refused("x").kind, Kind::not_found);
  const auto detail = records->detail(1);
  ASSERT_FALSE(detail);
  EXPECT_EQ(detail.error().kind, Kind::not_found);
}

TEST_F(RecordsTest, ARowHasItsSpecAndItsLiveAttempt) {
  auto job = submit(1);
  must(store->commit(writer.place(job)));
  const auto rows = must(records->list({}));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(test::text_of(rows[0].job), test::text_of(job));
  EXPECT_EQ(encode(rows[0].spec), encode(test::spec_of(job)));
}

TEST_F(RecordsTest, StoredRowsComeOneByOneAndChangeWithTheirJob) {
  auto job = submit(1);
  submit(2);
  const auto bodies = [&] {
    std::map<JobSeq, std::string> seen;
    must(records->each({.newest_first = true}, [&](const StoredJob& stored) -> Result<> {
      seen[stored.seq] = stored.body;
      EXPECT_EQ(must(records->row(stored.seq)).job.seq, stored.seq) << "within the same snapshot";
      return {};
    }));
    return seen;
  };
  const auto before = bodies();
  ASSERT_EQ(before.size(), 2U);
  EXPECT_EQ(bodies(), before);
  must(store->commit(writer.place(job)));
  const auto after = bodies();
  EXPECT_NE(after.at(1), before.at(1));
  EXPECT_EQ(after.at(2), before.at(2));
  EXPECT_EQ(records->row(3).error().kind, Kind::not_found);
}

TEST_F(RecordsTest, AFilterKeepsWhatItNames) {
  auto done = submit(1);
  auto placed = submit(2);
  submit(3);
  auto bobs = queued_job(4);
  bobs.user = "bob";
  must(store->commit(writer.submit(bobs)));
  must(store->commit(writer.place(placed)));
  must(store->commit(writer.finish(done)));
  EXPECT_EQ(listed({}), (Seqs{1, 2, 3, 4}));
  EXPECT_EQ(listed({.newest_first = true}), (Seqs{4, 3, 2, 1}));
  EXPECT_EQ(listed({.user = "bob"}), (Seqs{4}));
  EXPECT_EQ(listed({.states = {JobState::queued}}), (Seqs{3, 4}));
  EXPECT_EQ(listed({.user = "alice", .states = {JobState::queued}}), (Seqs{3}));
  EXPECT_EQ(listed({.states = {JobState::succeeded, JobState::starting}}), (Seqs{1, 2}));
  EXPECT_EQ(listed({.states = {JobState::succeeded, JobState::failed}}), (Seqs{1}));
  EXPECT_EQ(listed({.states = {JobState::cancelled, JobState::failed}}), (Seqs{}));
  EXPECT_EQ(listed({.final = true}), (Seqs{1}));
  EXPECT_EQ(listed({.final = false}), (Seqs{2, 3, 4}));
  EXPECT_EQ(listed({.states = {JobState::queued}, .final = true}), (Seqs{}));
  EXPECT_EQ(listed({.states = {JobState::succeeded}, .final = true}), (Seqs{1}));
}

TEST_F(RecordsTest, PagesFollowEachOtherInBothOrders) {
  for (JobSeq seq = 1; seq <= 5; ++seq) submit(seq);
  EXPECT_EQ(listed({.limit = 2}), (Seqs{1, 2}));
  EXPECT_EQ(listed({.after = 2, .limit = 2}), (Seqs{3, 4}));
  EXPECT_EQ(listed({.after = 4, .limit = 2}), (Seqs{5}));
  EXPECT_EQ(listed({.limit = 2, .newest_first = true}), (Seqs{5, 4}));
  EXPECT_EQ(listed({.after = 4, .limit = 2, .newest_first = true}), (Seqs{3, 2}));
  EXPECT_EQ(listed({.final = false, .after = 2, .limit = 2, .newest_first = true}), (Seqs{1}));
}

TEST_F(RecordsTest, TenThousandJobsAreListed) {
  constexpr JobSeq kJobs = 10'000;
  for (JobSeq seq = 1; seq <= kJobs;) {
    auto batch = writer.empty();
    for (int i = 0; i < 500; ++i) writer.add_submit(batch, queued_job(seq++));
    must(store->commit(batch));
  }
  const auto rows = must(records->list({}));
  ASSERT_EQ(rows.size(), static_cast<std::size_t>(kJobs));
  for (JobSeq seq = 1; seq <= kJobs; ++seq) {
    ASSERT_EQ(rows[seq - 1].job.seq, seq);
    ASSERT_EQ(rows[seq - 1].spec.name, rows[seq - 1].job.name);
  }
  EXPECT_EQ(must(records->counts()).at("queued"), kJobs);
  EXPECT_EQ(must(records->queued_ahead(0, kJobs)), kJobs - 1);
}

TEST_F(RecordsTest, AFullIdWinsOverEverything) {
  submit(1, "alice_1_0a");
  submit(2, "alice_1_0a1");
  submit(3, "alice_1_0b", "alice_1_0a");
  EXPECT_EQ(must(records->resolve("alice_1_0a")), 1);
}

TEST_F(RecordsTest, AUniquePrefixOrSuffixOrNameIsEnough) {
  submit(1, "alice_1_00aa", "first");
  submit(2, "alice_2_00ab", "second");
  submit(3, "bob_3_00cd", "third");
  EXPECT_EQ(must(records->resolve("b")), 3);
  EXPECT_EQ(must(records->resolve("alice_2")), 2);
  EXPECT_EQ(must(records->resolve("aa")), 1);
  EXPECT_EQ(must(records->resolve("00ab")), 2);
  EXPECT_EQ(must(records->resolve("third")), 3);
}

TEST_F(RecordsTest, AnAmbiguousTextListsCandidates) {
  submit(1, "alice_1_00aa");
  submit(2, "alice_2_00ab");
  const auto error = refused("alice");
  EXPECT_EQ(error.kind, Kind::usage);
  ASSERT_EQ(error.fix.size(), 2U);
  EXPECT_NE(error.fix[0].find("alice_2_00ab"), std::string::npos) << "the newest first";
  EXPECT_NE(error.fix[1].find("alice_1_00aa"), std::string::npos);
}

TEST_F(RecordsTest, ARepeatedNameIsAmbiguousAndListsEightAtMost) {
  for (JobSeq seq = 1; seq <= 12; ++seq) submit(seq, {}, "same");
  const auto error = refused("same");
  EXPECT_EQ(error.kind, Kind::usage);
  ASSERT_EQ(error.fix.size(), 8U);
  EXPECT_NE(error.fix[0].find(test::id_of(12).str()), std::string::npos);
  EXPECT_NE(error.fix[7].find("and more"), std::string::npos);
}

TEST_F(RecordsTest, AMisspeltNameFindsItsNearest) {
  submit(1, {}, "train-resnet");
  const auto error = refused("tarin-resnet");
  EXPECT_EQ(error.kind, Kind::not_found);
  EXPECT_EQ(error.what, "no job \"tarin-resnet\"");
  ASSERT_FALSE(error.fix.empty());
  EXPECT_EQ(error.fix[0], "did you mean \"train-resnet\"?");
}

TEST_F(RecordsTest, EmptyAndAbsurdTextsAreRefused) {
  submit(1);
  for (const auto& text : {std::string(), std::string(" \n"), std::string(5'000, 'a')})
    EXPECT_EQ(refused(text).kind, Kind::usage);
  EXPECT_EQ(refused("%").kind, Kind::not_found) << "no wildcards";
  EXPECT_EQ(refused("' OR 1=1 --").kind, Kind::not_found);
  EXPECT_EQ(refused("a\0b"s).kind, Kind::not_found);
  EXPECT_EQ(refused("\x1B[31m").what, "no job \"\\x1b[31m\"");
}

TEST_F(RecordsTest, OddIdsAndNamesAreFoundByTheirBytes) {
  const std::string id = "\xFF\xFE_1_\xFF\xFF";
  const std::string name = "line one\nline two \x80";
  submit(1, id, name);
  submit(2, "caf\xC3\xA9_2_'quote\"", "%_");
  submit(3);
  EXPECT_EQ(must(records->resolve(id)), 1);
  EXPECT_EQ(must(records->resolve("\xFF")), 1) << "a prefix without an upper end";
  EXPECT_EQ(must(records->resolve("\xFF\xFF")), 1);
  EXPECT_EQ(must(records->resolve(name)), 1);
  EXPECT_EQ(must(records->resolve("caf\xC3")), 2) << "bytes, not characters";
  EXPECT_EQ(must(records->resolve("\"")), 2);
  EXPECT_EQ(must(records->resolve("%_")), 2);
  const auto rows = must(records->list({.limit = 1}));
  EXPECT_EQ(rows.at(0).job.id.str(), id);
  EXPECT_EQ(rows.at(0).job.name, name);
}

TEST_F(RecordsTest, DetailHasAllAttemptsInOrder) {
  auto job = submit(1);
  must(store->commit(writer.place(job)));
  auto ended = *job.live;
  ended.state = AttemptState::ended;
  ended.cause = Cause::lost;
  job.live.reset();
  auto batch = writer.place(job);
  batch.ended.emplace_back(job.seq, ended);
  must(store->commit(batch));
  const auto detail = must(records->detail(1));
  ASSERT_EQ(detail.attempts.size(), 2U);
  EXPECT_EQ(encode(detail.attempts[0]), encode(ended));
  EXPECT_EQ(encode(detail.attempts[1]), encode(*job.live));
  ASSERT_TRUE(detail.job.live);
  EXPECT_EQ(detail.job.live->n, 2);
  EXPECT_EQ(encode(detail.spec), encode(test::spec_of(job)));
}

TEST_F(RecordsTest, EventsComeInOrderAsTheyWereStored) {
  auto first = submit(1);
  submit(2);
  must(store->commit(writer.place(first)));
  const auto all = must(records->events(0, std::nullopt, 0));
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].sequence, 1);
  EXPECT_EQ(all[0].kind, "submitted");
  EXPECT_EQ(all[0].version, kEventVersion);
  EXPECT_EQ(all[0].actor, "alice");
  EXPECT_EQ(all[0].id, first.id);
  EXPECT_EQ(all[0].body, encode_body(Submitted{first.id, test::spec_of(first)}));
  EXPECT_EQ(all[0].at.us, 1'700'000'000'000'001);
  const auto of_first = must(records->events(1, 1, 0));
  ASSERT_EQ(of_first.size(), 1U);
  EXPECT_EQ(of_first[0].kind, "placed");
  EXPECT_EQ(must(records->events(0, std::nullopt, 2)).size(), 2U);
  EXPECT_EQ(must(records->events(2, std::nullopt, 2)).size(), 1U);
  EXPECT_TRUE(must(records->events(0, 99, 0)).empty());
}

TEST_F(RecordsTest, QueuedJobsAheadAreCountedByPriorityThenNumber) {
  for (JobSeq seq = 1; seq <= 4; ++seq) {
    auto job = queued_job(seq);
    job.priority = seq == 3 ? 10 : 0;
    must(store->commit(writer.submit(job)));
  }
  auto running = queued_job(5);
  running.priority = 99;
  must(store->commit(writer.submit(running)));
  must(store->commit(writer.place(running)));
  EXPECT_EQ(must(records->queued_ahead(10, 3)), 0);
  EXPECT_EQ(must(records->queued_ahead(0, 1)), 1);
  EXPECT_EQ(must(records->queued_ahead(0, 4)), 3);
  EXPECT_EQ(must(records->queued_ahead(-1, 6)), 4);
}

TEST_F(RecordsTest, AnEnvironmentIsInUseUntilItsLastJobIsFinal) {
  auto first = submit(1);
  auto second = submit(2);
  EXPECT_TRUE(must(records->env_in_use(first.env_id)));
  EXPECT_FALSE(must(records->env_in_use("other")));
  must(store->commit(writer.finish(first)));
  EXPECT_TRUE(must(records->env_in_use(first.env_id)));
  must(store->commit(writer.finish(second)));
  EXPECT_FALSE(must(records->env_in_use(first.env_id)));
  EXPECT_EQ(must(records->counts()), (std::map<std::string, std::int64_t>{{"succeeded", 2}}));
}

TEST_F(RecordsTest, ReadersWorkWhenNoServerHasTheStoreOpen) {
  submit(1);
  records.reset();
  store.reset();
  EXPECT_EQ(must(must(open_records(path))->list({})).size(), 1U);
}

TEST_F(RecordsTest, TwoReadersSeeWholeCommitsDuringWrites) {
  // Every commit writes a pair of jobs: an odd count would be half a commit.
  std::atomic<bool> is_done = false;
  std::atomic<int> odd = 0;
  std::atomic<int> failed = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i)
    readers.emplace_back([&] {
      const auto mine = open_records(path);
      if (!mine) ++failed;
      for (bool last = false; mine && !last;) {
        last = is_done;  // one more look after the end
        const auto rows = (*mine)->list({});
        if (!rows)
          ++failed;
        else if (rows->size() % 2 != 0)
          ++odd;
        if (last && rows && rows->size() != 200) ++failed;
      }
    });
  for (JobSeq seq = 1; seq <= 200; seq += 2) {
    auto batch = writer.empty();
    writer.add_submit(batch, queued_job(seq));
    writer.add_submit(batch, queued_job(seq + 1));
    must(store->commit(batch));
    if (seq % 40 == 1) must(store->checkpoint_if_idle());
  }
  is_done = true;
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(odd, 0);
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace muster
