package db

import (
	"testing"

	"govsvc/internal/testkit"
)

// EmptyFile is testdb.EmptyFile. Package testdb imports this one.
var EmptyFile func(testing.TB) string

// opened opens an empty data file and returns its organisation. The clock always shows
// testkit.Start.
func opened(t testing.TB) (*DB, Organisation) {
	t.Helper()
	d, err := Open(t.Context(), Options{Path: EmptyFile(t), Now: testkit.NewClock(testkit.Start).Now})
	if err != nil {
		t.Fatal(err)
	}
	testkit.CloseAfter(t, d.Close)
	org, err := d.Orgs.ByName(t.Context(), DefaultOrganisation)
	if err != nil {
		t.Fatal(err)
	}
	return d, org
}
