/// Submitting, looking at and stopping jobs.
#include <csignal>

#include "app/api/error_json.hpp"
#include "app/server/job_json.hpp"
#include "app/server/reasons.hpp"
#include "app/server/routes.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "core/model/json.hpp"

namespace muster::server {
namespace {

/// Answers of a batch arrive in any order and leave in the order of its lines.
struct BatchAnswer {
  Ask ask;
  std::mutex mutex;
  std::vector<std::string> lines;
  std::size_t missing = 0;

  void put(std::size_t index, const Result<engine::Answer>& answer) {
    std::string line;
    if (answer) {
      line = accepted_json(*answer);
    } else {
      json::object out;
      out["line"] = index + 1;
      out["error"] = *parse_json(api::error_to_json(answer.error()));
      line = json::serialize(out);
    }
    const std::lock_guard lock(mutex);
    lines[index] = std::move(line);
    if (--missing != 0) return;
    std::string body;
    for (const auto& one : lines) body += one + "\n";
    ask->answer({.content_type = "application/x-ndjson", .body = std::move(body)});
  }
};

Result<JobFilter> filter_of(const http::Request& request) {
  JobFilter filter;
  filter.newest_first = true;
  filter.user = request.parameter("user").value_or("");
  if (const auto states = request.parameter("state"))
    for (const auto word : split(*states, ',')) {
      const auto state = named<JobState>(word);
      if (!state)
        return fail(
            Kind::usage, fmt::format("no state \"{}\"", printable(word)),
            "states are queued, starting, running, stopping, held, succeeded, failed, cancelled");
      filter.states.push_back(*state);
    }
  if (const auto is_final = request.parameter("final"))
    filter.final = *is_final == "true" || *is_final == "1";
  if (const auto limit = request.parameter("limit")) {
    TRY(const auto count, within(parse_whole(*limit, 1, 10'000'000), "how many jobs to list"));
    filter.limit = static_cast<std::size_t>(count);
  }
  if (const auto after = request.parameter("after")) {
    TRY(filter.after, parse_whole(*after, 0, INT64_MAX));
  }
  return filter;
}

Result<bool> wants_table(const http::Request& request) {
  const auto view = request.parameter("view");
  if (!view) return false;
  if (*view == "table") return true;
  return fail(Kind::usage, fmt::format("no view \"{}\"", printable(*view)),
              "leave it out, or say table");
}

/// Finds the job by what was typed, then lets `act` send a command; its answer is the job's
/// document.
void command(Office& office, const Ask& ask, const std::string& id,
             std::function<void(JobSeq, driver::OnAnswer)> act) {
  office.readers.run(
      [&office, ask, id, act = std::move(act)](Records& records) {
        const auto seq = records.resolve(id);
        if (!seq) return ask->answer(api::response_of(seq.error()));
        act(*seq, [&office, ask, seq = *seq](Result<engine::Answer> answer) {
          if (!answer) return ask->answer(api::response_of(answer.error()));
          read(office, ask, [seq](Records& later) -> Result<std::string> {
            TRY(const auto detail, later.detail(seq));
            return job_json(detail, {});
          });
        });
      },
      [ask](const Error& error) { ask->answer(api::response_of(error)); });
}

}  // namespace

std::string accepted_json(const engine::Answer& answer) {
  json::object out;
  out["schema"] = 1;
  out["id"] = answer.id.str();
  out["existed"] = answer.existed;
  json::array warnings;
  for (const auto& warning : answer.warnings) {
    json::object one;
    one["code"] = warning.code;
    one["text"] = warning.text;
    one["fix"] = warning.fix;
    warnings.push_back(std::move(one));
  }
  out["warnings"] = std::move(warnings);
  return json::serialize(out);
}

void submit_job(Office& office, const Ask& ask) {
  office.intake.run([&office, ask](std::size_t) {
    auto spec = spec_of_body(ask->request().body, user_name(ask->request().peer_uid), office.envs,
                             office.defaults());
    if (!spec) return ask->answer(api::response_of(spec.error()));
    office.driver.submit(std::move(*spec), [ask](Result<engine::Answer> answer) {
      ask->answer(answer ? http::Response{.status = answer->existed ? 200 : 201,
                                          .body = accepted_json(*answer)}
                         : api::response_of(answer.error()));
    });
  });
}

void submit_batch(Office& office, const Ask& ask) {
  office.intake.run([&office, ask](std::size_t) {
    const auto user = user_name(ask->request().peer_uid);
    const auto defaults = office.defaults();
    auto lines = split(ask->request().body, '\n');
    while (!lines.empty() && trimmed(lines.back()).empty()) lines.pop_back();
    if (lines.empty()) return ask->answer({.content_type = "application/x-ndjson"});
    auto batch = std::make_shared<BatchAnswer>();
    batch->ask = ask;
    batch->lines.resize(lines.size());
    batch->missing = lines.size();
    for (std::size_t i = 0; i < lines.size(); ++i) {
      auto spec = spec_of_body(lines[i], user, office.envs, defaults);
      if (!spec)
        batch->put(i, tl::unexpected(spec.error()));
      else
        office.driver.submit(std::move(*spec), [batch, i](const Result<engine::Answer>& answer) {
          batch->put(i, answer);
        });
    }
  });
}

void list_jobs(Office& office, const Ask& ask) {
  const auto filter = filter_of(ask->request());
  if (!filter) return ask->answer(api::response_of(filter.error()));
  const auto is_table = wants_table(ask->request());
  if (!is_table) return ask->answer(api::response_of(is_table.error()));
  if (*is_table)
    return read(
        office, ask,
        [&office, filter = *filter](Records& records) {
          return office.rows.list(records, filter, *office.driver.picture(), office.clock.now());
        },
        "text/tab-separated-values");
  read(office, ask, [&office, filter = *filter](Records& records) -> Result<std::string> {
    TRY(const auto rows, records.list(filter));
    TRY(const auto places, queue_places(records, rows));
    const auto picture = office.driver.picture();
    std::vector<std::string> jobs;
    for (const auto& row : rows)
      jobs.push_back(job_json(row, reasons_of(*picture, office.clock.now(), row.job, places)));
    return jobs_json(jobs);
  });
}

void get_job(Office& office, const Ask& ask, const std::string& id) {
  read(office, ask, [&office, id](Records& records) -> Result<std::string> {
    TRY(const auto seq, records.resolve(id));
    TRY(const auto detail, records.detail(seq));
    TRY(const auto reasons, reasons_for(office, records, detail.job));
    return job_json(detail, reasons);
  });
}

void why_job(Office& office, const Ask& ask, const std::string& id) {
  read(office, ask, [&office, id](Records& records) -> Result<std::string> {
    TRY(const auto seq, records.resolve(id));
    TRY(const auto detail, records.detail(seq));
    TRY(const auto reasons, reasons_for(office, records, detail.job));
    return why_json(detail, reasons);
  });
}

void abort_job(Office& office, const Ask& ask, const std::string& id) {
  const auto user = user_name(ask->request().peer_uid);
  command(office, ask, id, [&office, user](JobSeq seq, driver::OnAnswer on_answer) {
    office.driver.abort(seq, user, std::move(on_answer));
  });
}

void signal_job(Office& office, const Ask& ask, const std::string& id) {
  const auto number = parse_whole(ask->request().parameter("number").value_or(""), 1, SIGRTMAX);
  if (!number) return ask->answer(api::response_of(number.error()));
  command(office, ask, id,
          [&office, number = static_cast<int>(*number)](JobSeq seq, driver::OnAnswer on_answer) {
            office.driver.signal(seq, number, std::move(on_answer));
          });
}

}  // namespace muster::server
