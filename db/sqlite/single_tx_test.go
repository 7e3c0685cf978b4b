package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSingleTx commits everything or nothing. A transaction within it can be undone by
// itself.
func TestSingleTx(t *testing.T) {
	t.Parallel()
	d := newFile(t)
	refused := errors.New("refused by the test")
	part := func(ctx context.Context, pool *sql.DB, name string, end func(*sql.Tx) error) error {
		tx, err := pool.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO numbers (name) VALUES (?)", name); err != nil {
			return err
		}
		return end(tx)
	}
	for _, row := range []struct {
		name string
		err  error
	}{{"failed", refused}, {"stored", nil}} {
		err := d.SingleTx(t.Context(), func(pool *sql.DB) error {
			if err := part(t.Context(), pool, row.name, (*sql.Tx).Commit); err != nil {
				return err
			}
			if err := part(t.Context(), pool, "undone", (*sql.Tx).Rollback); err != nil {
				return err
			}
			if n := len(stored(t, d.Path())); n != 0 {
				t.Errorf("%d rows are seen before the commit", n)
			}
			return row.err
		})
		if !errors.Is(err, row.err) {
			t.Errorf("%s: %v", row.name, err)
		}
	}
	if diff := cmp.Diff(map[string]int{"stored": 1}, stored(t, d.Path())); diff != "" {
		t.Errorf("(-want +stored):\n%s", diff)
	}
}
