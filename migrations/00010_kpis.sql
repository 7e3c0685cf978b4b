-- +goose Up
CREATE TABLE kpis (
  seq                   INTEGER PRIMARY KEY,
  org_id                INTEGER NOT NULL REFERENCES organisations (seq),
  id                    TEXT NOT NULL,
  code                  TEXT NOT NULL,
  objective_id          TEXT NOT NULL,
  statement             TEXT NOT NULL,
  metric_name           TEXT NOT NULL,
  unit                  TEXT NOT NULL,
  direction             TEXT NOT NULL CHECK (direction IN ('increase', 'decrease') OR direction = 'maintain'),
  baseline_value        ANY CHECK (typeof(baseline_value) NOT IN ('text', 'blob')),
  target_value          ANY NOT NULL CHECK (typeof(target_value) IN ('integer', 'real')),
  -- the check-in of the latest period; package db keeps them in step
  current_value         ANY CHECK (typeof(current_value) NOT IN ('text', 'blob')),
  current_as_of         TEXT,
  measurement_frequency TEXT NOT NULL CHECK (measurement_frequency IN ('weekly', 'monthly') OR measurement_frequency IN ('quarterly', 'annual')),
  status                TEXT NOT NULL CHECK (status IN ('draft', 'active') OR status IN ('achieved', 'missed') OR status = 'retired'),
  created_at            TEXT NOT NULL,
  updated_at            TEXT NOT NULL,
  resource              TEXT GENERATED ALWAYS AS (json_object(
    'object', 'kpi', 'id', id, 'code', code, 'objective_id', objective_id, 'statement', statement,
    'metric_name', metric_name, 'unit', unit, 'direction', direction, 'baseline_value', baseline_value,
    'target_value', target_value, 'current_value', current_value, 'current_as_of', current_as_of,
    'measurement_frequency', measurement_frequency, 'status', status,
    'created_at', created_at, 'updated_at', updated_at)) STORED,
  UNIQUE (org_id, id),
  UNIQUE (org_id, code)
) STRICT;
CREATE INDEX kpis_by_created ON kpis (org_id, created_at, id, updated_at);
CREATE INDEX kpis_by_status ON kpis (org_id, status, created_at, id);
CREATE INDEX kpis_by_updated ON kpis (org_id, updated_at, created_at, id, code, status);

CREATE VIEW kpi_records AS
SELECT org_id, created_at, id, json_object(
  'object', 'kpi', 'id', id, 'code', code, 'objective_id', objective_id, 'statement', statement,
  'metric_name', metric_name, 'unit', unit, 'direction', direction, 'baseline_value', baseline_value,
  'target_value', target_value, 'current_value', current_value, 'current_as_of', current_as_of,
  'measurement_frequency', measurement_frequency, 'status', status,
  'created_at', created_at, 'updated_at', updated_at) AS record
FROM kpis;

-- One value a key result and period; a later point replaces it.
CREATE TABLE kpi_checkins (
  seq          INTEGER PRIMARY KEY,
  kpi_seq      INTEGER NOT NULL REFERENCES kpis (seq),
  id           TEXT NOT NULL,
  period_start TEXT NOT NULL,
  value        ANY NOT NULL CHECK (typeof(value) IN ('integer', 'real')),
  source       TEXT NOT NULL,
  evidence_ref TEXT,
  note         TEXT,
  created_at   TEXT NOT NULL,
  updated_at   TEXT NOT NULL,
  UNIQUE (kpi_seq, period_start)
) STRICT;

CREATE VIEW kpi_checkin_records AS
SELECT k.org_id AS org_id, c.created_at AS created_at, c.id AS id, json_object(
  'object', 'kpi_checkin', 'id', c.id, 'key_result_id', k.id, 'key_result_code', k.code, 'value', c.value,
  'period_start', c.period_start, 'source', c.source, 'evidence_ref', c.evidence_ref, 'note', c.note,
  'created_at', c.created_at, 'updated_at', c.updated_at) AS record
FROM kpi_checkins c JOIN kpis k ON k.seq = c.kpi_seq;
