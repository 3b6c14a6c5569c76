-- Events are the truth; jobs, attempts and keys are their projection, written in the same
-- transaction. A body is the JSON text of core/model/codec.hpp; a column repeats only what is
-- searched for. Text columns hold any bytes and compare as bytes.

-- id_key, home, clock: one row each.
CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value NOT NULL
) WITHOUT ROWID;

CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  at_us INTEGER NOT NULL,
  actor TEXT NOT NULL,
  job INTEGER NOT NULL,
  kind TEXT NOT NULL,
  version INTEGER NOT NULL,
  body TEXT NOT NULL
);
-- The rowid, which is seq, ends every index entry: this is an index on (job, seq).
CREATE INDEX events_by_job ON events (job);

CREATE TABLE jobs (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  rid TEXT NOT NULL,             -- the id backwards: a suffix is found as a prefix
  name TEXT NOT NULL,
  user TEXT NOT NULL,
  state TEXT NOT NULL,
  final INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  submitted_event INTEGER NOT NULL,
  env_id TEXT NOT NULL,
  body TEXT NOT NULL
);
CREATE INDEX jobs_by_rid ON jobs (rid);
CREATE INDEX jobs_by_name ON jobs (name);
-- What lives is little and changes often; what is final is much and never changes.
CREATE INDEX jobs_live ON jobs (state, priority) WHERE final = 0;
CREATE INDEX jobs_final ON jobs (state) WHERE final = 1;
CREATE INDEX jobs_live_env ON jobs (env_id) WHERE final = 0;

CREATE TABLE attempts (
  job INTEGER NOT NULL,
  n INTEGER NOT NULL,
  state TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (job, n)
) WITHOUT ROWID;

CREATE TABLE keys (
  user TEXT NOT NULL,
  key TEXT NOT NULL,
  job INTEGER NOT NULL,
  request_hash TEXT NOT NULL,
  PRIMARY KEY (user, key)
) WITHOUT ROWID;
