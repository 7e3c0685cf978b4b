-- +goose Up
CREATE TABLE evidence_packs (
  seq             INTEGER PRIMARY KEY,
  org_id          INTEGER NOT NULL REFERENCES organisations (seq),
  id              TEXT NOT NULL,
  title           TEXT NOT NULL,
  item_count      INTEGER NOT NULL,
  manifest        TEXT NOT NULL,
  manifest_sha256 TEXT NOT NULL CHECK (length(manifest_sha256) = 64),
  filed_at        TEXT NOT NULL,
  filed_by        TEXT NOT NULL,
  archive         BLOB NOT NULL, -- the zip; last, so that listing need not read it
  UNIQUE (org_id, id)
) STRICT;
CREATE INDEX evidence_packs_by_filed ON evidence_packs (org_id, filed_at, id);
