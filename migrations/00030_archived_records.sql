-- +goose Up
-- Records that the lists of the dashboard leave out. See
-- doc/decisions/0017-archiving-is-a-filter-of-the-dashboard.md.
CREATE TABLE archived_records (
  org_id      INTEGER NOT NULL REFERENCES organisations (seq),
  record_type TEXT NOT NULL,
  record_id   TEXT NOT NULL,
  archived_at TEXT NOT NULL,
  archived_by TEXT NOT NULL, -- as the actor of an audit event
  PRIMARY KEY (org_id, record_type, record_id)
) STRICT, WITHOUT ROWID;
