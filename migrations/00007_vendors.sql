-- +goose Up
CREATE TABLE vendor_portfolios (
  seq                 INTEGER PRIMARY KEY,
  org_id              INTEGER NOT NULL REFERENCES organisations (seq),
  id                  TEXT NOT NULL,
  version_number      INTEGER NOT NULL CHECK (version_number >= 0),
  portfolio_posture   TEXT NOT NULL CHECK (portfolio_posture IN ('HEALTHY', 'WATCH') OR portfolio_posture IN ('ELEVATED', 'CRITICAL')),
  executive_summary   TEXT NOT NULL,
  cross_vendor_risks  TEXT NOT NULL DEFAULT '[]' CHECK (json_type(cross_vendor_risks) = 'array'),
  recommended_actions TEXT NOT NULL DEFAULT '[]' CHECK (json_type(recommended_actions) = 'array'),
  generated_at        TEXT NOT NULL,
  created_at          TEXT NOT NULL,
  updated_at          TEXT NOT NULL,
  resource            TEXT GENERATED ALWAYS AS (json_object(
    'object', 'vendor_portfolio', 'id', id, 'version_number', version_number, 'portfolio_posture', portfolio_posture,
    'executive_summary', executive_summary, 'cross_vendor_risks', json(cross_vendor_risks),
    'recommended_actions', json(recommended_actions), 'generated_at', generated_at)) STORED,
  UNIQUE (org_id, id),
  UNIQUE (org_id, version_number)
) STRICT;

CREATE VIEW vendor_portfolio_records AS
SELECT org_id, created_at, id, json_object(
  'object', 'vendor_portfolio', 'id', id, 'version_number', version_number, 'portfolio_posture', portfolio_posture,
  'executive_summary', executive_summary, 'cross_vendor_risks', json(cross_vendor_risks),
  'recommended_actions', json(recommended_actions), 'generated_at', generated_at,
  'created_at', created_at, 'updated_at', updated_at) AS record
FROM vendor_portfolios;

CREATE TABLE vendors (
  seq                    INTEGER PRIMARY KEY,
  org_id                 INTEGER NOT NULL REFERENCES organisations (seq),
  id                     TEXT NOT NULL,
  vendor_key             TEXT NOT NULL,
  vendor_name            TEXT NOT NULL,
  category               TEXT NOT NULL,
  ai_role                TEXT,
  initial_risk_band      TEXT NOT NULL CHECK (initial_risk_band IN ('CRITICAL', 'HIGH') OR initial_risk_band IN ('MEDIUM', 'LOW')),
  initial_recommendation TEXT CHECK (initial_recommendation IN ('consolidate', 'negotiate') OR initial_recommendation IN ('maintain', 'exit') OR initial_recommendation = 'onboard'),
  status                 TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'under_review') OR status IN ('negotiating', 'sunsetting') OR status IN ('exited', 'blocked')),
  contract_start         TEXT,
  contract_end           TEXT,
  annual_cost_usd        ANY CHECK (annual_cost_usd IS NULL OR typeof(annual_cost_usd) IN ('integer', 'real') AND annual_cost_usd >= 0),
  renewal_owner_role     TEXT,
  notes                  TEXT,
  created_at             TEXT NOT NULL,
  updated_at             TEXT NOT NULL,
  resource               TEXT GENERATED ALWAYS AS (json_object(
    'object', 'vendor', 'id', id, 'vendor_key', vendor_key, 'vendor_name', vendor_name, 'category', category,
    'ai_role', ai_role, 'initial_risk_band', initial_risk_band, 'initial_recommendation', initial_recommendation,
    'status', status, 'contract_end', contract_end, 'annual_cost_usd', annual_cost_usd,
    'created_at', created_at)) STORED,
  UNIQUE (org_id, id),
  UNIQUE (org_id, vendor_key)
) STRICT;
CREATE INDEX vendors_by_created ON vendors (org_id, created_at, id, updated_at);
CREATE INDEX vendors_by_status ON vendors (org_id, status, created_at, id);
CREATE INDEX vendors_by_updated ON vendors (org_id, updated_at, created_at, id, status);
-- how many vendors are in a risk band, and whose contract ends next
CREATE INDEX vendors_by_band ON vendors (org_id, initial_risk_band) WHERE status <> 'exited';
CREATE INDEX vendors_by_contract_end ON vendors (org_id, contract_end) WHERE status <> 'exited' AND contract_end IS NOT NULL;

CREATE VIEW vendor_records AS
SELECT org_id, created_at, id, json_object(
  'object', 'vendor', 'id', id, 'vendor_key', vendor_key, 'vendor_name', vendor_name, 'category', category,
  'ai_role', ai_role, 'initial_risk_band', initial_risk_band, 'initial_recommendation', initial_recommendation,
  'status', status, 'contract_start', contract_start, 'contract_end', contract_end,
  'annual_cost_usd', annual_cost_usd, 'renewal_owner_role', renewal_owner_role, 'notes', notes,
  'created_at', created_at, 'updated_at', updated_at) AS record
FROM vendors;
