-- +goose Up
-- What came of the last backup that was made, and of the last that failed: what
-- `govsvc check` and the dashboard show. The copies themselves are elsewhere.
CREATE TABLE backups (
  outcome TEXT PRIMARY KEY CHECK (outcome IN ('made', 'failed')),
  at      TEXT NOT NULL,
  path    TEXT NOT NULL,
  bytes   INTEGER NOT NULL DEFAULT 0,
  error   TEXT NOT NULL DEFAULT '' -- why it failed
) STRICT, WITHOUT ROWID;
