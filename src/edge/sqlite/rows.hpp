/// Rows of the tables: those of one batch, written within the caller's transaction, and the one
/// that both sides read. Used by store.cpp and records.cpp.
#pragma once
#include "edge/sqlite/batch.hpp"
#include "edge/sqlite/db.hpp"

namespace muster::sqlite {

Result<> write_events(Db& db, const Batch& batch);
/// New jobs are inserted, known ones updated; a job never ceases to be final.
Result<> write_jobs(Db& db, const Batch& batch, const Submissions& submissions);
/// The attempts that ended, and the live one of every job of the batch.
Result<> write_attempts(Db& db, const Batch& batch);
Result<> write_keys(Db& db, const Submissions& submissions);

/// The attempt of a job that has not ended.
Result<std::optional<Attempt>> live_attempt(Db& db, JobSeq seq);

}  // namespace muster::sqlite
