package db

import (
	"path/filepath"
	"testing"
	"time"
)

// noon is the time of the clocks of these tests.
var noon = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)

// opened opens a new file at noon.
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
