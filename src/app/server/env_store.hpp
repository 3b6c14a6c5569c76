/// The environments of jobs, outside the database: one file per distinct environment, 0600, named
/// by its content. Ten thousand jobs from one shell share one file and one sync.
#pragma once
#include <mutex>
#include <set>
#include <string>

#include "base/error.hpp"
#include "core/model/plan.hpp"

namespace muster::server {

/// The name an environment has: SHA-256 of its canonical text.
std::string env_id_of(const Environment& env);

class EnvStore {
 public:
  explicit EnvStore(std::string dir);
  /// Durable when it returns. Thread-safe.
  Result<std::string> put(const Environment& env);
  Result<Environment> get(const std::string& id) const;
  /// Whether it is there; if so it stays for a minute at least.
  bool claim(const std::string& id);
  /// Removes one that nobody needs any more. False: it was put or claimed within the last minute.
  Result<bool> drop(const std::string& id);

 private:
  std::string dir_;
  std::mutex mutex_;
  std::set<std::string> known_;  // durable for certain
};

}  // namespace muster::server
