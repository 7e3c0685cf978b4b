package db_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// packRows counts the rows that belong to packs.
func packRows(t *testing.T, path string) (packs, uploads, pieces int) {
	t.Helper()
	err := testkit.OpenSQL(t, path).QueryRowContext(t.Context(), `SELECT (SELECT count(*) FROM evidence_packs),
		(SELECT count(*) FROM evidence_uploads), (SELECT count(*) FROM evidence_pieces)`).Scan(&packs, &uploads, &pieces)
	must(t, err)
	return packs, uploads, pieces
}

// TestEvidence_FileLetsOthersWrite writes risks while a pack is stored. The data file
// is not locked between the pieces, and the pack is not listed before it is complete.
func TestEvidence_FileLetsOthersWrite(t *testing.T) {
	t.Parallel()
	path := testdb.EmptyFile(t)
	store := open(t, path)
	by := testdb.Operator(t, store)
	archive := bytes.Repeat([]byte("0123456789abcdef"), 1<<20/16)
	pack := store.Evidence.NewPack(by, "A pack")
	err := store.Evidence.File(t.Context(), by, &pack, []byte("{}"), func(w io.Writer) error {
		for _, name := range []string{"first", "second", "third"} {
			if _, err := w.Write(archive); err != nil {
				return err
			}
			if err := testdb.AddRisk(t.Context(), store, name); err != nil {
				return err
			}
			list, err := store.Evidence.List(t.Context(), by.Org)
			if err != nil || len(list) != 0 {
				t.Errorf("got list %v, %v, want no incomplete pack", list, err)
			}
		}
		return nil
	})
	must(t, err)
	if packs, uploads, pieces := packRows(t, path); packs != 1 || uploads != 1 || pieces != 3 {
		t.Errorf("got %d packs, %d uploads, %d pieces", packs, uploads, pieces)
	}
	var got bytes.Buffer
	if _, err := store.Evidence.Export(t.Context(), by, pack.ID, &got); err != nil || !bytes.Equal(got.Bytes(), bytes.Repeat(archive, 3)) {
		t.Errorf("got %d exported bytes, %v", got.Len(), err)
	}
}

// TestEvidence_FileLeavesNothing checks that the pieces of a pack are removed if its filing
// fails or its process is killed. Filed packs and running uploads stay.
func TestEvidence_FileLeavesNothing(t *testing.T) {
	t.Parallel()
	path, clock := testdb.EmptyFile(t), testkit.NewClock(testkit.Start)
	store := testdb.Open(t, db.Options{Path: path, Now: clock.Now})
	by := testdb.Operator(t, store)
	piece := bytes.Repeat([]byte{1}, 1<<20)
	pack := store.Evidence.NewPack(by, "A pack")
	broken := errors.New("the disk is gone")
	err := store.Evidence.File(t.Context(), by, &pack, []byte("{}"), func(w io.Writer) error {
		_, err := w.Write(piece)
		return errors.Join(err, broken)
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if packs, uploads, pieces := packRows(t, path); packs+uploads+pieces != 0 {
		t.Errorf("got %d packs, %d uploads, %d pieces", packs, uploads, pieces)
	}
	filePack(t, store, by, piece)
	// an upload of a killed process, and a running one
	testkit.ExecSQL(t, path, "INSERT INTO evidence_uploads (written_at) VALUES ('2026-10-01T11:30:00.000Z'), ('2026-10-01T11:59:00.000Z')",
		`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
			INSERT INTO evidence_pieces (upload_seq, number, bytes) SELECT seq, i, x'00' FROM evidence_uploads, n
			WHERE seq NOT IN (SELECT upload_seq FROM evidence_packs)`)
	must(t, store.SweepUploads(t.Context()))
	if packs, uploads, pieces := packRows(t, path); packs != 1 || uploads != 2 || pieces != 21 {
		t.Errorf("got %d packs, %d uploads, %d pieces", packs, uploads, pieces)
	}
	clock.Advance(time.Hour)
	must(t, store.SweepUploads(t.Context()))
	if packs, uploads, pieces := packRows(t, path); packs != 1 || uploads != 1 || pieces != 1 {
		t.Errorf("later: got %d packs, %d uploads, %d pieces", packs, uploads, pieces)
	}
}

// TestEvidence_FileWithoutPieces checks that a pack is not filed if its pieces were
// removed.
func TestEvidence_FileWithoutPieces(t *testing.T) {
	t.Parallel()
	path := testdb.EmptyFile(t)
	store := open(t, path)
	by := testdb.Operator(t, store)
	pack := store.Evidence.NewPack(by, "A pack")
	err := store.Evidence.File(t.Context(), by, &pack, []byte("{}"), func(w io.Writer) error {
		_, err := w.Write(bytes.Repeat([]byte{1}, 2<<20))
		testkit.ExecSQL(t, path, "DELETE FROM evidence_pieces WHERE number = 0")
		return err
	})
	if !db.Is(err, db.Unavailable) || !strings.Contains(err.Error(), "were removed before it was complete") {
		t.Errorf("got %v", err)
	}
	if packs, _, _ := packRows(t, path); packs != 0 {
		t.Errorf("got %d packs, want 0", packs)
	}
}

// TestEvidence_ExportChunks exports a pack that an earlier version stored in chunks.
func TestEvidence_ExportChunks(t *testing.T) {
	t.Parallel()
	path := testdb.EmptyFile(t)
	store := open(t, path)
	testkit.ExecSQL(t, path, `INSERT INTO evidence_packs (org_id, id, title, item_count, manifest, manifest_sha256, filed_at, filed_by)
			VALUES (1, 'x', 't', 0, '{}', hex(zeroblob(32)), '2026', 'system')`,
		"INSERT INTO evidence_chunks (pack_seq, number, bytes) VALUES (1, 0, x'414243'), (1, 1, x'44')")
	var got bytes.Buffer
	pack, err := store.Evidence.Export(t.Context(), testdb.Operator(t, store), "x", &got)
	if err != nil || got.String() != "ABCD" || pack.Size != 4 {
		t.Errorf("got %q, %+v, %v", got.String(), pack, err)
	}
}

// TestEvidence_Triggers checks that the data file refuses changes of a pack and of its
// bytes.
func TestEvidence_Triggers(t *testing.T) {
	t.Parallel()
	path := testdb.EmptyFile(t)
	testkit.ExecSQL(
		t, path,
		`INSERT INTO evidence_packs (org_id, id, title, item_count, manifest, manifest_sha256, filed_at, filed_by)
			VALUES (1, 'x', 't', 0, '{}', hex(zeroblob(32)), '2026', 'system')`,
		"INSERT INTO evidence_chunks (pack_seq, number, bytes) VALUES (1, 0, x'00')",
		"INSERT INTO evidence_uploads (written_at) VALUES ('2026')",
		"INSERT INTO evidence_pieces (upload_seq, number, bytes) VALUES (1, 0, x'00')",
		`INSERT INTO evidence_packs (org_id, id, title, item_count, manifest, manifest_sha256, filed_at, filed_by, upload_seq)
			VALUES (1, 'y', 't', 0, '{}', hex(zeroblob(32)), '2026', 'system', 1)`,
	)
	for _, statement := range []string{
		"UPDATE evidence_packs SET title = 'u'", "UPDATE evidence_chunks SET bytes = x'01'",
		"DELETE FROM evidence_packs", "DELETE FROM evidence_chunks",
		"UPDATE evidence_pieces SET bytes = x'01'", "DELETE FROM evidence_pieces", "DELETE FROM evidence_uploads",
		"INSERT INTO evidence_pieces (upload_seq, number, bytes) VALUES (1, 1, x'00')",
	} {
		if _, err := testkit.OpenSQL(t, path).ExecContext(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "a filed evidence pack is") {
			t.Errorf("%s: got %v, want a refusal", statement, err)
		}
	}
}
