package transfer_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/server/transfer"
)

func repeats(line string) string {
	return "repeats " + line + ": both have the same natural key, so keep one of them"
}

func checkin(code, members string) string {
	return `{"object":"kpi_checkin","key_result_code":"` + code + `","period_start":"2026-01-01","value":1` + members + `}`
}

func incident(members string) string {
	return `{"object":"incident","title":"t","severity":"low","status":"open"` + members + `}`
}

// TestRepeats_Records imports records that occur twice. The errors must be the same
// whether the file has these records already or not.
func TestRepeats_Records(t *testing.T) {
	t.Parallel()
	const (
		id    = `,"id":"01993e0a-52c0-7c3e-9d2b-6f1f0c7a4b11"`
		other = `,"id":"01993e0a-52c0-7c3e-9d2b-6f1f0c7a4b12"`
	)
	repeated := func(line int, object string, of int) []found {
		return []found{{line, object, "", repeats(fmt.Sprint("line ", of))}}
	}
	rows := []struct {
		name    string
		known   []string
		records []string
		want    []found
	}{
		{"another value", []string{risk("A", "")}, []string{risk("A", ""), risk("B", ""), "", risk("A", `,"title":"t"`)}, repeated(4, "risk", 1)},
		{"the same record", []string{risk("A", "")}, []string{risk("A", ""), risk("A", "")}, repeated(2, "risk", 1)},
		{
			"three of a kind",
			[]string{risk("A", "")},
			[]string{risk("A", ""), risk("B", ""), risk("A", ""), risk("B", ""), risk("A", "")},
			[]found{{3, "risk", "", repeats("line 1")}, {4, "risk", "", repeats("line 2")}, {5, "risk", "", repeats("line 1")}},
		},
		{
			"an instant written otherwise",
			[]string{assessment("02-01T00:00:00Z", "null")},
			[]string{assessment("02-01T00:00:00Z", "null"), assessment("02-01T01:00:00+01:00", `"CRISIS"`)},
			repeated(2, "assessment", 1),
		},
		{
			"a number written otherwise",
			[]string{anyRoadmap},
			[]string{anyRoadmap, strings.Replace(anyRoadmap, `"version_number":1`, `"version_number":1.0`, 1)},
			repeated(2, "roadmap", 1),
		},
		{
			"a roadmap by its version and as the active one",
			[]string{anyRoadmap, milestone("")},
			[]string{anyRoadmap, milestone(""), milestone(`,"roadmap_version":1`)},
			repeated(3, "milestone", 2),
		},
		{"a check-in", []string{anyKPI, checkin("K", "")}, []string{anyKPI, checkin("K", ""), checkin("K", `,"note":"n"`)}, repeated(3, "kpi_checkin", 2)},
		{"an incident by its key", []string{incident(`,"incident_key":"I"`)}, []string{incident(`,"incident_key":"I"`), incident(`,"incident_key":"I"`)}, repeated(2, "incident", 1)},
		{
			"an incident by its id and its key",
			[]string{incident(id + `,"incident_key":"I"`)},
			[]string{incident(id + `,"incident_key":"I"`), incident(id), incident(`,"incident_key":"I"`)},
			[]found{{2, "incident", "", repeats("line 1")}, {3, "incident", "", repeats("line 1")}},
		},
		{"two incidents", nil, []string{incident(id), incident(other)}, nil},
		{"the same key of two types", nil, []string{risk("A", ""), strings.Replace(anyKPI, `"K"`, `"A"`, 1), incident(`,"incident_key":"A"`)}, nil},
	}
	for _, row := range rows {
		for at, known := range [][]string{nil, row.known} {
			t.Run(fmt.Sprint(row.name, at), func(t *testing.T) {
				t.Parallel()
				s := newStore(t)
				s.put(known...)
				if row.want == nil {
					s.put(row.records...)
					return
				}
				before := s.contents()
				compareFaults(t, row.want, s.refuse(t, "records.ndjson", strings.Join(row.records, "\n"), transfer.Options{}))
				if diff := cmp.Diff(before, s.contents()); diff != "" {
					t.Errorf("a refused import wrote (-before +after):\n%s", diff)
				}
			})
		}
	}
}

// TestRepeats_Sources checks that the error names the source of the first record if it
// is another file.
func TestRepeats_Sources(t *testing.T) {
	t.Parallel()
	s := untouched(t)
	table := transfer.Bytes("b.csv", []byte("object,risk_id,description\nrisk,B,d\nrisk,A,d\nrisk,B,d\n"))
	report, err := s.try(transfer.Options{}, transfer.Bytes("a.ndjson", []byte("\n"+risk("A", ""))), table)
	if err == nil {
		t.Error("two sources with one record are taken")
	}
	want := []transfer.ValidationError{
		{Source: "b.csv", Line: 3, Type: "risk", Reason: repeats("line 2 of a.ndjson")},
		{Source: "b.csv", Line: 4, Type: "risk", Reason: repeats("line 2")},
	}
	if diff := cmp.Diff(want, report.Errors); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

// TestRepeats_Many checks that every repetition is listed.
func TestRepeats_Many(t *testing.T) {
	t.Parallel()
	s := untouched(t)
	text := ""
	for i := range 1_500 {
		text += risk(fmt.Sprint("R-", i), "") + "\n"
	}
	source := func(name string) transfer.Source { return transfer.Bytes(name, []byte(text)) }
	report, err := s.try(transfer.Options{}, source("a.ndjson"), source("b.ndjson"))
	if err == nil || len(report.Errors) != 1_500 || report.MoreErrors != 0 {
		t.Fatal(err, len(report.Errors), report.MoreErrors)
	}
	for i, fault := range report.Errors {
		if want := repeats(fmt.Sprintf("line %d of a.ndjson", i+1)); fault.Reason != want || fault.Line != i+1 {
			t.Fatalf("%v, want %s", fault, want)
		}
	}
}

// TestRepeats_BadSources checks the error if the source can't be opened again to find
// the first record.
func TestRepeats_BadSources(t *testing.T) {
	t.Parallel()
	s := untouched(t)
	opened, gone := 0, errors.New("gone")
	_, err := s.try(transfer.Options{}, transfer.Source{Name: "x", Open: func() (io.ReadCloser, error) {
		if opened++; opened == 3 {
			return nil, gone
		}
		return io.NopCloser(bytes.NewReader([]byte(good + "\n" + good))), nil
	}})
	if !errors.Is(err, gone) {
		t.Error(err)
	}
}
