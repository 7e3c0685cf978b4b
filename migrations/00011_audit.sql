-- +goose Up
-- The audit log: append-only, each event bound to the one before by its hash.
-- `event` is the text that the API serves and that the hash covers; what is
-- searched is derived from it, so the two can't differ.
CREATE TABLE audit_events (
  seq         INTEGER PRIMARY KEY AUTOINCREMENT,
  org_id      INTEGER NOT NULL REFERENCES organisations (seq),
  event       TEXT NOT NULL CHECK (json_type(event) = 'object'),
  -- sha256 of the hash of the organisation's event before and of `event`
  hash        BLOB NOT NULL CHECK (length(hash) = 32),
  time        TEXT GENERATED ALWAYS AS (event ->> 'time') STORED,
  actor       TEXT GENERATED ALWAYS AS (event ->> 'actor') VIRTUAL,
  action      TEXT GENERATED ALWAYS AS (event ->> 'action') VIRTUAL,
  resource_id TEXT GENERATED ALWAYS AS (event ->> 'resource_id') VIRTUAL
) STRICT;
CREATE INDEX audit_events_by_org ON audit_events (org_id, seq);
CREATE INDEX audit_events_by_time ON audit_events (org_id, time);
-- the history of a record; its events are few, whatever the organisation
CREATE INDEX audit_events_by_resource ON audit_events (resource_id) WHERE resource_id IS NOT NULL;

-- +goose StatementBegin
CREATE TRIGGER audit_events_never_change BEFORE UPDATE ON audit_events
BEGIN
  SELECT RAISE(ABORT, 'the audit log is append-only');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_events_never_go BEFORE DELETE ON audit_events
BEGIN
  SELECT RAISE(ABORT, 'the audit log is append-only');
END;
-- +goose StatementEnd
