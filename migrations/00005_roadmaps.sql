-- +goose Up
CREATE TABLE roadmaps (
  seq               INTEGER PRIMARY KEY,
  org_id            INTEGER NOT NULL REFERENCES organisations (seq),
  id                TEXT NOT NULL,
  version_number    INTEGER NOT NULL CHECK (version_number >= 0),
  executive_summary TEXT,
  framework_blend   TEXT NOT NULL DEFAULT '{}' CHECK (json_type(framework_blend) = 'object'),
  phases            TEXT NOT NULL DEFAULT '[]' CHECK (json_type(phases) = 'array'),
  milestones_count  INTEGER CHECK (milestones_count >= 0),
  generated_at      TEXT NOT NULL,
  created_at        TEXT NOT NULL,
  updated_at        TEXT NOT NULL,
  resource          TEXT GENERATED ALWAYS AS (json_object(
    'object', 'roadmap', 'id', id, 'version_number', version_number, 'executive_summary', executive_summary,
    'framework_blend', json(framework_blend), 'phases', json(phases), 'milestones_count', milestones_count,
    'generated_at', generated_at)) STORED,
  UNIQUE (org_id, id),
  -- the active roadmap is the greatest version
  UNIQUE (org_id, version_number)
) STRICT;

CREATE VIEW roadmap_records AS
SELECT org_id, created_at, id, json_object(
  'object', 'roadmap', 'id', id, 'version_number', version_number, 'executive_summary', executive_summary,
  'framework_blend', json(framework_blend), 'phases', json(phases), 'milestones_count', milestones_count,
  'generated_at', generated_at, 'created_at', created_at, 'updated_at', updated_at) AS record
FROM roadmaps;

CREATE TABLE milestones (
  seq           INTEGER PRIMARY KEY,
  org_id        INTEGER NOT NULL,
  id            TEXT NOT NULL,
  roadmap_id    TEXT NOT NULL,
  milestone_key TEXT NOT NULL,
  title         TEXT NOT NULL,
  phase         TEXT NOT NULL,
  sequence      INTEGER NOT NULL,
  status        TEXT NOT NULL CHECK (status IN ('not_started', 'in_progress') OR status IN ('blocked', 'completed') OR status = 'cancelled'),
  rag_status    TEXT NOT NULL CHECK (rag_status IN ('RED', 'AMBER') OR rag_status = 'GREEN'),
  progress_pct  ANY NOT NULL DEFAULT 0 CHECK (typeof(progress_pct) IN ('integer', 'real') AND progress_pct BETWEEN 0 AND 100),
  owner_role    TEXT NOT NULL,
  target_date   TEXT,
  created_at    TEXT NOT NULL,
  updated_at    TEXT NOT NULL,
  resource      TEXT GENERATED ALWAYS AS (json_object(
    'object', 'milestone', 'id', id, 'roadmap_id', roadmap_id, 'milestone_key', milestone_key,
    'title', title, 'phase', phase, 'sequence', sequence, 'status', status, 'rag_status', rag_status,
    'progress_pct', progress_pct, 'owner_role', owner_role, 'target_date', target_date,
    'created_at', created_at)) STORED,
  UNIQUE (org_id, id),
  UNIQUE (org_id, roadmap_id, milestone_key),
  FOREIGN KEY (org_id, roadmap_id) REFERENCES roadmaps (org_id, id)
) STRICT;
CREATE INDEX milestones_by_created ON milestones (org_id, roadmap_id, created_at, id, updated_at);
CREATE INDEX milestones_by_status ON milestones (org_id, roadmap_id, status, created_at, id);
CREATE INDEX milestones_by_updated ON milestones (org_id, roadmap_id, updated_at, created_at, id, status);

CREATE VIEW milestone_records AS
SELECT m.org_id AS org_id, m.created_at AS created_at, m.id AS id, json_object(
  'object', 'milestone', 'id', m.id, 'roadmap_version', r.version_number, 'roadmap_id', m.roadmap_id,
  'milestone_key', m.milestone_key, 'title', m.title, 'phase', m.phase, 'sequence', m.sequence,
  'status', m.status, 'rag_status', m.rag_status, 'progress_pct', m.progress_pct,
  'owner_role', m.owner_role, 'target_date', m.target_date,
  'created_at', m.created_at, 'updated_at', m.updated_at) AS record
FROM milestones m JOIN roadmaps r ON r.org_id = m.org_id AND r.id = m.roadmap_id;
