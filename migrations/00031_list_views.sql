-- +goose Up
-- How a member of an organisation looks at its lists in the dashboard: the columns
-- and the length of a page. They end with the membership.
CREATE TABLE list_settings (
  user_seq   INTEGER NOT NULL,
  org_id     INTEGER NOT NULL,
  type       TEXT NOT NULL, -- of the records
  -- the names of the members, with commas between them; NULL for those of the program
  columns    TEXT CHECK (length(columns) BETWEEN 1 AND 2000),
  page_size  INTEGER CHECK (page_size BETWEEN 1 AND 200),
  updated_at TEXT NOT NULL,
  PRIMARY KEY (user_seq, org_id, type),
  FOREIGN KEY (user_seq, org_id) REFERENCES memberships (user_seq, org_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Named views of lists. query has the filters, the order and the columns, as the
-- address of the list has them.
CREATE TABLE list_views (
  seq        INTEGER PRIMARY KEY,
  user_seq   INTEGER NOT NULL,
  org_id     INTEGER NOT NULL,
  type       TEXT NOT NULL,
  id         TEXT NOT NULL UNIQUE,
  name       TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 60),
  query      TEXT NOT NULL CHECK (length(query) <= 4000),
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  UNIQUE (user_seq, org_id, type, name),
  FOREIGN KEY (user_seq, org_id) REFERENCES memberships (user_seq, org_id) ON DELETE CASCADE
) STRICT;

-- The values that the filters of a list offer, and the records with each of them.
CREATE INDEX milestones_by_phase ON milestones (org_id, roadmap_id, phase, created_at, id);
CREATE INDEX obligations_by_jurisdiction ON obligations (org_id, jurisdiction, created_at, id);
CREATE INDEX signals_by_module ON signals (org_id, module_id, signal_type, id) WHERE current = 1;
