package db_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

func link(recordType, recordKey, otherType, otherKey string) db.Record {
	return db.Record{"record_type": recordType, "record_key": recordKey, "other_type": otherType, "other_key": otherKey}
}

// linkedStore returns a store with two risks, an incident that is imported without a key and a milestone.
func linkedStore(t *testing.T) (store *db.DB, by db.Actor, incident string) {
	t.Helper()
	store = open(t, testdb.EmptyFile(t))
	by = testdb.Operator(t, store)
	incident = "01993e0a-52c0-7c3e-9d2b-000000000001"
	must(t, store.Write(t.Context(), by, func(tx *db.Tx) error {
		im := tx.NewImport(db.ImportRules{})
		for _, one := range []struct {
			object string
			record db.Record
		}{
			{"risk", db.Record{"risk_id": "R1", "description": "d"}},
			{"risk", db.Record{"risk_id": "R2", "description": "d"}},
			{"incident", db.Record{"id": incident, "title": "t"}},
			{"roadmap", db.Record{"version_number": json.Number("3"), "generated_at": "2026-01-01T00:00:00Z", "framework_blend": map[string]any{}, "phases": []any{}}},
			{"milestone", db.Record{"roadmap_version": json.Number("3"), "milestone_key": "a/b", "title": "t", "sequence": json.Number("1"), "owner_role": "o", "target_date": "2026-01-01", "progress_pct": json.Number("0"), "phase": "p", "status": "blocked", "rag_status": "RED"}},
		} {
			if _, err := im.Put(one.object, one.record); err != nil {
				return err
			}
		}
		return nil
	}))
	return store, by, incident
}

// TestLinks_HaveNoDirection imports links in either order of their records. The second
// import of a link changes nothing.
func TestLinks_HaveNoDirection(t *testing.T) {
	t.Parallel()
	store, by, incident := linkedStore(t)
	var got []db.Outcome
	must(t, store.Write(t.Context(), by, func(tx *db.Tx) error {
		for _, one := range []db.Record{
			link("risk", "R1", "risk", "R2"), link("incident", incident, "risk", "R1"), link("risk", "R1", "milestone", "3/a/b"),
		} {
			outcome, err := tx.Put("link", one)
			if err != nil {
				return err
			}
			got = append(got, outcome)
		}
		return tx.AuditChange("link", "created", "", nil)
	}))
	for _, one := range []db.Record{
		link("risk", "R2", "risk", "R1"), link("risk", "R1", "incident", incident), link("milestone", "3/a/b", "risk", "R1"),
	} {
		must(t, store.Write(t.Context(), by, func(tx *db.Tx) error {
			outcome, err := tx.Put("link", one)
			got = append(got, outcome)
			return err
		}))
	}
	want := []db.Outcome{db.Created, db.Created, db.Created, db.Unchanged, db.Unchanged, db.Unchanged}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	keys := testkit.QuerySQL(t, store.File.Path(), `SELECT record ->> 'record_type' || ' ' || (record ->> 'record_key') || ' ' || (record ->> 'other_type') || ' ' ||
		(record ->> 'other_key') FROM link_records WHERE record ->> 'other_type' <> 'risk' ORDER BY 1`)
	if diff := cmp.Diff([]string{"risk R1 incident INC-0001", "risk R1 milestone 3/a/b"}, keys); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
}

// TestLinks_Refused checks what a link is refused for.
func TestLinks_Refused(t *testing.T) {
	t.Parallel()
	store, by, incident := linkedStore(t)
	for _, row := range []struct {
		record      db.Record
		param, want string
	}{
		{link("risk", "R1", "risk", "R1"), "other_key", "names the same record"},
		{link("risk", "R3", "risk", "R1"), "record_key", `no risk with the key "R3"`},
		{link("risk", "R1", "kpi", "K"), "other_key", `no KPI with the key "K"`},
		{link("risk", "R1", "milestone", "a/b"), "other_key", `no milestone`},
		{link("risk", "R1", "milestone", "4/a/b"), "other_key", `no milestone`},
		{link("risk", "R1", "incident", "I"), "other_key", `no incident`},
		{link("signal", "S", "risk", "R1"), "record_type", `can't be linked`},
	} {
		err := store.Write(t.Context(), by, func(tx *db.Tx) error {
			_, err := tx.Create(resource.Link, row.record)
			return err
		})
		var refused *db.Error
		if !errors.As(err, &refused) || refused.Code != db.Invalid || refused.Param != row.param || !strings.Contains(refused.Message, row.want) {
			t.Errorf("%v: got %v, want %s about %s", row.record, err, row.want, row.param)
		}
	}
	create := func() (made db.Object, err error) {
		err = store.Write(t.Context(), by, func(tx *db.Tx) (err error) {
			made, err = tx.Create(resource.Link, link("incident", incident, "risk", "R1"))
			return err
		})
		return made, err
	}
	made, err := create()
	must(t, err)
	if _, err := create(); !db.Is(err, db.Conflict) || !strings.Contains(err.Error(), "already linked") {
		t.Errorf("a second time: got %v", err)
	}
	must(t, store.Write(t.Context(), by, func(tx *db.Tx) error { return tx.RemoveLink(made.ID) }))
	if err := store.Write(t.Context(), by, func(tx *db.Tx) error { return tx.RemoveLink(made.ID) }); !db.Is(err, db.NotFound) {
		t.Errorf("removed twice: got %v", err)
	}
	changes := testkit.QuerySQL(t, store.File.Path(), `SELECT action || ' ' || (event -> '$.metadata.changes') FROM audit_events WHERE action LIKE 'link.%' ORDER BY seq`)
	if diff := cmp.Diff([]string{
		`link.created {"other_key":{"from":null,"to":"INC-0001"},"other_type":{"from":null,"to":"incident"},"record_key":{"from":null,"to":"R1"},"record_type":{"from":null,"to":"risk"}}`,
		`link.removed {"other_key":{"from":"INC-0001","to":null},"other_type":{"from":"incident","to":null},"record_key":{"from":"R1","to":null},"record_type":{"from":"risk","to":null}}`,
	}, changes); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if _, err := create(); err != nil {
		t.Errorf("after its removal: %v", err)
	}
}
