-- +goose Up
-- Evidence packs, which are neither changed nor removed once they are filed.
CREATE TABLE evidence_packs (
  seq             INTEGER PRIMARY KEY,
  org_id          INTEGER NOT NULL REFERENCES organisations (seq),
  id              TEXT NOT NULL,
  title           TEXT NOT NULL,
  regime_id       TEXT,
  item_count      INTEGER NOT NULL,
  manifest        TEXT NOT NULL, -- canonical, as in the archive
  manifest_sha256 TEXT NOT NULL CHECK (length(manifest_sha256) = 64),
  filed_at        TEXT NOT NULL,
  filed_by        TEXT NOT NULL,
  UNIQUE (org_id, id)
) STRICT;
CREATE INDEX evidence_packs_by_filed ON evidence_packs (org_id, filed_at, id);

-- A pack's zip in pieces, so that nobody who writes or reads it needs the
-- memory for all of it.
CREATE TABLE evidence_chunks (
  pack_seq INTEGER NOT NULL REFERENCES evidence_packs (seq),
  number   INTEGER NOT NULL, -- from 0, without a gap
  bytes    BLOB NOT NULL,
  PRIMARY KEY (pack_seq, number)
) STRICT;

-- +goose StatementBegin
CREATE TRIGGER evidence_packs_never_change BEFORE UPDATE ON evidence_packs
BEGIN
  SELECT RAISE(ABORT, 'a filed evidence pack is kept as it is');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER evidence_packs_never_go BEFORE DELETE ON evidence_packs
BEGIN
  SELECT RAISE(ABORT, 'a filed evidence pack is kept as it is');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER evidence_chunks_never_change BEFORE UPDATE ON evidence_chunks
BEGIN
  SELECT RAISE(ABORT, 'a filed evidence pack is kept as it is');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER evidence_chunks_never_go BEFORE DELETE ON evidence_chunks
BEGIN
  SELECT RAISE(ABORT, 'a filed evidence pack is kept as it is');
END;
-- +goose StatementEnd
