-- +goose Up
-- Who belongs to which organisation, and what the user may do there. A user of
-- an older file keeps its role in every organisation.
CREATE TABLE memberships (
  user_seq   INTEGER NOT NULL REFERENCES users (seq) ON DELETE CASCADE,
  org_id     INTEGER NOT NULL REFERENCES organisations (seq),
  role       TEXT NOT NULL CHECK (role IN ('admin', 'editor') OR role IN ('auditor', 'viewer')),
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (user_seq, org_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memberships_by_org ON memberships (org_id, user_seq);
INSERT INTO memberships (user_seq, org_id, role, created_at, updated_at)
  SELECT u.seq, o.seq, u.role, u.created_at, u.updated_at FROM users u JOIN organisations o ON o.removed_at IS NULL;
ALTER TABLE users DROP COLUMN role;
