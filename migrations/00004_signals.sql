-- +goose Up
CREATE TABLE signals (
  seq            INTEGER PRIMARY KEY,
  org_id         INTEGER NOT NULL REFERENCES organisations (seq),
  id             TEXT NOT NULL,
  signal_type    TEXT NOT NULL,
  module_id      TEXT NOT NULL,
  numeric_value  ANY CHECK (typeof(numeric_value) NOT IN ('text', 'blob')),
  rag            TEXT CHECK (rag IN ('RED', 'AMBER') OR rag = 'GREEN'),
  source_version TEXT,
  as_of          TEXT NOT NULL,
  -- 1: the value that the API shows; 0: superseded, kept as history
  current        INTEGER NOT NULL DEFAULT 1 CHECK (current IN (0, 1)),
  created_at     TEXT NOT NULL,
  updated_at     TEXT NOT NULL,
  resource       TEXT GENERATED ALWAYS AS (json_object(
    'object', 'signal', 'id', id, 'signal_type', signal_type, 'module_id', module_id,
    'numeric_value', numeric_value, 'rag', rag, 'source_version', source_version, 'as_of', as_of)) STORED,
  UNIQUE (org_id, id),
  UNIQUE (org_id, signal_type, as_of)
) STRICT;
CREATE UNIQUE INDEX signals_current ON signals (org_id, signal_type) WHERE current = 1;
CREATE INDEX signals_by_updated ON signals (org_id, updated_at, signal_type) WHERE current = 1;

CREATE VIEW signal_records AS
SELECT org_id, created_at, id, json_object(
  'object', 'signal', 'id', id, 'signal_type', signal_type, 'module_id', module_id,
  'numeric_value', numeric_value, 'rag', rag, 'source_version', source_version, 'as_of', as_of,
  'created_at', created_at, 'updated_at', updated_at) AS record
FROM signals WHERE current = 1;
