/// The server and the machine about themselves.
#include "app/api/error_json.hpp"
#include "app/server/checks.hpp"
#include "app/server/fold_check.hpp"
#include "app/server/followers.hpp"
#include "app/server/routes.hpp"
#include "app/server/unknown_jobs.hpp"
#include "core/model/json.hpp"

namespace muster::server {
namespace {

json::object node_object(const sched::NodeView& node) {
  json::object out;
  out["name"] = bytes_to_json(node.node.name.str());
  out["cluster"] = bytes_to_json(node.node.cluster);
  out["cpus"] = real_to_json(static_cast<double>(node.node.cpus.count) / 1000);
  out["cpus_free"] = real_to_json(static_cast<double>(node.cpus_free.count) / 1000);
  out["memory"] = node.node.memory.count;
  out["memory_free"] = node.memory_free.count;
  out["gpus"] = node.node.gpus;
  out["gpus_free"] = node.gpus_free.size();
  out["spot"] = node.node.is_spot;
  out["state"] = node.is_gone ? "leaving" : node.cpus_free == node.node.cpus ? "idle" : "running";
  return out;
}

std::string nodes_json(const driver::Picture& picture) {
  json::array nodes;
  for (const auto& node : picture.view.nodes) nodes.push_back(node_object(node));
  json::object out;
  out["schema"] = 1;
  out["nodes"] = std::move(nodes);
  return json::serialize(out);
}

json::array checks_array(const std::vector<Check>& checks) {
  json::array list;
  for (const auto& check : checks) {
    json::object one;
    one["name"] = check.name;
    one["state"] = check.state;
    one["text"] = bytes_to_json(check.text);
    one["fix"] = bytes_to_json(check.fix);
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace

void list_nodes(Office& office, const Ask& ask) {
  ask->answer({.body = nodes_json(*office.driver.picture())});
}

void summary(Office& office, const Ask& ask) {
  read(office, ask, [&office](Records& records) -> Result<std::string> {
    TRY(const auto counts, records.counts());
    json::object jobs;
    for (const auto& row : names<JobState>())
      jobs[json::string_view(row.name.data(), row.name.size())] =
          counts.contains(std::string(row.name)) ? counts.at(std::string(row.name)) : 0;
    auto out = parse_json(nodes_json(*office.driver.picture()))->get_object();
    out["jobs"] = std::move(jobs);
    return json::serialize(out);
  });
}

void version(Office& office, const Ask& ask) {
  json::object out;
  out["schema"] = 1;
  out["version"] = office.about.version;
  out["build_id"] = office.about.build_id;
  out["home"] = bytes_to_json(office.about.home);
  out["pid"] = ::getpid();
  out["started_at"] = to_rfc3339(office.about.started);
  out["automatic"] = office.about.is_automatic;
  ask->answer({.body = json::serialize(out)});
}

void doctor(Office& office, const Ask& ask) {
  const bool is_deep = ask->request().parameter("deep").has_value();
  // A cluster that was just written into the configuration is met now, not with the next job.
  office.intake.run([&office](std::size_t) { (void)office.defaults(); });
  read(office, ask, [&office, is_deep](Records& records) -> Result<std::string> {
    auto checks = server_checks(office);
    if (auto unknown = unknown_jobs_check(records, office.about.home))
      checks.push_back(std::move(*unknown));
    if (is_deep) {
      TRY(const auto difference, fold_difference(records));
      checks.push_back({"store: events agree with tables", difference.empty() ? "ok" : "fail",
                        difference.empty() ? "the fold of all events equals every row" : difference,
                        difference.empty() ? "" : "please report this; keep a copy of the home"});
    }
    json::object out;
    out["schema"] = 1;
    out["checks"] = checks_array(checks);
    return json::serialize(out);
  });
}

void stop_server(Office& office, const Ask& ask) {
  office.log.info("stop requested",
                  {{"pid", ask->request().peer_pid}, {"uid", ask->request().peer_uid}});
  json::object out;
  out["schema"] = 1;
  out["stopping"] = true;
  out["pid"] = ::getpid();
  ask->answer({.body = json::serialize(out)});
  office.http->after(std::chrono::milliseconds(10), [&office] { office.http->stop(); });
}

}  // namespace muster::server
