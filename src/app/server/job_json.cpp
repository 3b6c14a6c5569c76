#include "app/server/job_json.hpp"

#include <algorithm>

#include "core/model/codec.hpp"
#include "core/model/json.hpp"
#include "core/model/observation.hpp"

namespace muster::server {
namespace {

json::value word(std::string_view text) {
  return text.empty() ? json::value(nullptr)
                      : json::value(json::string_view(text.data(), text.size()));
}
json::value time_or_null(const std::optional<WallTime>& at) {
  return at ? json::value(to_rfc3339(*at).c_str()) : json::value(nullptr);
}

json::value bytes_list(const std::vector<std::string>& items) {
  json::array list;
  for (const auto& item : items) list.push_back(bytes_to_json(item));
  return list;
}

json::value reasons_list(const std::vector<Reason>& reasons) {
  json::array list;
  for (const auto& reason : reasons) {
    json::object one;
    one["code"] = reason.code;
    one["text"] = bytes_to_json(reason.text);
    one["fix"] = bytes_to_json(reason.fix);
    list.push_back(std::move(one));
  }
  return list;
}

json::value tags_object(const std::map<std::string, std::string>& tags) {
  json::object object;
  for (const auto& [name, value] : tags) object[name] = bytes_to_json(value);
  return object;
}

/// The end of a job or an attempt: null while it has none.
void put_end(json::object& out, Cause cause, int exit_code, int signal) {
  out["cause"] = word(name_of(cause));
  const bool has_code = cause != Cause::none && signal == 0;
  out["exit_code"] = has_code ? json::value(exit_code) : json::value(nullptr);
  out["signal"] = signal != 0 ? json::value(signal) : json::value(nullptr);
}

json::value placement_list(const Attempt& attempt) {
  json::array list;
  for (const auto& placement : attempt.placements)
    list.push_back(bytes_to_json(placement.node.str()));
  return list;
}

json::object attempt_object(const Attempt& attempt) {
  json::object out;
  out["n"] = attempt.n;
  out["epoch"] = attempt.epoch;
  out["state"] = word(name_of(attempt.state));
  out["nodes"] = placement_list(attempt);
  json::array ranks;
  for (const auto& placement : attempt.placements) ranks.push_back(placement.ranks);
  out["ranks_per_node"] = std::move(ranks);
  out["master_port"] = attempt.port;
  put_end(out, attempt.cause, attempt.exit_code, attempt.signal);
  out["first_failed_rank"] = attempt.first_failed_rank >= 0 ? json::value(attempt.first_failed_rank)
                                                            : json::value(nullptr);
  out["evidence"] = bytes_list(attempt.evidence);
  out["placed_at"] = to_rfc3339(attempt.placed_at);
  out["started_at"] = time_or_null(attempt.started_at);
  out["ended_at"] = time_or_null(attempt.ended_at);
  out["cpu_s"] = real_to_json(attempt.cpu_s);
  out["peak_bytes"] = attempt.peak_bytes;
  out["oom_kills"] = attempt.oom_kills;
  return out;
}

void put_code(json::object& out, const Code& code) {
  out["snapshot"] = word(code.snapshot);
  if (code.snapshot.empty()) return;
  json::object one;
  one["top"] = bytes_to_json(code.top);
  one["below"] = bytes_to_json(code.below);
  one["links"] = bytes_list(code.links);
  one["setup"] = bytes_to_json(code.setup);
  one["requirements"] = bytes_to_json(code.requirements);
  one["commit"] = word(code.commit);
  one["branch"] = word(code.branch);
  one["dirty"] = code.dirty >= 0 ? json::value(code.dirty) : json::value(nullptr);
  out["code"] = std::move(one);
}

bool is_out_of_sight(const std::vector<Reason>& reasons) {
  return std::any_of(reasons.begin(), reasons.end(), [](const auto& reason) {
    return reason.code == kUnreachable || reason.code == kNodeLost;
  });
}

void put_spec(json::object& out, const JobSpec& spec) {
  out["command"] = bytes_list(spec.command);
  out["shell"] = spec.shell;
  out["dir"] = bytes_to_json(spec.dir);
  out["experiment"] = bytes_to_json(spec.experiment);
  out["tags"] = tags_object(spec.tags);
  out["env_names"] = bytes_list(spec.env_names);
  out["parent"] = word(spec.parent);
  out["time_limit_s"] = spec.time_limit.count() > 0
                            ? real_to_json(static_cast<double>(spec.time_limit.count()) / 1e6)
                            : json::value(nullptr);
  out["grace_s"] = real_to_json(static_cast<double>(spec.grace.count()) / 1e6);
  put_code(out, spec.code);
  out["keep"] = word(name_of(spec.keep));
  if (spec.pod) out["pod"] = *parse_json(encode(*spec.pod));
}

json::object job_object(const Job& job, const JobSpec& spec, const std::vector<Reason>& reasons) {
  json::object out;
  out["schema"] = 1;
  out["id"] = job.id.str();
  out["name"] = bytes_to_json(job.name);
  out["user"] = bytes_to_json(job.user);
  out["key"] = bytes_to_json(job.key);
  out["state"] = word(name_of(job.state));
  out["unreachable"] = is_out_of_sight(reasons);
  out["reasons"] = reasons_list(reasons);
  put_end(out, is_final(job.state) ? job.cause : Cause::none, job.exit_code, job.signal);
  out["cancelled_by"] = word(job.cancelled_by);
  out["cluster"] = bytes_to_json(job.cluster);
  out["queue"] = bytes_to_json(job.queue);
  out["priority"] = job.priority;
  out["gpus"] = job.request.gpus_per_node * job.request.nodes;
  out["nodes"] = job.request.nodes;
  out["procs_per_node"] = job.request.procs_per_node;
  out["cpus_per_node"] = real_to_json(static_cast<double>(job.request.cpus_per_node.count) / 1000);
  out["memory_per_node"] = job.request.memory_per_node.count > 0
                               ? json::value(job.request.memory_per_node.count)
                               : json::value(nullptr);
  out["attempt"] = job.attempts;
  out["submitted_at"] = to_rfc3339(job.submitted_at);
  out["started_at"] = time_or_null(job.started_at);
  out["ended_at"] = time_or_null(job.ended_at);
  put_spec(out, spec);
  return out;
}

}  // namespace

std::string job_json(const JobRow& row, const std::vector<Reason>& reasons) {
  return json::serialize(job_object(row.job, row.spec, reasons));
}

std::string job_json(const JobDetail& detail, const std::vector<Reason>& reasons) {
  auto out = job_object(detail.job, detail.spec, reasons);
  json::array attempts;
  for (const auto& attempt : detail.attempts) attempts.push_back(attempt_object(attempt));
  out["attempts"] = std::move(attempts);
  return json::serialize(out);
}

std::string jobs_json(const std::vector<std::string>& jobs) {
  std::string out = "{\"schema\":1,\"jobs\":[";
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (i != 0) out += ',';
    out += jobs[i];
  }
  return out + "]}";
}

std::string why_json(const JobDetail& detail, const std::vector<Reason>& reasons) {
  auto out = job_object(detail.job, detail.spec, reasons);
  json::array attempts;
  for (const auto& attempt : detail.attempts) {
    auto one = attempt_object(attempt);
    const auto& row = row_of(attempt.cause);
    one["class"] = word(name_of(row.cause_class));
    one["budget"] = word(name_of(row.budget));
    one["text"] = word(row.text);
    one["advice"] = word(row.advice);
    attempts.push_back(std::move(one));
  }
  out["attempts"] = std::move(attempts);
  return json::serialize(out);
}

std::string event_json(const EventRow& row) {
  json::object out;
  out["schema"] = 1;
  out["sequence"] = row.sequence;
  out["at"] = to_rfc3339(row.at);
  out["actor"] = bytes_to_json(row.actor);
  out["job"] = row.id.str();
  out["kind"] = row.kind;
  out["version"] = row.version;
  auto body = parse_json(row.body);
  out["body"] = body ? std::move(*body) : json::value(nullptr);
  return json::serialize(out);
}

}  // namespace muster::server
