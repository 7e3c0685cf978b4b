package db

import (
	"testing"

	"govsvc/internal/testkit"
)

// EmptyFile is testdb.EmptyFile. Package testdb imports this one.
var EmptyFile func(testing.TB) string

// opened opens an empty data file. Its clock always shows testkit.Start.
func opened(t testing.TB) *DB {
	t.Helper()
	d, err := Open(t.Context(), Options{Path: EmptyFile(t), Now: testkit.NewClock(testkit.Start).Now})
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
