/// The Store port on one SQLite file: WAL, synced at every commit. One object, one thread writes;
/// a failed commit is rolled back and leaves the object usable. That no second server has the file
/// open is the server lock's business.
#pragma once
#include <memory>
#include <string>

#include "base/log.hpp"
#include "edge/sqlite/db.hpp"
#include "edge/sqlite/file_system.hpp"
#include "port/store.hpp"

namespace muster {

/// All clocks as of one commit: what a real clock needs to go on from there after a restart.
struct ClockMark {
  RunTime run;
  WallTime wall;
  std::string boot_id;           // empty: not known
  std::int64_t boottime_us = 0;  // CLOCK_BOOTTIME
};

struct StoreOptions {
  FuseHome fuse = FuseHome::refused;
  std::int64_t page_limit = 0;                      // the file grows no further; 0: no limit
  std::int64_t wal_limit = std::int64_t{64} << 20;  // bytes of log that a commit leaves standing
};

class SqliteStore final : public Store {
 public:
  SqliteStore(sqlite::Db db, Log& log, const StoreOptions& options);

  Result<Loaded> load() override;
  Result<> commit(const Batch& batch) override;
  Result<std::optional<KeyHit>> find_key(std::string_view user, std::string_view key) override;
  Result<JobSpec> spec(JobSeq job) override;
  Result<std::optional<Job>> job(JobSeq job) override;

  /// The boot that commits from now on are marked with. Once, before the first commit.
  void set_boot_id(std::string boot_id) { boot_id_ = std::move(boot_id); }
  /// The clocks of the last commit; zeros when there was none.
  Result<ClockMark> clock_mark();
  /// The uuid of this home, made with the store.
  Result<std::string> home_id();
  /// Moves the log into the database, for a driver that has nothing else to do. Never waits for
  /// readers: what they hold back is moved another time.
  Result<> checkpoint_if_idle();
  /// Reads the whole file; Kind::corrupt names the first damage. Seconds for a large store.
  Result<> check();

 private:
  Result<> write(const Batch& batch);
  void checkpoint_if_large();

  sqlite::Db db_;
  Log& log_;
  std::string boot_id_;
  std::int64_t wal_limit_;
  std::int64_t next_checkpoint_;   // bytes of log
  std::int64_t checkpointed_ = 0;  // bytes of log when it was last moved
};

/// Makes the file (0600) when there is none. Refuses network file systems, foreign files and
/// stores of a newer program; migrates older ones.
Result<std::unique_ptr<SqliteStore>> open_store(const std::string& path, Log& log,
                                                const StoreOptions& options = {});

}  // namespace muster
