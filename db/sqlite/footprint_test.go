package sqlite

import (
	"slices"
	"strings"
	"testing"

	"govsvc/internal/testkit"
)

// openVersioned opens a file with the tables of versionOptions and a mapped WAL index.
func openVersioned(t testing.TB, path string) *DB {
	t.Helper()
	d, err := Open(t.Context(), versionOptions(path))
	if err != nil {
		t.Fatal(err)
	}
	testkit.CloseAfter(t, d.Close)
	mapped(t, d)
	return d
}

// TestFootprint checks what statements read and write, also through views, triggers,
// foreign keys and conflicts. "more" means a use of something other than a column.
func TestFootprint(t *testing.T) {
	t.Parallel()
	d := openVersioned(t, newPath(t))
	for _, row := range []struct{ query, reads, writes string }{
		{"SELECT 1", "", ""},
		{"SELECT count(*) FROM b", "b.", ""},
		{"SELECT x FROM b WHERE y > 1 ORDER BY id", "b.id b.x b.y", ""},
		{"SELECT text FROM a", "a.", ""},
		{"SELECT n FROM sums WHERE owner_id = ?", "a.", ""},
		{"WITH some AS (SELECT x FROM b) SELECT count(*) FROM some", "b.x", ""},
		{"SELECT value FROM json_each(?)", "", ""},
		{"SELECT b.x FROM b JOIN log ON log.seq = b.id", "b.id b.x log.seq", ""},
		{"SELECT log.seq FROM log JOIN part USING (n)", "more", ""},
		{"SELECT count(*) FROM log NATURAL JOIN part", "more", ""},
		{"SELECT random()", "more", ""},
		{"SELECT datetime('now')", "more", ""},
		{"SELECT page_count FROM pragma_page_count", "more", ""},
		{"SELECT name FROM sqlite_schema", "more", ""},
		{"PRAGMA user_version", "more", "more"},
		{"INSERT INTO b (x, y) VALUES (1, 2)", "", "b."},
		{"INSERT INTO b (id, x, y) VALUES (1, 2, 3) ON CONFLICT DO UPDATE SET x = 1", "", "b. b.x"},
		{"INSERT OR REPLACE INTO a (seq, owner_id, n) VALUES (1, 1, 1)", "", "a. part."},
		{"UPDATE b SET x = y", "b.y", "b.x"},
		{"UPDATE b SET rowid = 2", "", "b."},
		{"UPDATE OR REPLACE b SET id = 2", "", "b."},
		{"UPDATE a SET n = 1", "a.", "a. log."},
		{"DELETE FROM log", "", "log."},
		{"DELETE FROM a WHERE seq = 1", "a.", "a. part."},
		{"DROP TABLE log", "more", "more"},
		{"SAVEPOINT request", "", ""},
		{"no statement", "more", "more"},
		{"SELECT x FROM b; ", "b.x", ""},
		{"SELECT x FROM b; DELETE FROM log", "more", "more"},
	} {
		used := d.footprint(&statement{text: row.query})
		if got := describe(used.reads, used.readsMore); !includes(row.reads, got) {
			t.Errorf("%s reads %q, want %q", row.query, got, row.reads)
		}
		if got := describe(used.writes, used.writesMore); got != row.writes && (row.writes != "more" || !strings.HasSuffix(got, "more")) {
			t.Errorf("%s writes %q, want %q", row.query, got, row.writes)
		}
	}
}

func describe(columns []column, more bool) string {
	var names []string
	for _, c := range columns {
		names = append(names, c.table+"."+c.name)
	}
	slices.Sort(names)
	if more {
		names = append(names, "more")
	}
	return strings.Join(names, " ")
}

// includes reports whether all words of want are in got. SQLite also reads what it needs to
// check foreign keys and conflicts.
func includes(want, got string) bool {
	for _, word := range strings.Fields(want) {
		if !slices.Contains(strings.Fields(got), word) {
			return false
		}
	}
	return want != "" || !strings.Contains(got, "more")
}

// TestFootprint_Conflicts finds joins by name in a view, and replacements in a table.
func TestFootprint_Conflicts(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	d := openVersioned(t, path)
	testkit.ExecSQL(t, path, "CREATE VIEW joined AS SELECT log.n FROM log JOIN part USING (n)")
	versionOf(t, d)
	if !d.footprint(&statement{text: "SELECT n FROM joined"}).readsMore {
		t.Error("the view's join is not found")
	}
	update := &statement{text: "UPDATE log SET n = 1"}
	if writes := d.footprint(update).writes; len(writes) != 1 || writes[0] != (column{"log", "n", true}) {
		t.Errorf("writes %v", writes)
	}
	testkit.ExecSQL(t, path, "CREATE TRIGGER replacing AFTER UPDATE ON log BEGIN UPDATE OR REPLACE b SET x = 1; END")
	versionOf(t, d)
	for _, written := range d.footprint(update).writes {
		if written.name != "" || written.owned {
			t.Errorf("after the change, writes %v", written)
		}
	}
}

// TestFootprint_Close: a read that has begun may need a footprint after Close has.
func TestFootprint_Close(t *testing.T) {
	t.Parallel()
	d := newFile(t)
	mapped(t, d)
	d.footprint(&statement{text: "SELECT 1"}) // which reads the schema
	n := d.versions.analyser()
	d.versions.close()
	if found := d.versions.footprints.of(n, "SELECT 2"); found != unknownFootprint {
		t.Errorf("found %v", found)
	}
}

// TestFootprint_Schema analyses a statement again after another connection has changed the
// schema.
func TestFootprint_Schema(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	d := openVersioned(t, path)
	s := &statement{text: "UPDATE b SET x = 1"}
	if got := describe(d.footprint(s).writes, false); got != "b.x" {
		t.Errorf("writes %s", got)
	}
	testkit.ExecSQL(t, path, "CREATE TRIGGER more AFTER UPDATE OF x ON b BEGIN DELETE FROM log; END")
	versionOf(t, d)
	if got := describe(d.footprint(s).writes, false); got != "b.x log." {
		t.Errorf("after the change, writes %s", got)
	}
}

// TestVerifyTouched reports a row of another owner than the statement names.
func TestVerifyTouched(t *testing.T) {
	t.Parallel()
	d, err := Open(t.Context(), versionOptions(newPath(t)))
	if err != nil {
		t.Fatal(err)
	}
	testkit.CloseAfter(t, d.Close)
	var problems []string
	if err := d.VerifyTouched(t.Context(), func(problem string) { problems = append(problems, problem) }); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		owner any
		found bool
	}{{Owner(1), false}, {1, false}, {Owner(2), true}} {
		problems = nil
		err := d.Write(t.Context(), func(tx *Tx) error {
			_, err := tx.Exec("UPDATE a SET n = n + 1 WHERE owner_id = 1 AND ? > 0", row.owner)
			return err
		})
		if err != nil || (len(problems) > 0) != row.found {
			t.Errorf("owner %v: %q, %v", row.owner, problems, err)
		}
	}
}
