package db_test

import (
	"strings"
	"testing"

	"govsvc/db"
	"govsvc/internal/testkit/testdb"
)

// TestEnqueue_RefusesUndeclaredTypes checks that no event is written whose type the
// document may not describe.
func TestEnqueue_RefusesUndeclaredTypes(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	err := store.Write(t.Context(), testdb.Operator(t, store), func(tx *db.Tx) error { return tx.Enqueue("vendor.created", nil) })
	if err == nil || !strings.Contains(err.Error(), `"vendor.created" is not declared`) {
		t.Errorf("got error %v, want a refusal of the type", err)
	}
}
