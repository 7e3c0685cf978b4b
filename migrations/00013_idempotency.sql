-- +goose Up
-- Answers kept for 24 hours, written with the change that they answer. They are
-- found by an index of their own: in a tree of whole rows each step to a key
-- would read an answer, which for a batch has 150 KB.
CREATE TABLE idempotency_records (
  org_id     INTEGER NOT NULL REFERENCES organisations (seq),
  key        TEXT NOT NULL,
  request    BLOB NOT NULL CHECK (length(request) = 32), -- sha256 of method, path and canonical body
  status     INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  answer     BLOB NOT NULL,
  PRIMARY KEY (org_id, key)
) STRICT;
CREATE INDEX idempotency_records_by_created ON idempotency_records (created_at);
