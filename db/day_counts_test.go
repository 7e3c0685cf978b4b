package db_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/internal/testkit"
)

// TestUpgrade_DayCounts migrates counts of five minutes, which version 16 stored. They move
// to the last of these minutes, so that none ends before 24 hours have passed.
func TestUpgrade_DayCounts(t *testing.T) {
	t.Parallel()
	path := testkit.NewPath(t)
	testkit.Unpack(t, filepath.Join("testdata", "versions", "v16.db.gz"), path)
	start := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC).Unix()
	_, err := testkit.OpenSQL(t, path).ExecContext(t.Context(), "INSERT INTO limiter_counts (subject, slot, requests) VALUES ('k', ?, 7), ('k', ?, 8)", start, start+300)
	if err != nil {
		t.Fatal(err)
	}
	counts, err := open(t, path).Usage.RequestCounts(t.Context(), start)
	if err != nil {
		t.Fatal(err)
	}
	want := []db.RequestCount{{Subject: "k", Slot: start + 240, Requests: 7}, {Subject: "k", Slot: start + 540, Requests: 8}}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
