-- +goose Up
-- Files that people attach to records. The bytes are in evidence_pieces, as those of
-- evidence packs are.
CREATE TABLE attachments (
  seq         INTEGER PRIMARY KEY,
  org_id      INTEGER NOT NULL REFERENCES organisations (seq),
  id          TEXT NOT NULL,
  record_type TEXT NOT NULL,
  record_id   TEXT NOT NULL,
  name        TEXT NOT NULL,
  size        INTEGER NOT NULL, -- in bytes
  sha256      TEXT NOT NULL CHECK (length(sha256) = 64),
  author      TEXT NOT NULL, -- as the actor of an audit event
  created_at  TEXT NOT NULL,
  upload_seq  INTEGER NOT NULL UNIQUE REFERENCES evidence_uploads (seq),
  UNIQUE (org_id, id)
) STRICT;
CREATE INDEX attachments_by_record ON attachments (org_id, record_type, record_id, seq);
