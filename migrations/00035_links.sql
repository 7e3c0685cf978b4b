-- +goose Up
-- The key, the name and the status of each record that can be linked, commented on and archived.
-- The key of a milestone names the version of its roadmap.
CREATE VIEW record_names AS
SELECT org_id, 'risk' AS type, id, risk_id AS key, coalesce(nullif(trim(title), ''), risk_id) AS name, status FROM risks
UNION ALL
SELECT org_id, 'incident', id, coalesce(incident_key, id), title, status FROM incidents
UNION ALL
SELECT org_id, 'vendor', id, vendor_key, vendor_name, status FROM vendors
UNION ALL
SELECT org_id, 'obligation', id, obligation_key, title, status FROM obligations
UNION ALL
SELECT org_id, 'kpi', id, code, metric_name, status FROM kpis
UNION ALL
SELECT org_id, 'talent_gap', id, gap_key, role_title, status FROM talent_gaps
UNION ALL
SELECT m.org_id, 'milestone', m.id, v.version_number || '/' || m.milestone_key, m.title, m.status
FROM milestones m JOIN roadmaps v ON v.org_id = m.org_id AND v.id = m.roadmap_id;

-- Links between two records. A link has no direction: package db orders its two records by
-- type and id, so that the unique key finds the link from either side. Records are never
-- removed, so that an id stays valid.
CREATE TABLE links (
  seq         INTEGER PRIMARY KEY,
  org_id      INTEGER NOT NULL REFERENCES organisations (seq),
  id          TEXT NOT NULL,
  record_type TEXT NOT NULL,
  record_id   TEXT NOT NULL,
  other_type  TEXT NOT NULL,
  other_id    TEXT NOT NULL,
  created_at  TEXT NOT NULL,
  updated_at  TEXT NOT NULL,
  resource    TEXT GENERATED ALWAYS AS (json_object('object', 'link', 'id', id)) VIRTUAL,
  UNIQUE (org_id, id),
  UNIQUE (org_id, record_type, record_id, other_type, other_id)
) STRICT;
CREATE INDEX links_by_other ON links (org_id, other_type, other_id);
CREATE INDEX links_by_created ON links (org_id, created_at, id);

-- The keys are those of record_names. SQLite would read all records for each link through
-- that view.
CREATE VIEW link_records AS
SELECT org_id, created_at, id, json_object(
  'object', 'link', 'id', id, 'record_type', record_type,
  'record_key', CASE record_type
    WHEN 'risk' THEN (SELECT risk_id FROM risks WHERE org_id = l.org_id AND id = l.record_id)
    WHEN 'incident' THEN (SELECT coalesce(incident_key, id) FROM incidents WHERE org_id = l.org_id AND id = l.record_id)
    WHEN 'vendor' THEN (SELECT vendor_key FROM vendors WHERE org_id = l.org_id AND id = l.record_id)
    WHEN 'obligation' THEN (SELECT obligation_key FROM obligations WHERE org_id = l.org_id AND id = l.record_id)
    WHEN 'kpi' THEN (SELECT code FROM kpis WHERE org_id = l.org_id AND id = l.record_id)
    WHEN 'talent_gap' THEN (SELECT gap_key FROM talent_gaps WHERE org_id = l.org_id AND id = l.record_id)
    WHEN 'milestone' THEN (SELECT v.version_number || '/' || m.milestone_key
      FROM milestones m JOIN roadmaps v ON v.org_id = m.org_id AND v.id = m.roadmap_id WHERE m.org_id = l.org_id AND m.id = l.record_id)
    END,
  'other_type', other_type,
  'other_key', CASE other_type
    WHEN 'risk' THEN (SELECT risk_id FROM risks WHERE org_id = l.org_id AND id = l.other_id)
    WHEN 'incident' THEN (SELECT coalesce(incident_key, id) FROM incidents WHERE org_id = l.org_id AND id = l.other_id)
    WHEN 'vendor' THEN (SELECT vendor_key FROM vendors WHERE org_id = l.org_id AND id = l.other_id)
    WHEN 'obligation' THEN (SELECT obligation_key FROM obligations WHERE org_id = l.org_id AND id = l.other_id)
    WHEN 'kpi' THEN (SELECT code FROM kpis WHERE org_id = l.org_id AND id = l.other_id)
    WHEN 'talent_gap' THEN (SELECT gap_key FROM talent_gaps WHERE org_id = l.org_id AND id = l.other_id)
    WHEN 'milestone' THEN (SELECT v.version_number || '/' || m.milestone_key
      FROM milestones m JOIN roadmaps v ON v.org_id = m.org_id AND v.id = m.roadmap_id WHERE m.org_id = l.org_id AND m.id = l.other_id)
    END,
  'created_at', created_at, 'updated_at', updated_at) AS record
FROM links l;

-- Which records a removed link joined, for the histories of these records.
CREATE TABLE removed_links (
  org_id      INTEGER NOT NULL REFERENCES organisations (seq),
  id          TEXT NOT NULL,
  record_type TEXT NOT NULL,
  record_id   TEXT NOT NULL,
  other_type  TEXT NOT NULL,
  other_id    TEXT NOT NULL,
  PRIMARY KEY (org_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX removed_links_by_record ON removed_links (org_id, record_type, record_id);
CREATE INDEX removed_links_by_other ON removed_links (org_id, other_type, other_id);

-- +goose StatementBegin
CREATE TRIGGER links_removed AFTER DELETE ON links
BEGIN
  INSERT OR IGNORE INTO removed_links (org_id, id, record_type, record_id, other_type, other_id)
    VALUES (old.org_id, old.id, old.record_type, old.record_id, old.other_type, old.other_id);
END;
-- +goose StatementEnd
