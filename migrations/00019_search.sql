-- +goose Up
-- The search index of the dashboard's lists: the trigrams of each record's texts.
-- See doc/decisions/0006-a-search-index-in-the-background.md. This migration
-- creates it empty, so that a large file migrates at once. `govsvc serve` fills it.
--
-- A rowid of the index, and `place` below, holds three numbers:
-- (kind << 58) + (organisation << 34) + seq of the record.
CREATE VIRTUAL TABLE search_index USING fts5 (
  text, content = '', contentless_delete = 1, detail = none, tokenize = 'trigram'
);

-- Up to which seq the records of a kind are in the index. Later ones are not.
CREATE TABLE search_progress (
  kind INTEGER PRIMARY KEY,
  seq  INTEGER NOT NULL
) STRICT;
INSERT INTO search_progress (kind, seq) VALUES (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (7, 0);

-- Records whose texts changed since they were added to the index.
CREATE TABLE search_changes (
  place INTEGER PRIMARY KEY
) STRICT;

-- +goose StatementBegin
CREATE TRIGGER risks_search_changed AFTER UPDATE OF risk_id, title, description, owner_name, dimension, mitigation_action ON risks
WHEN (new.risk_id, new.title, new.description, new.owner_name, new.dimension, new.mitigation_action)
  IS NOT (old.risk_id, old.title, old.description, old.owner_name, old.dimension, old.mitigation_action)
BEGIN
  INSERT OR IGNORE INTO search_changes (place) VALUES ((1 << 58) + (new.org_id << 34) + new.seq);
END;
-- +goose StatementEnd
-- A later record may get the seq of a removed one.
-- +goose StatementBegin
CREATE TRIGGER risks_search_removed AFTER DELETE ON risks
BEGIN
  UPDATE search_progress SET seq = min(seq, old.seq - 1) WHERE kind = 1;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER milestones_search_changed AFTER UPDATE OF milestone_key, title, phase, owner_role ON milestones
WHEN (new.milestone_key, new.title, new.phase, new.owner_role)
  IS NOT (old.milestone_key, old.title, old.phase, old.owner_role)
BEGIN
  INSERT OR IGNORE INTO search_changes (place) VALUES ((2 << 58) + (new.org_id << 34) + new.seq);
END;
-- +goose StatementEnd
-- A later record may get the seq of a removed one.
-- +goose StatementBegin
CREATE TRIGGER milestones_search_removed AFTER DELETE ON milestones
BEGIN
  UPDATE search_progress SET seq = min(seq, old.seq - 1) WHERE kind = 2;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER obligations_search_changed AFTER UPDATE OF obligation_key, title, regime_id, regime_name, jurisdiction, owner_role ON obligations
WHEN (new.obligation_key, new.title, new.regime_id, new.regime_name, new.jurisdiction, new.owner_role)
  IS NOT (old.obligation_key, old.title, old.regime_id, old.regime_name, old.jurisdiction, old.owner_role)
BEGIN
  INSERT OR IGNORE INTO search_changes (place) VALUES ((3 << 58) + (new.org_id << 34) + new.seq);
END;
-- +goose StatementEnd
-- A later record may get the seq of a removed one.
-- +goose StatementBegin
CREATE TRIGGER obligations_search_removed AFTER DELETE ON obligations
BEGIN
  UPDATE search_progress SET seq = min(seq, old.seq - 1) WHERE kind = 3;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER vendors_search_changed AFTER UPDATE OF vendor_key, vendor_name, category, ai_role, renewal_owner_role, notes ON vendors
WHEN (new.vendor_key, new.vendor_name, new.category, new.ai_role, new.renewal_owner_role, new.notes)
  IS NOT (old.vendor_key, old.vendor_name, old.category, old.ai_role, old.renewal_owner_role, old.notes)
BEGIN
  INSERT OR IGNORE INTO search_changes (place) VALUES ((4 << 58) + (new.org_id << 34) + new.seq);
END;
-- +goose StatementEnd
-- A later record may get the seq of a removed one.
-- +goose StatementBegin
CREATE TRIGGER vendors_search_removed AFTER DELETE ON vendors
BEGIN
  UPDATE search_progress SET seq = min(seq, old.seq - 1) WHERE kind = 4;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER talent_gaps_search_changed AFTER UPDATE OF gap_key, role_title, function_area, owner_role ON talent_gaps
WHEN (new.gap_key, new.role_title, new.function_area, new.owner_role)
  IS NOT (old.gap_key, old.role_title, old.function_area, old.owner_role)
BEGIN
  INSERT OR IGNORE INTO search_changes (place) VALUES ((5 << 58) + (new.org_id << 34) + new.seq);
END;
-- +goose StatementEnd
-- A later record may get the seq of a removed one.
-- +goose StatementBegin
CREATE TRIGGER talent_gaps_search_removed AFTER DELETE ON talent_gaps
BEGIN
  UPDATE search_progress SET seq = min(seq, old.seq - 1) WHERE kind = 5;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER kpis_search_changed AFTER UPDATE OF code, statement, metric_name, unit ON kpis
WHEN (new.code, new.statement, new.metric_name, new.unit)
  IS NOT (old.code, old.statement, old.metric_name, old.unit)
BEGIN
  INSERT OR IGNORE INTO search_changes (place) VALUES ((6 << 58) + (new.org_id << 34) + new.seq);
END;
-- +goose StatementEnd
-- A later record may get the seq of a removed one.
-- +goose StatementBegin
CREATE TRIGGER kpis_search_removed AFTER DELETE ON kpis
BEGIN
  UPDATE search_progress SET seq = min(seq, old.seq - 1) WHERE kind = 6;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER incidents_search_changed AFTER UPDATE OF incident_key, title, description, affected_systems, jurisdictions, owner ON incidents
WHEN (new.incident_key, new.title, new.description, new.affected_systems, new.jurisdictions, new.owner)
  IS NOT (old.incident_key, old.title, old.description, old.affected_systems, old.jurisdictions, old.owner)
BEGIN
  INSERT OR IGNORE INTO search_changes (place) VALUES ((7 << 58) + (new.org_id << 34) + new.seq);
END;
-- +goose StatementEnd
-- A later record may get the seq of a removed one.
-- +goose StatementBegin
CREATE TRIGGER incidents_search_removed AFTER DELETE ON incidents
BEGIN
  UPDATE search_progress SET seq = min(seq, old.seq - 1) WHERE kind = 7;
END;
-- +goose StatementEnd
