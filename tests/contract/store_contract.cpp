// What every Store promises, asked of each of them: SQLite on a real disk, and memory.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <signal.h>
#include <sys/resource.h>

#include "app/sim/memory_store.hpp"
#include "edge/sqlite/store.hpp"
#include "unit/edge_sqlite/builders.hpp"

namespace muster {
namespace {

using test::must;
using test::queued_job;
using test::spec_of;
using test::text_of;
using test::Writer;
using namespace std::string_literals;

/// A store that can be left and entered again, and whose commits can be made to fail.
class Place {
 public:
  virtual ~Place() = default;
  virtual Store& store() = 0;
  /// A crash of the server: what was durable is there, nothing else.
  virtual void reopen() = 0;
  /// A commit while nothing can be written.
  virtual Result<> commit_broken(const Batch& batch) = 0;
};

class MemoryPlace final : public Place {
 public:
  Store& store() override { return store_; }
  void reopen() override {}
  Result<> commit_broken(const Batch& batch) override {
    store_.fail_next_commit(CommitFault::before);
    return store_.commit(batch);
  }

 private:
  MemoryStore store_{42};
};

class SqlitePlace final : public Place {
 public:
  SqlitePlace() { reopen(); }
  Store& store() override { return *store_; }
  void reopen() override {
    store_.reset();
    store_ = must(open_store(folder_.file("store.db"), log_));
  }
  Result<> commit_broken(const Batch& batch) override {
    // No file of this process may be written at all: the disk is full for SQLite.
    const auto before = ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    const rlimit none{0, limit.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &none);
    auto result = store_->commit(batch);
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::signal(SIGXFSZ, before);
    return result;
  }

 private:
  test::TempFolder folder_;
  NoLog log_;
  std::unique_ptr<SqliteStore> store_;
};

struct StoreKind {
  std::string name;
  std::function<std::unique_ptr<Place>()> make;
};

/// Everything a restart sees, as text.
std::string text_of(const Loaded& loaded) {
  auto text =
      fmt::format("seq {} event {} run {}\n", loaded.last_seq, loaded.last_event, loaded.run.us);
  for (const auto& job : loaded.jobs) text += text_of(job) + "\n";
  return text;
}

class StoreContract : public testing::TestWithParam<StoreKind> {
 protected:
  std::unique_ptr<Place> place = GetParam().make();
  Writer writer;

  Store& store() { return place->store(); }
  Loaded reloaded() {
    place->reopen();
    return must(store().load());
  }
  void commit(const Batch& batch) { must(store().commit(batch)); }
  Kind refusal(const Batch& batch) {
    const auto before = text_of(must(store().load()));
    const auto result = store().commit(batch);
    EXPECT_FALSE(result);
    EXPECT_EQ(text_of(must(store().load())), before) << "a refused batch leaves nothing";
    return result ? Kind::cancelled : result.error().kind;
  }
};

TEST_P(StoreContract, AnEmptyStoreLoadsEmpty) {
  const auto loaded = reloaded();
  EXPECT_TRUE(loaded.jobs.empty());
  EXPECT_EQ(loaded.last_seq, 0);
  EXPECT_EQ(loaded.last_event, 0);
  EXPECT_EQ(loaded.run.us, 0);
  EXPECT_NE(loaded.id_key, 0U);
  EXPECT_EQ(must(store().job(1)), std::nullopt);
  EXPECT_FALSE(must(store().find_key("alice", "k")));
}

TEST_P(StoreContract, TheKeyOfIdsStays) {
  const auto before = must(store().load()).id_key;
  EXPECT_EQ(reloaded().id_key, before);
}

TEST_P(StoreContract, WhatWasCommittedIsLoaded) {
  auto job = queued_job(1);
  commit(writer.submit(job));
  auto batch = writer.place(job);
  batch.now.run = {4711};
  commit(batch);
  const auto loaded = reloaded();
  ASSERT_EQ(loaded.jobs.size(), 1U);
  EXPECT_EQ(text_of(loaded.jobs[0]), text_of(job));
  EXPECT_EQ(loaded.last_seq, 1);
  EXPECT_EQ(loaded.last_event, 2);
  EXPECT_EQ(loaded.run.us, 4711);
}

TEST_P(StoreContract, JobsAreLoadedInTheOrderOfSubmission) {
  auto batch = writer.empty();
  for (const JobSeq seq : {3, 1, 2}) writer.add_submit(batch, queued_job(seq));
  commit(batch);
  const auto loaded = reloaded();
  ASSERT_EQ(loaded.jobs.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(loaded.jobs[i].seq, static_cast<JobSeq>(i) + 1);
  EXPECT_EQ(loaded.last_seq, 3);
}

TEST_P(StoreContract, FinalJobsAreNotLoadedButFound) {
  auto job = queued_job(1);
  commit(writer.submit(job));
  commit(writer.place(job));
  commit(writer.finish(job));
  const auto loaded = reloaded();
  EXPECT_TRUE(loaded.jobs.empty());
  EXPECT_EQ(loaded.last_seq, 1) << "numbers are not given twice";
  const auto found = must(store().job(1));
  ASSERT_TRUE(found);
  EXPECT_EQ(text_of(*found), text_of(job));
  EXPECT_EQ(encode(must(store().spec(1))), encode(spec_of(job)));
}

TEST_P(StoreContract, AJobMayBeSubmittedAndFinishedInOneBatch) {
  auto job = queued_job(1);
  auto batch = writer.submit(job);
  auto end = writer.finish(job);
  batch.events.insert(batch.events.end(), end.events.begin(), end.events.end());
  batch.jobs = end.jobs;
  commit(batch);
  EXPECT_TRUE(reloaded().jobs.empty());
  EXPECT_EQ(must(store().job(1))->state, JobState::succeeded);
}

TEST_P(StoreContract, OnlyTheAttemptThatHasNotEndedIsLive) {
  auto job = queued_job(1);
  commit(writer.submit(job));
  commit(writer.place(job));
  auto ended = *job.live;
  ended.state = AttemptState::ended;
  job.live.reset();
  job.state = JobState::queued;
  auto batch = writer.update(job, Requeued{.budget = Budget::infrastructure});
  batch.ended.emplace_back(1, ended);
  commit(batch);
  EXPECT_FALSE(reloaded().jobs.at(0).live);
  commit(writer.place(job));
  const auto again = reloaded();
  ASSERT_TRUE(again.jobs.at(0).live);
  EXPECT_EQ(again.jobs[0].live->n, 2);
}

TEST_P(StoreContract, AKeyLeadsToItsJobWithinItsUserOnly) {
  auto job = queued_job(1);
  job.key = "k\n\xFF";
  job.request_hash = "h";
  commit(writer.submit(job));
  place->reopen();
  const auto hit = must(store().find_key("alice", job.key));
  ASSERT_TRUE(hit);
  EXPECT_EQ(hit->seq, 1);
  EXPECT_EQ(hit->id, job.id);
  EXPECT_EQ(hit->request_hash, "h");
  EXPECT_FALSE(must(store().find_key("bob", job.key)));
  EXPECT_FALSE(must(store().find_key("alice", "k")));
}

TEST_P(StoreContract, AKeyOutlivesTheEndOfItsJob) {
  auto job = queued_job(1);
  job.key = "k";
  commit(writer.submit(job));
  commit(writer.finish(job));
  place->reopen();
  EXPECT_TRUE(must(store().find_key("alice", "k")));
}

TEST_P(StoreContract, JobsWithoutKeysDoNotMeet) {
  commit(writer.submit(queued_job(1)));
  commit(writer.submit(queued_job(2)));
  EXPECT_FALSE(must(store().find_key("alice", "")));
}

TEST_P(StoreContract, OneKeyIsOneJob) {
  auto first = queued_job(1);
  auto second = queued_job(2);
  first.key = second.key = "k";
  commit(writer.submit(first));
  EXPECT_EQ(refusal(writer.submit(second)), Kind::conflict);
  EXPECT_EQ(must(store().find_key("alice", "k"))->seq, 1);
}

TEST_P(StoreContract, TheSpecOfNoJobIsNotFound) {
  const auto spec = store().spec(7);
  ASSERT_FALSE(spec);
  EXPECT_EQ(spec.error().kind, Kind::not_found);
}

TEST_P(StoreContract, OddBytesComeBack) {
  auto job = queued_job(1);
  job.id = JobId("'; DROP TABLE jobs; --\xFF");
  job.name = "line\nline\0nul \xC3\x28"s;
  job.user = "m\xC3\xBCller";
  commit(writer.submit(job));
  EXPECT_EQ(text_of(reloaded().jobs.at(0)), text_of(job));
  EXPECT_EQ(must(store().spec(1)).name, job.name);
}

TEST_P(StoreContract, NumbersIdsAndEventsAreGivenOnce) {
  commit(writer.submit(queued_job(1)));
  EXPECT_EQ(refusal(writer.submit(queued_job(1))), Kind::conflict);
  auto same_id = queued_job(2);
  same_id.id = queued_job(1).id;
  EXPECT_EQ(refusal(writer.submit(same_id)), Kind::conflict);
  Writer from_the_start;
  EXPECT_EQ(refusal(from_the_start.submit(queued_job(3))), Kind::conflict);
}

TEST_P(StoreContract, AnUnknownJobCannotBeUpdated) {
  EXPECT_EQ(refusal(writer.update(queued_job(1), CancelRequested{"alice"})), Kind::internal);
}

TEST_P(StoreContract, FinalIsFinal) {
  auto job = queued_job(1);
  commit(writer.submit(job));
  commit(writer.finish(job));
  job.state = JobState::queued;
  EXPECT_EQ(refusal(writer.update(job, Requeued{})), Kind::internal);
  EXPECT_EQ(must(store().job(1))->state, JobState::succeeded);
}

TEST_P(StoreContract, ABatchThatContradictsItselfIsRefused) {
  auto no_row = writer.submit(queued_job(1));
  no_row.jobs.clear();
  EXPECT_EQ(refusal(no_row), Kind::internal);
  auto row_twice = writer.submit(queued_job(1));
  row_twice.jobs.push_back(queued_job(1));
  EXPECT_EQ(refusal(row_twice), Kind::internal);
  auto backwards = writer.submit(queued_job(1));
  writer.add_submit(backwards, queued_job(2));
  std::swap(backwards.events[0], backwards.events[1]);
  EXPECT_EQ(refusal(backwards), Kind::internal);
}

TEST_P(StoreContract, ARefusedLastRowTakesTheFirstWithIt) {
  commit(writer.submit(queued_job(1)));
  auto batch = writer.submit(queued_job(2));
  writer.add_submit(batch, queued_job(1));  // clashes only after job 2 was written
  EXPECT_EQ(refusal(batch), Kind::conflict);
  EXPECT_EQ(must(store().job(2)), std::nullopt);
  EXPECT_EQ(reloaded().jobs.size(), 1U);
}

TEST_P(StoreContract, AFailedCommitLeavesNothingAndTheStoreUsable) {
  commit(writer.submit(queued_job(1)));
  const auto before = text_of(must(store().load()));
  const auto event = writer.last();
  auto job = queued_job(2);
  job.key = "k";
  const auto failed = place->commit_broken(writer.submit(job));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, Kind::exhausted);
  EXPECT_EQ(text_of(must(store().load())), before);
  EXPECT_FALSE(must(store().find_key("alice", "k")));
  writer = Writer(event);
  commit(writer.submit(job));
  EXPECT_EQ(reloaded().jobs.size(), 2U);
  EXPECT_TRUE(must(store().find_key("alice", "k")));
}

TEST_P(StoreContract, ABatchWithoutEventsMovesTheClock) {
  commit({.now = {{10}, {77}}});
  EXPECT_EQ(reloaded().run.us, 77);
}

/// Plain maps that do what a store should.
struct Model {
  std::map<JobSeq, Job> jobs;
  std::map<JobSeq, JobSpec> specs;
  RunTime run;

  std::string text(std::int64_t last_event) const {
    Loaded loaded{
        .last_seq = jobs.empty() ? 0 : jobs.rbegin()->first, .last_event = last_event, .run = run};
    for (const auto& [seq, job] : jobs)
      if (!is_final(job.state)) loaded.jobs.push_back(job);
    return text_of(loaded);
  }
};

/// One random step in the life of a random job, added to a batch that does not touch it yet.
void add_step(Writer& writer, Batch& batch, std::map<JobSeq, Job>& jobs) {
  const auto pick = *rc::gen::inRange<std::size_t>(0, jobs.size() + 2);
  if (pick >= jobs.size()) {
    auto job = queued_job(static_cast<JobSeq>(jobs.size()) + 1);
    job.name = *rc::gen::arbitrary<std::string>();
    job.key = *rc::gen::element<std::string>("", fmt::format("key-{}", job.seq));
    job.priority = *rc::gen::inRange(-5, 5);
    writer.add_submit(batch, job);
    jobs[job.seq] = job;
    return;
  }
  auto& job = std::next(jobs.begin(), static_cast<std::ptrdiff_t>(pick))->second;
  const auto is_touched = [&](const Job& row) { return row.seq == job.seq; };
  if (is_final(job.state) || std::any_of(batch.jobs.begin(), batch.jobs.end(), is_touched)) return;
  const bool ends = *rc::gen::arbitrary<bool>();
  auto more = ends       ? writer.finish(job)
              : job.live ? writer.update(job, Started{job.attempts})
                         : writer.place(job);
  batch.events.insert(batch.events.end(), more.events.begin(), more.events.end());
  batch.jobs.insert(batch.jobs.end(), more.jobs.begin(), more.jobs.end());
  batch.ended.insert(batch.ended.end(), more.ended.begin(), more.ended.end());
}

TEST_P(StoreContract, RandomBatchesReloadAsAPlainModelWouldHaveThem) {
  const auto holds = rc::check([&] {
    const auto here = GetParam().make();
    Writer random_writer;
    Model model;
    const int commits = *rc::gen::inRange(1, 8);
    for (int i = 0; i < commits; ++i) {
      auto next = model.jobs;
      auto later = random_writer;
      auto batch = later.empty();
      batch.now.run = {*rc::gen::inRange<std::int64_t>(0, 1'000'000)};
      const int steps = *rc::gen::inRange(0, 12);
      for (int k = 0; k < steps; ++k) add_step(later, batch, next);
      if (*rc::gen::inRange(0, 4) == 0) {
        RC_ASSERT(!here->commit_broken(batch));
      } else {
        RC_ASSERT(here->store().commit(batch).has_value());
        model.jobs = std::move(next);
        model.run = batch.now.run;
        random_writer = later;
      }
      if (*rc::gen::inRange(0, 3) == 0) here->reopen();
      const auto loaded = here->store().load();
      RC_ASSERT(loaded.has_value());
      RC_ASSERT(text_of(*loaded) == model.text(random_writer.last()));
    }
    here->reopen();
    for (const auto& [seq, job] : model.jobs) {
      const auto row = here->store().job(seq);
      RC_ASSERT(row.has_value() && row->has_value());
      RC_ASSERT(text_of(**row) == text_of(job));
      const auto spec = here->store().spec(seq);
      RC_ASSERT(spec.has_value() && encode(*spec) == encode(spec_of(job)));
      const auto hit = here->store().find_key(job.user, job.key);
      RC_ASSERT(hit.has_value() && hit->has_value() == !job.key.empty());
    }
  });
  EXPECT_TRUE(holds);
}

INSTANTIATE_TEST_SUITE_P(
    , StoreContract,
    testing::Values(StoreKind{"sqlite", [] { return std::make_unique<SqlitePlace>(); }},
                    StoreKind{"memory", [] { return std::make_unique<MemoryPlace>(); }}),
    [](const auto& tested) { return tested.param.name; });

TEST(MemoryStoreFaults, ACommitMayFailAfterAllOfItIsDurable) {
  MemoryStore store;
  Writer writer;
  store.fail_next_commit(CommitFault::after);
  EXPECT_FALSE(store.commit(writer.submit(queued_job(1))));
  EXPECT_EQ(must(store.load()).jobs.size(), 1U);
  must(store.commit(writer.submit(queued_job(2))));
  EXPECT_EQ(must(store.events()).size(), 2U);
}

TEST(MemoryStoreFaults, DroppedHistoryKeepsSpecsAndNumbers) {
  MemoryStore store(1, History::dropped);
  Writer writer;
  auto job = queued_job(1);
  must(store.commit(writer.submit(job)));
  must(store.commit(writer.place(job)));
  must(store.commit(writer.finish(job)));
  EXPECT_EQ(must(store.events()).size(), 1U);
  EXPECT_EQ(must(store.load()).last_event, writer.last());
  EXPECT_EQ(encode(must(store.spec(1))), encode(spec_of(job)));
  EXPECT_EQ(must(store.attempts(1)).size(), 1U);
}

}  // namespace
}  // namespace muster
