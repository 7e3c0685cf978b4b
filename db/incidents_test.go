package db_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// TestIncidents_References checks the references of incidents. Each step adds an incident
// or imports several.
func TestIncidents_References(t *testing.T) {
	t.Parallel()
	record := func(pairs ...any) db.Record {
		r := db.Record{"title": "t"}
		for i := 0; i < len(pairs); i += 2 {
			r[pairs[i].(string)] = pairs[i+1]
		}
		return r
	}
	const one, two = "00000000-0000-7000-8000-00000000000a", "00000000-0000-7000-8000-00000000000b"
	for _, test := range []struct {
		name  string
		steps [][]db.Record // nil adds an incident
		want  string
	}{
		{"new", [][]db.Record{nil, nil}, "INC-0001 INC-0002"},
		{"an imported number is not used again", [][]db.Record{nil, {record("incident_key", "INC-0002")}, nil, nil}, "INC-0001 INC-0002 INC-0003 INC-0004"},
		{"the numbers of another system are not continued", [][]db.Record{{record("incident_key", "INC-1051")}, nil}, "INC-1051 INC-0001"},
		{"other keys have no number", [][]db.Record{{record("incident_key", "INC-2026-007")}, {record("incident_key", "INC-99999999999")}, nil}, "INC-2026-007 INC-99999999999 INC-0001"},
		{"imported without a key", [][]db.Record{{record("id", one)}, nil}, "INC-0001 INC-0002"},
		{"before one with the same key", [][]db.Record{{record("id", one), record("id", two, "incident_key", "INC-0001")}}, "INC-0002 INC-0001"},
		{"imported again", [][]db.Record{{record("id", one, "incident_key", nil)}, {record("id", one, "incident_key", nil)}}, "INC-0001"},
		{"changed by an import", [][]db.Record{{record("id", one)}, {record("id", one, "incident_key", "OURS-1")}, nil}, "OURS-1 INC-0002"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := testdb.EmptyFile(t)
			store := open(t, path)
			by := testdb.Operator(t, store)
			for _, step := range test.steps {
				if err := store.Write(t.Context(), by, func(tx *db.Tx) error {
					if step == nil {
						_, err := tx.Create(resource.Incident, record())
						return err
					}
					im := tx.NewImport(db.ImportRules{})
					for _, r := range step {
						if _, err := im.Put("incident", r); err != nil {
							return err
						}
					}
					return nil
				}); err != nil {
					t.Fatal(err)
				}
			}
			got := strings.Join(testkit.QuerySQL(t, path, "SELECT incident_key FROM incidents ORDER BY seq"), " ")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("references (-want +got):\n%s", diff)
			}
		})
	}
}

// TestImport_ReferenceOfAnotherIncident imports an incident of another file, which has the
// reference of an incident here. It must not replace that incident.
func TestImport_ReferenceOfAnotherIncident(t *testing.T) {
	t.Parallel()
	store := open(t, testdb.EmptyFile(t))
	err := store.Write(t.Context(), testdb.Operator(t, store), func(tx *db.Tx) error {
		if _, err := tx.Create(resource.Incident, db.Record{"title": "Ours"}); err != nil {
			return err
		}
		_, err := tx.NewImport(db.ImportRules{}).Put("incident", db.Record{
			"id": "00000000-0000-7000-8000-00000000000a", "incident_key": "INC-0001", "title": "Theirs",
		})
		return err
	})
	if fault, ok := errors.AsType[*db.Error](err); !ok || fault.Code != db.Invalid || fault.Param != "incident_key" {
		t.Errorf("got %v, want an error of incident_key", err)
	}
}

// TestUpgrade_IncidentReferences checks that incidents of an earlier version get
// references in the order of their declaration, and that existing keys stay.
func TestUpgrade_IncidentReferences(t *testing.T) {
	t.Parallel()
	path := testkit.NewPath(t)
	testkit.Unpack(t, filepath.Join("testdata", "versions", "v26.db.gz"), path)
	testkit.ExecSQL(t, path, "UPDATE incidents SET incident_key = iif(seq = 2, 'INC-0007', NULL) WHERE seq <= 4")
	declared := testkit.QuerySQL(t, path, "SELECT id FROM incidents WHERE incident_key IS NULL ORDER BY created_at, id")
	others := testkit.QuerySQL(t, path, "SELECT seq || ' ' || incident_key FROM incidents WHERE incident_key IS NOT NULL")
	store := open(t, path)
	if got := testkit.QuerySQL(t, path, "SELECT id FROM incidents WHERE incident_key IN ('INC-0008', 'INC-0009', 'INC-0010') ORDER BY incident_key"); len(got) != 3 || cmp.Diff(declared, got) != "" {
		t.Errorf("got %v, want %v", got, declared)
	}
	if diff := cmp.Diff(others, testkit.QuerySQL(t, path, "SELECT seq || ' ' || incident_key FROM incidents WHERE incident_key NOT IN ('INC-0008', 'INC-0009', 'INC-0010')")); diff != "" {
		t.Errorf("other keys (-want +got):\n%s", diff)
	}
	if err := store.Write(t.Context(), testdb.Operator(t, store), func(tx *db.Tx) error {
		_, err := tx.Create(resource.Incident, db.Record{"title": "t"})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if got := testkit.QuerySQL(t, path, "SELECT incident_key FROM incidents ORDER BY seq DESC LIMIT 1"); got[0] != "INC-0011" {
		t.Errorf("got the reference %s, want INC-0011", got)
	}
}
