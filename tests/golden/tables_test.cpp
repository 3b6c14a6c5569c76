// The tables of docs/reference are the program's own, row by row, and have the agreed words.
#include "app/cli/client.hpp"
#include "app/cli/verb.hpp"
#include "base/text.hpp"
#include "core/lifecycle/apply.hpp"
#include "core/lifecycle/retry.hpp"
#include "core/model/cause.hpp"
#include "core/model/states.hpp"
#include "core/spec/submit_options.hpp"
#include "golden.hpp"

namespace muster::golden {
namespace {

using namespace std::chrono_literals;

template <class E>
std::string words_of() {
  std::vector<std::string> words;
  for (const auto& row : names<E>())
    if (!row.name.empty()) words.emplace_back(row.name);
  return join(words, " ");
}

std::vector<Row> first_columns(std::vector<Row> rows, std::size_t count) {
  for (auto& row : rows) row.resize(std::min(count, row.size()));
  return rows;
}

std::vector<KindRow> all_kinds() {
  std::vector<KindRow> rows;
  for (int i = 0; i <= static_cast<int>(Kind::internal); ++i)
    rows.push_back(row_of(static_cast<Kind>(i)));
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return a.exit_code < b.exit_code; });
  return rows;
}

std::vector<Row> kind_rows() {
  std::vector<Row> rows;
  for (const auto& row : all_kinds())
    rows.push_back(
        {std::string(row.name), std::to_string(row.exit_code), std::to_string(row.http_status)});
  return rows;
}

/// The letter of an option that every verb has.
char global_letter(std::string_view name) {
  for (const auto& option : global_options())
    if (option.name == name) return option.letter;
  return 0;
}

TEST(GoldenTables, JobStates) {
  EXPECT_EQ(words_of<JobState>(),
            "queued starting running stopping held succeeded failed cancelled");
  std::vector<Row> rows;
  for (const auto& row : names<JobState>())
    rows.push_back({std::string(row.name), is_final(row.value) ? "yes" : "no"});
  EXPECT_EQ(first_columns(reference_table("job.md", "Job states"), 2), rows);
}

TEST(GoldenTables, AttemptStates) {
  EXPECT_EQ(words_of<AttemptState>(), "launching preparing barrier running stopping ended");
  std::vector<Row> rows;
  for (const auto& row : names<AttemptState>()) rows.push_back({std::string(row.name)});
  EXPECT_EQ(first_columns(reference_table("job.md", "Attempt states"), 1), rows);
}

TEST(GoldenTables, Causes) {
  EXPECT_EQ(words_of<Cause>(),
            "success user_code user_import user_config missing_file permission segfault "
            "exec_failed setup_failed disk_full shm_too_small port_in_use driver_mismatch "
            "time_limit pids_limit gpu_oom host_oom eviction queue_preempted node_fault_gpu "
            "node_fault_net nccl_timeout peer_lost network_dns blob_storage image_pull lost "
            "host_reboot never_started barrier_timeout removed_externally corrupt_input hang "
            "cancelled killed_unknown crash_loop");
  EXPECT_EQ(words_of<CauseClass>(), "success user memory infrastructure other");
  std::vector<Row> rows;
  for (const auto& row : causes())
    if (row.cause != Cause::none)
      rows.push_back({std::string(row.name), std::string(name_of(row.cause_class)),
                      std::string(name_of(row.budget)), std::string(row.text),
                      std::string(row.advice)});
  EXPECT_EQ(reference_table("job.md", "Causes"), rows);
}

TEST(GoldenTables, Budgets) {
  EXPECT_EQ(words_of<Budget>(), "user memory hang infrastructure eviction");
  const Retries retries;
  const std::vector<Row> rows{{"user", std::to_string(retries.user)},
                              {"memory", std::to_string(retries.memory)},
                              {"hang", std::to_string(retries.hang)},
                              {"infrastructure", std::to_string(retries.infrastructure)},
                              {"eviction", "without limit"}};
  EXPECT_EQ(first_columns(reference_table("job.md", "Budgets"), 2), rows);
  EXPECT_EQ(rows, (std::vector<Row>{{"user", "0"},
                                    {"memory", "0"},
                                    {"hang", "1"},
                                    {"infrastructure", "5"},
                                    {"eviction", "without limit"}}));
  Job job;
  job.spent = {.user = 0, .memory = 0, .hang = 1, .infrastructure = 5, .eviction = 1'000'000};
  EXPECT_TRUE(lifecycle::has_budget(job, Budget::eviction));
  EXPECT_FALSE(lifecycle::has_budget(job, Budget::infrastructure));
  EXPECT_FALSE(lifecycle::has_budget(job, Budget::hang));
  EXPECT_FALSE(lifecycle::has_budget(job, Budget::user));
}

TEST(GoldenTables, BackOff) {
  using lifecycle::back_off;
  for (const auto budget : {Budget::eviction, Budget::infrastructure}) {
    EXPECT_EQ(back_off(budget, 0, 0s), 0s);
    EXPECT_EQ(back_off(budget, 1, 0s), 1s);
    EXPECT_EQ(back_off(budget, 2, 0s), 2s);
    EXPECT_EQ(back_off(budget, 100, 0s), 5min);
    EXPECT_EQ(back_off(budget, 100, 5min), 0s);
  }
  EXPECT_EQ(back_off(Budget::user, 0, 0s), 10s);
  EXPECT_EQ(back_off(Budget::user, 1, 0s), 20s);
  EXPECT_EQ(back_off(Budget::user, 100, 0s), 5min);
}

TEST(GoldenTables, ErrorKindsWithTheirCodes) {
  const std::vector<Row> agreed{
      {"usage", "2", "400"},       {"denied", "4", "403"},    {"not_found", "5", "404"},
      {"unavailable", "6", "503"}, {"exhausted", "7", "429"}, {"conflict", "8", "409"},
      {"corrupt", "9", "422"},     {"internal", "70", "500"}, {"cancelled", "130", "499"}};
  EXPECT_EQ(kind_rows(), agreed);
  EXPECT_EQ(first_columns(reference_table("exit-codes.md", "Kinds"), 3), agreed);
  EXPECT_EQ(first_columns(reference_table("api.md", "Errors"), 3), agreed);
  for (const auto& row : all_kinds()) {
    ASSERT_NE(kind_by_name(row.name), nullptr);
    EXPECT_EQ(kind_by_name(row.name)->kind, row.kind);
    ASSERT_NE(kind_by_status(row.http_status), nullptr);
    EXPECT_EQ(kind_by_status(row.http_status)->kind, row.kind);
  }
}

TEST(GoldenTables, AJobsEndAsAnExitCode) {
  EXPECT_EQ(exit_code_of(R"({"cause":"success","exit_code":0,"signal":null})"), 0);
  EXPECT_EQ(exit_code_of(R"({"cause":"user_code","exit_code":3,"signal":null})"), 3);
  EXPECT_EQ(exit_code_of(R"({"cause":"segfault","exit_code":null,"signal":11})"), 128 + 11);
  EXPECT_EQ(exit_code_of(R"({"cause":"exec_failed","exit_code":127,"signal":null})"), 127);
  for (const auto& row : causes()) {
    const bool is_outside =
        row.cause_class == CauseClass::infrastructure || row.cause == Cause::cancelled;
    if (!is_outside) continue;
    EXPECT_EQ(exit_code_of(fmt::format(R"({{"cause":"{}"}})", row.name)), 125) << row.name;
  }
}

TEST(GoldenTables, FieldsOfASubmission) {
  std::vector<Row> rows{{"command", "the words after `--`"}};
  for (const auto& field : spec::submit_fields()) {
    if (field.field == "after") continue;  // agreed, not built
    const char letter = field.flag.empty() ? global_letter(field.field) : field.letter;
    const auto flag =
        letter != 0 ? fmt::format("`-{}`", letter) : fmt::format("`--{}`", field.flag);
    rows.push_back({std::string(field.field), flag});
  }
  auto shown = first_columns(reference_table("verbs.md", "A job as JSON"), 2);
  std::sort(shown.begin(), shown.end());
  std::sort(rows.begin(), rows.end());
  EXPECT_EQ(shown, rows);
}

TEST(GoldenTables, ReasonCodes) {
  std::vector<std::string> given, shown;
  for (const auto* file : {"src/core/sched/why.cpp", "src/app/server/reasons.cpp"}) {
    const auto code = source_text(file);
    const std::string_view mark = ".code = \"";
    for (auto at = code.find(mark); at != code.npos; at = code.find(mark, at + 1)) {
      const auto start = at + mark.size();
      given.push_back(code.substr(start, code.find('"', start) - start));
    }
  }
  for (const auto& row : reference_table("job.md", "Reasons")) shown.push_back(row.at(0));
  EXPECT_EQ(sorted_unique(shown), sorted_unique(given));
}

TEST(GoldenTables, EveryVerbAScriptMayRelyOnIsThere) {
  for (const auto& row : reference_table("verbs.md", "Verbs")) {
    // "`abort ID...`, `abort --all`": the first word of every code.
    for (const auto part : split(row.at(0), '`')) {
      const auto word = part.substr(0, part.find(' '));
      if (word.empty() || word == ",") continue;
      EXPECT_NE(find_verb(all_verbs(), word), nullptr) << word;
    }
  }
}

}  // namespace
}  // namespace muster::golden
