-- +goose Up
CREATE TABLE incidents (
  seq                   INTEGER PRIMARY KEY,
  org_id                INTEGER NOT NULL REFERENCES organisations (seq),
  id                    TEXT NOT NULL,
  incident_key          TEXT,
  title                 TEXT NOT NULL,
  description           TEXT,
  incident_type         TEXT NOT NULL DEFAULT 'other' CHECK (incident_type IN ('model_failure', 'bias_harm') OR incident_type IN ('data_exposure', 'agent_failure') OR incident_type IN ('regulatory_inquiry', 'shadow_ai_breach') OR incident_type = 'other'),
  severity              TEXT NOT NULL DEFAULT 'medium' CHECK (severity IN ('low', 'medium') OR severity IN ('high', 'critical')),
  status                TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'investigating') OR status IN ('contained', 'resolved') OR status IN ('post_review', 'closed')),
  affected_systems      TEXT,
  jurisdictions         TEXT,
  owner                 TEXT,
  notification_required INTEGER NOT NULL DEFAULT 0 CHECK (notification_required IN (0, 1)),
  notification_deadline TEXT,
  notified_at           TEXT,
  created_at            TEXT NOT NULL,
  updated_at            TEXT NOT NULL,
  resource              TEXT GENERATED ALWAYS AS (json_object(
    'object', 'incident', 'id', id, 'title', title, 'description', description, 'incident_type', incident_type,
    'severity', severity, 'status', status, 'affected_systems', affected_systems, 'jurisdictions', jurisdictions,
    'owner', owner, 'notification_required', json(iif(notification_required, 'true', 'false')),
    'notification_deadline', notification_deadline, 'notified_at', notified_at,
    'created_at', created_at, 'updated_at', updated_at)) STORED,
  UNIQUE (org_id, id),
  UNIQUE (org_id, incident_key)
) STRICT;
CREATE INDEX incidents_by_created ON incidents (org_id, created_at, id, updated_at);
CREATE INDEX incidents_by_severity ON incidents (org_id, severity, created_at, id);
CREATE INDEX incidents_by_status ON incidents (org_id, status, created_at, id);
CREATE INDEX incidents_by_updated ON incidents (org_id, updated_at, created_at, id, severity, status);
-- incidents whose authority waits for a notification
CREATE INDEX incidents_clocks ON incidents (org_id, notification_deadline)
  WHERE notification_required = 1 AND notified_at IS NULL AND status <> 'closed';
-- how many open incidents there are of a severity
CREATE INDEX incidents_open ON incidents (org_id, severity)
  WHERE status = 'open' OR status = 'investigating' OR status = 'contained';

-- The declaration and each change of status, oldest first by seq.
CREATE TABLE incident_timeline (
  seq          INTEGER PRIMARY KEY,
  incident_seq INTEGER NOT NULL REFERENCES incidents (seq),
  at           TEXT NOT NULL,
  status       TEXT NOT NULL CHECK (status IN ('open', 'investigating') OR status IN ('contained', 'resolved') OR status IN ('post_review', 'closed')),
  note         TEXT,
  actor        TEXT
) STRICT;
CREATE INDEX incident_timeline_by_incident ON incident_timeline (incident_seq, seq);

-- No ORDER BY inside the aggregate: a shell of SQLite before 3.44 could then not
-- open the file at all.
CREATE VIEW incident_records AS
SELECT org_id, created_at, id, json_object(
  'object', 'incident', 'id', id, 'incident_key', incident_key, 'title', title, 'description', description,
  'incident_type', incident_type, 'severity', severity, 'status', status, 'affected_systems', affected_systems,
  'jurisdictions', jurisdictions, 'owner', owner,
  'notification_required', json(iif(notification_required, 'true', 'false')),
  'notification_deadline', notification_deadline, 'notified_at', notified_at,
  'timeline', (SELECT json_group_array(json(step))
               FROM (SELECT json_object('at', at, 'status', status, 'note', note, 'actor', actor) AS step
                     FROM incident_timeline t WHERE t.incident_seq = incidents.seq ORDER BY t.seq)),
  'created_at', created_at, 'updated_at', updated_at) AS record
FROM incidents;
