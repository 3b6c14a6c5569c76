// The documents a script reads: jobs, events, errors, and the records of an attempt.
#include "app/api/error_json.hpp"
#include "app/server/job_json.hpp"
#include "core/model/codec.hpp"
#include "core/model/json.hpp"
#include "edge/process/lines.hpp"
#include "golden.hpp"
#include "samples.hpp"

namespace muster::golden {
namespace {

const std::vector<Reason> kReasons{
    {.code = "busy", .text = "needs 2.5 cpu on each of 2 nodes", .fix = "wait, or ask for less"}};

JobRow queued_row() {
  auto job = sample_job();
  job.job.state = JobState::queued;
  job.job.cause = Cause::none;
  job.job.exit_code = 0;
  job.job.started_at.reset();
  job.job.ended_at.reset();
  return {job.job, job.spec};
}

void expect_fields(const json::object& object, std::initializer_list<std::string_view> names) {
  for (const auto name : names)
    EXPECT_TRUE(object.contains(json::string_view(name.data(), name.size()))) << name;
}

TEST(GoldenDocuments, AJobWithItsAttempts) {
  expect_golden("job.json", unfolded(server::job_json(sample_job(), {})));
}

TEST(GoldenDocuments, AJobThatWaits) {
  expect_golden("job_queued.json", unfolded(server::job_json(queued_row(), kReasons)));
}

TEST(GoldenDocuments, AListOfJobs) {
  const auto row = server::job_json(queued_row(), {});
  EXPECT_EQ(server::jobs_json({}), R"({"schema":1,"jobs":[]})");
  EXPECT_EQ(server::jobs_json({row, row}), R"({"schema":1,"jobs":[)" + row + "," + row + "]}");
}

TEST(GoldenDocuments, TheAnswerToWhy) {
  expect_golden("why.json", unfolded(server::why_json(sample_job(), {})));
}

TEST(GoldenDocuments, AnEventAsTheStreamTellsIt) {
  const EventRow row{.sequence = 9,
                     .at = {1'772'366'400'000'000},
                     .actor = "ann",
                     .job = 7,
                     .id = JobId("ann_1772366400_0badcafe"),
                     .kind = "started",
                     .version = 1,
                     .body = R"({"attempt":1})"};
  expect_golden("event.json", unfolded(server::event_json(row)));
}

TEST(GoldenDocuments, AJobHasEveryAgreedField) {
  const auto text = server::job_json(sample_job(), kReasons);
  const auto parsed = parse_json(text);
  ASSERT_TRUE(parsed);
  const auto& job = parsed->get_object();
  expect_fields(
      job, {"schema",         "id",         "name",       "user",         "key",        "state",
            "reasons",        "cause",      "exit_code",  "signal",       "command",    "cluster",
            "queue",          "priority",   "experiment", "tags",         "gpus",       "nodes",
            "procs_per_node", "snapshot",   "attempt",    "submitted_at", "started_at", "ended_at",
            "attempts",       "unreachable"});
  expect_fields(job.at("reasons").as_array().at(0).as_object(), {"code", "text", "fix"});
  for (const auto& attempt : job.at("attempts").as_array())
    expect_fields(attempt.as_object(), {"n", "epoch", "state", "nodes", "cause", "exit_code",
                                        "signal", "first_failed_rank", "evidence", "started_at",
                                        "ended_at", "cpu_s", "peak_bytes", "oom_kills"});
}

TEST(GoldenDocuments, TheReferenceShowsEveryFieldOfAJobAndNoOther) {
  auto detail = sample_job();
  detail.spec.tags.clear();
  detail.spec.command = {"true"};  // bytes in base64 would add a name of their own
  for (auto& attempt : detail.attempts) attempt.evidence.clear();
  EXPECT_EQ(sorted_unique(reference_names("job.md", "## The job document")),
            sorted_unique(names_in(server::job_json(detail, kReasons))));
}

TEST(GoldenDocuments, AnError) {
  const Error error{.kind = Kind::not_found,
                    .what = "no job \"tarin-7\"",
                    .where = "muster logs",
                    .why = "nothing begins or ends like that",
                    .fix = {"did you mean \"train-7\"?", "muster ps"}};
  const auto text = api::error_to_json(error);
  expect_golden("error.json", unfolded(text));
  EXPECT_EQ(names_in(text), (std::vector<std::string>{"kind", "what", "where", "why", "fix"}));
  EXPECT_EQ(reference_names("exit-codes.md", "## The error document"), names_in(text));
  const auto back = api::error_from_json(404, text);
  EXPECT_EQ(api::error_to_json(back), text);
  EXPECT_EQ(api::response_of(error).status, 404);
}

TEST(GoldenDocuments, TheMarkOfASupervisor) {
  const auto text = process::to_json(sample_mark());
  expect_golden("shim.json", unfolded(text));
  auto bare = sample_mark();
  bare.slot = {};
  EXPECT_EQ(names_in(process::to_json(bare)),
            (std::vector<std::string>{"v", "protocol", "buildid", "attempt", "epoch", "pid",
                                      "start_ticks", "boot_id", "cgroup", "tier"}));
  EXPECT_EQ(reference_names("home.md", "`shim.json`:"), names_in(process::to_json(bare)));
  const auto back = process::parse_mark(text);
  ASSERT_TRUE(back);
  EXPECT_EQ(process::to_json(*back), text);
}

TEST(GoldenDocuments, TheExitRecord) {
  const auto text = process::exit_text(sample_record(), 2, 42);
  expect_golden("exit.json", unfolded(text));
  EXPECT_EQ(sorted_unique(names_in(text)),
            sorted_unique({"v",        "attempt",    "epoch",     "ranks",     "rank",
                           "exit",     "signal",     "started",   "ended",     "ended_run_us",
                           "cpu_us",   "peak_bytes", "oom_kills", "out_bytes", "err_bytes",
                           "out_xxh3", "err_xxh3",   "killed_by", "handed_on", "why"}));
  EXPECT_EQ(sorted_unique(reference_names("home.md", "`exit.json`:")),
            sorted_unique(names_in(text)));
  const auto back = decode_exit_record(text);
  ASSERT_TRUE(back);
  EXPECT_EQ(process::exit_text(*back, 2, 42), text);
}

TEST(GoldenDocuments, TheLinesBetweenServerAndShim) {
  using namespace process;
  std::string lines;
  for (const auto& asked :
       {Asked{.what = "stop", .why = "abort", .grace = std::chrono::seconds(30)},
        Asked{.what = "signal", .signal = 10}, Asked{.what = "ack"}})
    lines += "to:   " + to_line(asked) + '\n';
  for (const auto& said :
       {Said{.say = "running"}, Said{.say = "rank_failed", .rank = 3},
        Said{.say = "ended", .record = ExitRecord{}}, Said{.say = "refused", .why = "was here"},
        Said{.say = "done", .asked = "stop"}, Said{.say = "unsupported", .asked = "tail"}})
    lines += "from: " + to_line(said) + '\n';
  expect_golden("shim_lines.txt", lines);
}

}  // namespace
}  // namespace muster::golden
