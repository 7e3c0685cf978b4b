-- +goose Up
CREATE TABLE risks (
  seq                    INTEGER PRIMARY KEY,
  org_id                 INTEGER NOT NULL REFERENCES organisations (seq),
  id                     TEXT NOT NULL,
  risk_id                TEXT NOT NULL,
  title                  TEXT,
  dimension              TEXT,
  description            TEXT NOT NULL,
  severity               TEXT CHECK (severity IN ('CRITICAL', 'HIGH') OR severity IN ('MEDIUM', 'LOW')),
  residual_severity      TEXT CHECK (residual_severity IN ('CRITICAL', 'HIGH') OR residual_severity IN ('MEDIUM', 'LOW')),
  likelihood             TEXT CHECK (likelihood IN ('RARE', 'UNLIKELY') OR likelihood IN ('POSSIBLE', 'LIKELY') OR likelihood = 'ALMOST_CERTAIN'),
  status                 TEXT NOT NULL DEFAULT 'Open' CHECK (status IN ('Open', 'InProgress') OR status IN ('Mitigated', 'Accepted') OR status = 'Closed'),
  source                 TEXT,
  owner_name             TEXT,
  financial_exposure_min ANY CHECK (typeof(financial_exposure_min) NOT IN ('text', 'blob')),
  financial_exposure_max ANY CHECK (typeof(financial_exposure_max) NOT IN ('text', 'blob')),
  target_date            TEXT,
  mitigation_action      TEXT,
  residual_gap_reason    TEXT,
  -- the risk as it entered the register, before treatment
  untreated_baseline     TEXT CHECK (untreated_baseline IN ('CRITICAL', 'HIGH') OR untreated_baseline IN ('MEDIUM', 'LOW')),
  created_at             TEXT NOT NULL,
  updated_at             TEXT NOT NULL,
  resource               TEXT GENERATED ALWAYS AS (json_object(
    'object', 'risk', 'id', id, 'risk_id', risk_id, 'dimension', dimension, 'description', description,
    'severity', severity, 'residual_severity', residual_severity, 'status', status, 'source', source,
    'owner_name', owner_name, 'financial_exposure_min', financial_exposure_min,
    'financial_exposure_max', financial_exposure_max, 'target_date', target_date,
    'created_at', created_at)) STORED,
  UNIQUE (org_id, id),
  UNIQUE (org_id, risk_id)
) STRICT;
CREATE INDEX risks_by_created ON risks (org_id, created_at, id, updated_at);
CREATE INDEX risks_by_severity ON risks (org_id, severity, created_at, id);
CREATE INDEX risks_by_status ON risks (org_id, status, created_at, id);
CREATE INDEX risks_by_updated ON risks (org_id, updated_at, created_at, id, severity, status);
-- how many open risks have a severity and a likelihood
CREATE INDEX risks_open ON risks (org_id, severity, likelihood) WHERE status IN ('Open', 'InProgress');

CREATE VIEW risk_records AS
SELECT org_id, created_at, id, json_object(
  'object', 'risk', 'id', id, 'risk_id', risk_id, 'title', title, 'dimension', dimension,
  'description', description, 'severity', severity, 'residual_severity', residual_severity,
  'likelihood', likelihood, 'status', status, 'source', source, 'owner_name', owner_name,
  'financial_exposure_min', financial_exposure_min, 'financial_exposure_max', financial_exposure_max,
  'target_date', target_date, 'mitigation_action', mitigation_action,
  'residual_gap_reason', residual_gap_reason, 'created_at', created_at, 'updated_at', updated_at) AS record
FROM risks;

-- Why a risk was re-rated: every accepted severity_change_reason.
CREATE TABLE severity_evidence (
  seq      INTEGER PRIMARY KEY,
  risk_seq INTEGER NOT NULL REFERENCES risks (seq),
  id       TEXT NOT NULL UNIQUE,
  at       TEXT NOT NULL,
  actor    TEXT NOT NULL,
  reason   TEXT NOT NULL,
  before   TEXT NOT NULL CHECK (json_type(before) = 'object'),
  after    TEXT NOT NULL CHECK (json_type(after) = 'object')
) STRICT;
CREATE INDEX severity_evidence_by_risk ON severity_evidence (risk_seq, seq);
