-- +goose Up
CREATE TABLE compliance_postures (
  seq                   INTEGER PRIMARY KEY,
  org_id                INTEGER NOT NULL REFERENCES organisations (seq),
  id                    TEXT NOT NULL,
  version_number        INTEGER NOT NULL CHECK (version_number >= 0),
  overall_posture       TEXT NOT NULL CHECK (overall_posture IN ('COMPLIANT', 'PARTIALLY_COMPLIANT') OR overall_posture IN ('NON_COMPLIANT', 'NOT_ASSESSED')),
  primary_jurisdictions TEXT NOT NULL DEFAULT '[]' CHECK (json_type(primary_jurisdictions) = 'array'),
  regimes               TEXT NOT NULL DEFAULT '[]' CHECK (json_type(regimes) = 'array'),
  executive_summary     TEXT NOT NULL,
  generated_at          TEXT NOT NULL,
  created_at            TEXT NOT NULL,
  updated_at            TEXT NOT NULL,
  resource              TEXT GENERATED ALWAYS AS (json_object(
    'object', 'compliance_posture', 'id', id, 'version_number', version_number, 'overall_posture', overall_posture,
    'primary_jurisdictions', json(primary_jurisdictions), 'regimes', json(regimes),
    'executive_summary', executive_summary, 'generated_at', generated_at)) STORED,
  UNIQUE (org_id, id),
  UNIQUE (org_id, version_number)
) STRICT;

CREATE VIEW compliance_posture_records AS
SELECT org_id, created_at, id, json_object(
  'object', 'compliance_posture', 'id', id, 'version_number', version_number, 'overall_posture', overall_posture,
  'primary_jurisdictions', json(primary_jurisdictions), 'regimes', json(regimes),
  'executive_summary', executive_summary, 'generated_at', generated_at,
  'created_at', created_at, 'updated_at', updated_at) AS record
FROM compliance_postures;

CREATE TABLE obligations (
  seq            INTEGER PRIMARY KEY,
  org_id         INTEGER NOT NULL REFERENCES organisations (seq),
  id             TEXT NOT NULL,
  obligation_key TEXT NOT NULL,
  regime_id      TEXT NOT NULL,
  regime_name    TEXT NOT NULL,
  jurisdiction   TEXT NOT NULL,
  title          TEXT NOT NULL,
  priority_band  TEXT NOT NULL CHECK (priority_band IN ('CRITICAL', 'HIGH') OR priority_band IN ('MEDIUM', 'LOW')),
  status         TEXT NOT NULL CHECK (status IN ('not_started', 'in_progress') OR status IN ('compliant', 'at_risk') OR status IN ('non_compliant', 'not_applicable')),
  owner_role     TEXT,
  target_date    TEXT,
  created_at     TEXT NOT NULL,
  updated_at     TEXT NOT NULL,
  resource       TEXT GENERATED ALWAYS AS (json_object(
    'object', 'obligation', 'id', id, 'obligation_key', obligation_key, 'regime_id', regime_id,
    'regime_name', regime_name, 'jurisdiction', jurisdiction, 'title', title, 'priority_band', priority_band,
    'status', status, 'owner_role', owner_role, 'target_date', target_date, 'created_at', created_at)) STORED,
  UNIQUE (org_id, id),
  UNIQUE (org_id, obligation_key)
) STRICT;
CREATE INDEX obligations_by_created ON obligations (org_id, created_at, id, updated_at);
CREATE INDEX obligations_by_regime ON obligations (org_id, regime_id, created_at, id);
CREATE INDEX obligations_by_status ON obligations (org_id, status, created_at, id);
CREATE INDEX obligations_by_regime_status ON obligations (org_id, regime_id, status, created_at, id);
CREATE INDEX obligations_by_updated ON obligations (org_id, updated_at, created_at, id, regime_id, status);

CREATE VIEW obligation_records AS
SELECT org_id, created_at, id, json_object(
  'object', 'obligation', 'id', id, 'obligation_key', obligation_key, 'regime_id', regime_id,
  'regime_name', regime_name, 'jurisdiction', jurisdiction, 'title', title, 'priority_band', priority_band,
  'status', status, 'owner_role', owner_role, 'target_date', target_date,
  'created_at', created_at, 'updated_at', updated_at) AS record
FROM obligations;
