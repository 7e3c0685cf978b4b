-- +goose Up
-- Comments on records. A removed comment is deleted. The audit log keeps what it said.
CREATE TABLE comments (
  seq         INTEGER PRIMARY KEY,
  org_id      INTEGER NOT NULL REFERENCES organisations (seq),
  id          TEXT NOT NULL,
  record_type TEXT NOT NULL,
  record_id   TEXT NOT NULL,
  text        TEXT NOT NULL,
  author      TEXT NOT NULL, -- as the actor of an audit event
  created_at  TEXT NOT NULL,
  UNIQUE (org_id, id)
) STRICT;
CREATE INDEX comments_by_record ON comments (org_id, record_type, record_id, seq);
