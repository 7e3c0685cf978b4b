-- +goose Up
-- Answers kept for 24 hours, written with the change that they answer.
CREATE TABLE idempotency_records (
  org_id     INTEGER NOT NULL REFERENCES organisations (seq),
  key        TEXT NOT NULL,
  request    BLOB NOT NULL CHECK (length(request) = 32), -- sha256 of method, path and canonical body
  status     INTEGER NOT NULL,
  answer     BLOB NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (org_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_records_by_created ON idempotency_records (created_at);
