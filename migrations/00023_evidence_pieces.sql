-- +goose Up
-- The zip of a pack is stored in short transactions before the pack is filed.
-- An upload belongs to no pack until then. Packs that were filed by earlier
-- versions keep their zip in evidence_chunks.
CREATE TABLE evidence_uploads (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  written_at TEXT NOT NULL -- when its last piece was stored
) STRICT;

CREATE TABLE evidence_pieces (
  upload_seq INTEGER NOT NULL REFERENCES evidence_uploads (seq),
  number     INTEGER NOT NULL, -- from 0, without a gap
  bytes      BLOB NOT NULL,
  PRIMARY KEY (upload_seq, number)
) STRICT;

ALTER TABLE evidence_packs ADD COLUMN upload_seq INTEGER REFERENCES evidence_uploads (seq);
ALTER TABLE evidence_packs ADD COLUMN size INTEGER; -- of the zip in bytes; NULL in packs of earlier versions
CREATE UNIQUE INDEX evidence_packs_by_upload ON evidence_packs (upload_seq) WHERE upload_seq IS NOT NULL;

-- +goose StatementBegin
CREATE TRIGGER evidence_uploads_never_go BEFORE DELETE ON evidence_uploads
WHEN EXISTS (SELECT 1 FROM evidence_packs WHERE upload_seq = old.seq)
BEGIN
  SELECT RAISE(ABORT, 'a filed evidence pack is kept as it is');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER evidence_pieces_never_change BEFORE UPDATE ON evidence_pieces
BEGIN
  SELECT RAISE(ABORT, 'a filed evidence pack is kept as it is');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER evidence_pieces_never_go BEFORE DELETE ON evidence_pieces
WHEN EXISTS (SELECT 1 FROM evidence_packs WHERE upload_seq = old.upload_seq)
BEGIN
  SELECT RAISE(ABORT, 'a filed evidence pack is kept as it is');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER evidence_pieces_never_added BEFORE INSERT ON evidence_pieces
WHEN EXISTS (SELECT 1 FROM evidence_packs WHERE upload_seq = new.upload_seq)
BEGIN
  SELECT RAISE(ABORT, 'a filed evidence pack is kept as it is');
END;
-- +goose StatementEnd
