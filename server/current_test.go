package server_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
)

// TestCurrent_GreatestVersion loads versions in a mixed order. The current object is
// the one with the greatest version, or the latest assessment.
func TestCurrent_GreatestVersion(t *testing.T) {
	t.Parallel()
	s := serve(t)
	key := s.key(t, "read:all")
	for _, c := range currents {
		for _, step := range []struct {
			n    int
			want string // the value that the list then has
		}{{7, "V " + c.object + " 7"}, {3, "V " + c.object + " 7"}, {10, "V " + c.object + " 10"}, {9, "V " + c.object + " 10"}} {
			load(t, s.store, db.DefaultOrganisation, []db.Record{sample(c.object, "V", step.n, start.Add(time.Duration(step.n)*time.Hour))})
			s.ask(t, row{path: c.path, key: key, has: []string{`"` + step.want + `"`}})
		}
	}
}

// TestCurrent_VersionBeforeTime checks that the version decides, and not the time.
func TestCurrent_VersionBeforeTime(t *testing.T) {
	t.Parallel()
	s := serve(t)
	key := s.key(t, "read:all")
	for _, c := range currents[1:] {
		load(t, s.store, db.DefaultOrganisation, []db.Record{
			sample(c.object, "V", 12, start.AddDate(-1, 0, 0)), sample(c.object, "V", 2, start),
		})
		s.ask(t, row{path: c.path, key: key, has: []string{`"version_number":12,`}})
	}
	old := sample("assessment", "V", 1, start)
	old["completed_at"] = "2020-01-01T00:00:00Z"
	load(t, s.store, db.DefaultOrganisation, []db.Record{sample("assessment", "V", 2, start.Add(-time.Hour)), old})
	s.ask(t, row{path: "/scorecard", key: key, has: []string{`"methodology_version":"V assessment 2"`}})
}

// TestCurrent_Signals loads several values of signals. The list has each type once, with
// its latest value.
func TestCurrent_Signals(t *testing.T) {
	t.Parallel()
	s := serve(t)
	key := s.key(t, "read:signals")
	put := func(kind, module string, age time.Duration) {
		t.Helper()
		signal := sample("signal", "S", 1, start.Add(-age))
		signal["signal_type"], signal["module_id"] = kind, module
		load(t, s.store, db.DefaultOrganisation, []db.Record{signal})
	}
	shown := func(query string) []string {
		t.Helper()
		return s.get(t, "/signals"+query, key).page(t).values("module_id")
	}
	put("drift", "first", 10*time.Hour)
	put("bias", "second", 9*time.Hour)
	put("drift", "third", 8*time.Hour) // supersedes
	put("drift", "late", 12*time.Hour) // older than the stored value
	put("bias", "again", 9*time.Hour)  // the same instant: a correction
	for query, want := range map[string][]string{
		"":                                    {"again", "third"},
		"?type=drift":                         {"third"},
		"?type=bias":                          {"again"},
		"?type=Drift":                         {},
		"?limit=1":                            {"again"},
		"?updated_since=2026-10-01T04:00Z":    nil,                // an invalid query, checked below
		"?updated_since=2026-10-01T04:00:00Z": {"again", "third"}, // a correction counts as a change at the current time
	} {
		if want == nil {
			s.ask(t, row{path: "/signals" + query, key: key, status: 400, code: "invalid_parameter", param: "updated_since"})
		} else if diff := cmp.Diff(want, shown(query), equateEmpty); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
}

// TestCurrent_MilestonesOfRoadmap checks that only the milestones of the greatest
// version are listed.
func TestCurrent_MilestonesOfRoadmap(t *testing.T) {
	t.Parallel()
	s := serve(t)
	key := s.key(t, "read:roadmap")
	milestone := func(n, version int) db.Record {
		m := sample("milestone", "M", n, start.Add(time.Duration(n)*time.Second))
		m["roadmap_version"] = sample("roadmap", "", version, start)["version_number"]
		return m
	}
	step := func(records []db.Record, want ...string) {
		t.Helper()
		load(t, s.store, db.DefaultOrganisation, records)
		got := s.get(t, "/roadmap/milestones", key).page(t).values("milestone_key")
		if diff := cmp.Diff(want, got, equateEmpty); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	step([]db.Record{sample("roadmap", "R", 2, start), milestone(1, 2), milestone(2, 2)}, "M milestone 2", "M milestone 1")
	step([]db.Record{sample("roadmap", "R", 1, start), milestone(3, 1)}, "M milestone 2", "M milestone 1")
	step([]db.Record{sample("roadmap", "R", 3, start)})
	step([]db.Record{milestone(1, 3)}, "M milestone 1")
	s.ask(t, row{path: "/roadmap", key: key, has: []string{`"version_number":3`, `"milestones_count":1`}, not: []string{`"milestones":`, "M milestone"}})
}
