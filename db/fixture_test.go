package db

import (
	"path/filepath"
	"testing"
	"time"
)

// noon is where the clocks of these tests begin.
var noon = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)

// opened is a new file at noon, for tests that look inside.
func opened(t testing.TB) *DB {
	t.Helper()
	d, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "govsvc.db"), Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}
