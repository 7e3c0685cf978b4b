-- +goose Up
-- Which open risks and obligations are due next, and whose they are. The conditions
-- and the columns are those of the attention query of package db/dashboard.
-- A column of the condition is read too, so that the index has `status`.
CREATE INDEX risks_due ON risks (org_id, target_date, seq, owner_name, status)
  WHERE status <> 'Mitigated' AND status <> 'Accepted' AND status <> 'Closed' AND target_date IS NOT NULL;
CREATE INDEX obligations_due ON obligations (org_id, target_date, seq, owner_role, regime_id, status)
  WHERE status <> 'compliant' AND status <> 'not_applicable' AND target_date IS NOT NULL;

-- How many open risks have a severity and a likelihood, and how many of them are new:
-- with all columns of that query, so that it reads no row.
DROP INDEX risks_open;
CREATE INDEX risks_open ON risks (org_id, severity, likelihood, status, created_at) WHERE status IN ('Open', 'InProgress');
