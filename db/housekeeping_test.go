package db_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/backup"
	"govsvc/internal/testkit"
)

// TestGiveBack: a file from which much was removed gets smaller while it is in
// use, and keeps some room.
func TestGiveBack(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	store := handle(t, path, time.Minute)
	by := operator(t, store)
	text := strings.Repeat("much to be removed again ", 800)
	for i := range 200 {
		err := store.Write(t.Context(), by, func(tx *db.Tx) error {
			err := tx.StoreResponse(db.IdempotencyKey{Org: by.Org, Key: fmt.Sprint(i), Now: at}, db.IdempotentResponse{Status: 200, Body: []byte(text)})
			if err != nil {
				return err
			}
			return tx.Audit(db.AuditEvent{Action: "kept", Category: db.System})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	size := func() int64 {
		t.Helper()
		if err := store.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	full := size()
	if given, err := store.GiveBack(t.Context()); given != 0 || err != nil {
		t.Errorf("%d bytes of a full file given back, %v", given, err)
	}
	testkit.ExecSQL(t, path, "DELETE FROM idempotency_records")
	given, err := store.GiveBack(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if less := size(); given < full/2 || less != full-given {
		t.Errorf("%d bytes given back; the file had %d and has %d", given, full, less)
	}
	if again, err := store.GiveBack(t.Context()); again != 0 || err != nil {
		t.Errorf("%d bytes more, %v", again, err)
	}
	if err := addRisk(context.Background(), store, by, "after"); err != nil {
		t.Error(err)
	}
	if faults, err := backup.New(store).Faults(t.Context(), true); len(faults) > 0 || err != nil {
		t.Error(faults, err)
	}
}

// TestLogUnderConstantReaders: while readers overlap so that there is never a
// moment without one, and writers go on, the log beside the file is emptied.
func TestLogUnderConstantReaders(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	store := handle(t, path, time.Minute)
	by := operator(t, store)
	if err := addRisk(t.Context(), store, by, "first"); err != nil {
		t.Fatal(err)
	}
	const round = 50
	largest, emptied := int64(0), 0
	leave := reading(t, path)
	for i := range 5 {
		for j := range round {
			if err := addRisk(t.Context(), store, by, fmt.Sprintf("R%d-%d", i, j)); err != nil {
				t.Fatal(err)
			}
		}
		next := reading(t, path)
		leave()
		leave = next
		largest = max(largest, store.LogSize())
		if err := store.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
		// the reader that is there sees the end of the log: once all of it is in
		// the file, the next ones need none of it
		next = reading(t, path)
		leave()
		leave = next
		if err := store.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
		if store.LogSize() == 0 {
			emptied++
		}
	}
	leave()
	if emptied == 0 || largest > 8<<20 {
		t.Errorf("emptied %d times, at most %d bytes", emptied, largest)
	}
	t.Logf("emptied %d times, at most %d bytes", emptied, largest)
}

// reading begins a transaction that reads, and returns what ends it.
func reading(t *testing.T, path string) (leave func()) {
	t.Helper()
	file, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := file.BeginTx(t.Context(), nil)
	if err == nil {
		err = tx.QueryRowContext(t.Context(), "SELECT count(*) FROM risks").Scan(new(int))
	}
	if err != nil {
		t.Fatal(errors.Join(err, file.Close()))
	}
	return func() {
		_ = tx.Rollback()
		_ = file.Close()
	}
}
