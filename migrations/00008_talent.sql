-- +goose Up
CREATE TABLE talent_readiness (
  seq               INTEGER PRIMARY KEY,
  org_id            INTEGER NOT NULL REFERENCES organisations (seq),
  id                TEXT NOT NULL,
  version_number    INTEGER NOT NULL CHECK (version_number >= 0),
  overall_readiness TEXT NOT NULL CHECK (overall_readiness IN ('READY', 'DEVELOPING') OR overall_readiness IN ('AT_RISK', 'CRITICAL_GAP')),
  executive_summary TEXT NOT NULL,
  build_buy_borrow  TEXT NOT NULL CHECK (json_type(build_buy_borrow) = 'object'),
  generated_at      TEXT NOT NULL,
  created_at        TEXT NOT NULL,
  updated_at        TEXT NOT NULL,
  resource          TEXT GENERATED ALWAYS AS (json_object(
    'object', 'talent_readiness', 'id', id, 'version_number', version_number, 'overall_readiness', overall_readiness,
    'executive_summary', executive_summary, 'build_buy_borrow', json(build_buy_borrow),
    'generated_at', generated_at)) STORED,
  UNIQUE (org_id, id),
  UNIQUE (org_id, version_number)
) STRICT;

CREATE VIEW talent_readiness_records AS
SELECT org_id, created_at, id, json_object(
  'object', 'talent_readiness', 'id', id, 'version_number', version_number, 'overall_readiness', overall_readiness,
  'executive_summary', executive_summary, 'build_buy_borrow', json(build_buy_borrow),
  'generated_at', generated_at, 'created_at', created_at, 'updated_at', updated_at) AS record
FROM talent_readiness;

CREATE TABLE talent_gaps (
  seq              INTEGER PRIMARY KEY,
  org_id           INTEGER NOT NULL REFERENCES organisations (seq),
  id               TEXT NOT NULL,
  gap_key          TEXT NOT NULL,
  role_title       TEXT NOT NULL,
  function_area    TEXT NOT NULL,
  headcount_needed INTEGER NOT NULL,
  priority_band    TEXT NOT NULL CHECK (priority_band IN ('CRITICAL', 'HIGH') OR priority_band IN ('MEDIUM', 'LOW')),
  recommended_path TEXT NOT NULL CHECK (recommended_path IN ('build', 'buy') OR recommended_path = 'borrow'),
  status           TEXT NOT NULL CHECK (status IN ('open', 'in_progress') OR status IN ('filled', 'deferred') OR status = 'closed'),
  owner_role       TEXT,
  target_date      TEXT,
  created_at       TEXT NOT NULL,
  updated_at       TEXT NOT NULL,
  resource         TEXT GENERATED ALWAYS AS (json_object(
    'object', 'talent_gap', 'id', id, 'gap_key', gap_key, 'role_title', role_title, 'function_area', function_area,
    'headcount_needed', headcount_needed, 'priority_band', priority_band, 'recommended_path', recommended_path,
    'status', status, 'owner_role', owner_role, 'target_date', target_date, 'created_at', created_at)) STORED,
  UNIQUE (org_id, id),
  UNIQUE (org_id, gap_key)
) STRICT;
CREATE INDEX talent_gaps_by_created ON talent_gaps (org_id, created_at, id, updated_at);
CREATE INDEX talent_gaps_by_status ON talent_gaps (org_id, status, created_at, id);
CREATE INDEX talent_gaps_by_updated ON talent_gaps (org_id, updated_at, created_at, id, status);

CREATE VIEW talent_gap_records AS
SELECT org_id, created_at, id, json_object(
  'object', 'talent_gap', 'id', id, 'gap_key', gap_key, 'role_title', role_title, 'function_area', function_area,
  'headcount_needed', headcount_needed, 'priority_band', priority_band, 'recommended_path', recommended_path,
  'status', status, 'owner_role', owner_role, 'target_date', target_date,
  'created_at', created_at, 'updated_at', updated_at) AS record
FROM talent_gaps;
