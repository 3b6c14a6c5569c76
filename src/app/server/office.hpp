/// Everything a route may use. Owned by serve(); outlives every request.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "app/driver/real.hpp"
#include "app/server/env_store.hpp"
#include "app/server/fleet.hpp"
#include "app/server/intake.hpp"
#include "app/server/job_rows.hpp"
#include "app/server/readers.hpp"
#include "base/log.hpp"
#include "edge/http/server.hpp"

namespace muster::server {

/// Facts that do not change while the server runs.
struct About {
  std::string home;
  std::string home_id;
  std::string version;
  std::string build_id;
  std::string tier;  // how jobs are contained on this machine
  WallTime started;
  bool is_automatic = false;
};

class Followers;

struct Office {
  About about;
  Log& log;
  Clock& clock;
  driver::RealDriver& driver;
  Readers& readers;
  WorkPool& intake;
  EnvStore& envs;
  std::function<Defaults()> defaults;  // as the configuration says now
  std::function<Result<Defaults>(const std::string& cluster)> defaults_of;
  std::function<std::vector<ClusterSight>()> clusters;
  JobRows rows;
  http::Server* http = nullptr;  // set once it listens
  Followers* followers = nullptr;
};

using Ask = std::shared_ptr<http::Exchange>;

/// The account's name of the peer, as jobs are filed under it.
std::string user_name(std::uint32_t uid);

}  // namespace muster::server
