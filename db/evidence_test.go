package db_test

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/internal/testkit/testdb"
)

// filePack files a pack with an archive.
func filePack(t *testing.T, store *db.DB, by db.Actor, archive []byte) db.EvidencePack {
	t.Helper()
	pack := store.Evidence.NewPack(by, "A pack")
	err := store.Evidence.File(t.Context(), by, &pack, []byte("{}"), func(w io.Writer) error {
		_, err := w.Write(archive)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pack
}

type writerFunc func([]byte) (int, error)

func (w writerFunc) Write(p []byte) (int, error) { return w(p) }

// TestEvidence_SlowExports checks that slow exports do not delay others: each one reads its
// first bytes after all have begun.
func TestEvidence_SlowExports(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	by := testdb.Operator(t, store)
	archive := bytes.Repeat([]byte("0123456789abcdef"), 3<<20/2/16)
	pack := filePack(t, store, by, archive)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var export func(more int)
	export = func(more int) {
		var got bytes.Buffer
		_, err := store.Evidence.Export(ctx, by, pack.ID, writerFunc(func(p []byte) (int, error) {
			if got.Len() == 0 && more > 0 {
				export(more - 1)
			}
			return got.Write(p)
		}))
		if err != nil || !bytes.Equal(got.Bytes(), archive) {
			t.Errorf("got %d bytes of %d: %v", got.Len(), len(archive), err)
		}
	}
	export(4)
}
