-- +goose Up
-- Which board reports were presented, and the figures that they had. The next report shows
-- what has changed since.
CREATE TABLE saved_reports (
  seq      INTEGER PRIMARY KEY,
  org_id   INTEGER NOT NULL REFERENCES organisations (seq),
  id       TEXT NOT NULL,
  title    TEXT NOT NULL,
  figures  TEXT NOT NULL CHECK (json_type(figures) = 'object'),
  saved_at TEXT NOT NULL,
  saved_by TEXT NOT NULL, -- as the actor of an audit event
  UNIQUE (org_id, id)
) STRICT;
CREATE INDEX saved_reports_by_org ON saved_reports (org_id, seq);
