package transfer_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/server/transfer"
)

const (
	good   = `{"object":"risk","risk_id":"R-1","description":"Good."}`
	anyKPI = `{"object":"kpi","code":"K","statement":"s","metric_name":"m","unit":"%","direction":"increase","target_value":1,` +
		`"measurement_frequency":"monthly","status":"active"}`
	anyRoadmap = `{"object":"roadmap","version_number":1,"generated_at":"2026-01-01T00:00:00Z"}`
)

func milestone(members string) string {
	return `{"object":"milestone","milestone_key":"m","title":"t","phase":"p","sequence":1,"status":"blocked","rag_status":"RED","owner_role":"o"` + members + `}`
}

// found is the part of an import error that the test tables compare.
type found struct {
	Line                 int
	Type, Member, Reason string
}

// untouched returns a store and checks at the end of the test that it is unchanged.
func untouched(t *testing.T) *store {
	t.Helper()
	s := newStore(t)
	before := s.contents()
	t.Cleanup(func() {
		if diff := cmp.Diff(before, s.contents()); diff != "" {
			t.Errorf("a refused import changed the store (-before +after):\n%s", diff)
		}
	})
	return s
}

// refuse imports a text and requires that the import is refused.
func (s *store) refuse(t *testing.T, name, text string, options transfer.Options) []found {
	t.Helper()
	report, err := s.try(options, transfer.Bytes(name, []byte(text)))
	var refusal *transfer.RefusedError
	if !errors.As(err, &refusal) {
		t.Fatalf("the error is %v, want a refusal", err)
	}
	if refusal.Total != len(report.Errors)+report.MoreErrors || refusal.First != report.Errors[0] {
		t.Errorf("the error %+v does not match the report %+v", refusal, report)
	}
	if len(report.Types) != 0 {
		t.Errorf("a refused import reports the counts %v", report.Types)
	}
	faults := []found{}
	for _, f := range report.Errors {
		if f.Source != name {
			t.Errorf("the source is %q, want %q", f.Source, name)
		}
		faults = append(faults, found{f.Line, f.Type, f.Member, f.Reason})
	}
	return faults
}

func TestFaults_Lines(t *testing.T) {
	t.Parallel()
	s := untouched(t)
	long := strings.Repeat("x", 1<<20)
	rows := []struct {
		name, text string
		want       []found
	}{
		{"not JSON", good + "\nnonsense\n", []found{{2, "", "", "the record is not valid JSON (at its byte 1)"}}},
		{"not JSON inside", `{"object":"risk","risk_id":}`, []found{{1, "risk", "risk_id", "risk_id is not valid JSON (at byte 27 of the input)"}}},
		{"not JSON before its type", `{"risk_id":nul,"object":"risk"}`, []found{{1, "", "", "the record is not valid JSON (at its byte 14)"}}},
		{"a spreadsheet", "PK\x03\x04\x00\n\n{}", []found{{1, "", "", `the file is a spreadsheet or another zip archive: save a spreadsheet as "CSV UTF-8"; what follows was not read`}}},
		{"compressed", "\x1f\x8b\x08\n\n", []found{{1, "", "", "the file is compressed with gzip: unpack it first; what follows was not read"}}},
		{"UTF-16", "\xff\xfe{\x00\n\x00", []found{{1, "", "", `the file is UTF-16: save it as UTF-8, a spreadsheet as "CSV UTF-8"; what follows was not read`}}},
		{"half a record", good + "\n" + `{"object":"risk","risk_id":"R`, []found{{2, "risk", "", "…"}}},
		{"no object", "\n\n42\n", []found{{3, "", "", "the record must be a JSON object"}}},
		{"an array in a line", good + "\n[]", []found{{2, "", "", "the record must be a JSON object"}}},
		{"no type", good + "\r\n" + `{"risk_id":"R-2"}`, []found{{2, "", "object", "object is required: it names the record's type"}}},
		{"no members", "{}", []found{{1, "", "object", "object is required: it names the record's type"}}},
		{"a type that is no string", `{"object":7}`, []found{{1, "", "object", "object must be a string"}}},
		{"unknown type", `{"object":"webhook_subscription"}`, []found{{1, "", "object", "object must be one of assessment, risk, …"}}},
		{"a type by another case", `{"object":"Risk"}`, []found{{1, "", "object", "object must be one of assessment, risk, …"}}},
		{
			"an envelope in a line", good + "\n" + `{"object":"list","data":[]}`,
			[]found{{2, "", "object", "a list envelope is no record; import it with the format json"}},
		},
		{"unknown member", `{"object":"risk","risk_id":"R","description":"d","colour":"red"}`, []found{{1, "risk", "colour", "colour is not a known member"}}},
		{"duplicate member", `{"object":"risk","risk_id":"R","description":"d","risk_id":"S"}`, []found{{1, "risk", "risk_id", "risk_id is given twice"}}},
		{"duplicate type", `{"object":"risk","risk_id":"R","description":"d","object":"risk"}`, []found{{1, "risk", "object", "object is given twice"}}},
		{"missing member", `{"object":"risk","risk_id":"R"}`, []found{{1, "risk", "description", "description is required"}}},
		{
			"wrong enumeration", `{"object":"risk","risk_id":"R","description":"d","severity":"SEVERE"}`,
			[]found{{1, "risk", "severity", "severity must be one of CRITICAL, HIGH, MEDIUM, LOW or null"}},
		},
		{"null", `{"object":"risk","risk_id":null,"description":"d"}`, []found{{1, "risk", "risk_id", "risk_id must be text…"}}},
		{
			"too long a member", `{"object":"risk","risk_id":"` + long[:201] + `","description":"d"}`,
			[]found{{1, "risk", "risk_id", "risk_id must have at most 200 characters"}},
		},
		{
			"a date that is none", `{"object":"risk","risk_id":"R","description":"d","target_date":"2026-02-30"}`,
			[]found{{1, "risk", "target_date", "target_date must be a date (YYYY-MM-DD)…"}},
		},
		{
			"an instant that is none", `{"object":"assessment","methodology_version":"1","completed_at":"yesterday"}`,
			[]found{{1, "assessment", "completed_at", "completed_at must be an RFC 3339 timestamp…"}},
		},
		{"two values", good + "\n" + good + good, []found{{2, "risk", "", "the record must be one JSON value with nothing after it"}}},
		{
			"invalid UTF-8", `{"object":"risk","risk_id":"R","description":"` + "\xff" + `"}`,
			[]found{{1, "risk", "description", "description must be valid UTF-8"}},
		},
		{
			"half a character", `{"object":"risk","risk_id":"R","description":"\ud800"}`,
			[]found{{1, "risk", "description", "description …"}},
		},
		{
			"a long line among others", good + "\n" + `{"object":"risk","risk_id":"` + long + `"}` + "\nnonsense",
			[]found{{2, "", "", "the record is longer than 1 MiB; nothing of that size is kept"}, {3, "", "", "the record is not valid JSON (at its byte 1)"}},
		},
		{"a very long line", long + long + long, []found{{1, "", "", "the record is longer than 1 MiB; nothing of that size is kept"}}},
		{
			"deep inside", `{"object":"incident","incident_key":"I","title":"t","timeline":[{"at":"2026-01-01T00:00:00Z","status":"open"},{"at":"x"}]}`,
			[]found{
				{1, "incident", "timeline[1].at", "timeline[1].at must be an RFC 3339 timestamp…"},
				{1, "incident", "timeline[1].status", "timeline[1].status is required"},
			},
		},
		{"an incident without a key", `{"object":"incident","title":"t"}`, []found{{1, "incident", "", "the record must have an id or an incident_key"}}},
		{
			"milestone without roadmap", milestone(""),
			[]found{{1, "milestone", "roadmap_version", "there is no roadmap yet; import one first"}},
		},
		{
			"milestone of another roadmap", anyRoadmap + "\n" + milestone(`,"roadmap_version":7`),
			[]found{{2, "milestone", "roadmap_version", "there is no roadmap of version 7; import it first"}},
		},
		{
			"check-in without key result", anyKPI + "\n\n" + `{"object":"kpi_checkin","key_result_code":"L","period_start":"2026-01-01","value":1}`,
			[]found{{3, "kpi_checkin", "key_result_code", "no key result has this code; import the kpi first"}},
		},
		{
			"an id twice", `{"object":"risk","risk_id":"A","description":"d","id":"01993e0a-52c0-7c3e-9d2b-6f1f0c7a4b11"}` + "\n" +
				`{"object":"risk","risk_id":"B","description":"d","id":"01993e0a-52c0-7c3e-9d2b-6f1f0c7a4b11"}`,
			[]found{{2, "risk", "id", "id belongs to another risk"}},
		},
		{
			"faults of both passes, in order", milestone("") + "\n" + good + "\nnonsense\n" + milestone("") + "\n",
			[]found{
				{1, "milestone", "roadmap_version", "there is no roadmap yet; import one first"},
				{3, "", "", "the record is not valid JSON (at its byte 1)"},
				{4, "milestone", "roadmap_version", "there is no roadmap yet; import one first"},
			},
		},
		{
			"what refers to a faulty record", `{"object":"roadmap","version_number":1,"generated_at":"x"}` + "\n" +
				milestone("") + "\n" + milestone(`,"roadmap_version":1`) + "\n" + milestone(`,"roadmap_version":2`),
			[]found{
				{1, "roadmap", "generated_at", "generated_at must be an RFC 3339 timestamp…"},
				{4, "milestone", "roadmap_version", "there is no roadmap of version 2; import it first"},
			},
		},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			compareFaults(t, row.want, s.refuse(t, "x.ndjson", row.text, transfer.Options{}))
			if refusals := s.refuse(t, "x.ndjson", row.text, transfer.Options{DryRun: true}); len(refusals) != len(row.want) {
				t.Errorf("a dry run finds %v", refusals)
			}
		})
	}
}

// compareFaults compares two lists of errors. A reason that ends in … matches by prefix.
func compareFaults(t *testing.T, want, got []found) {
	t.Helper()
	for i := range want {
		if start, short := strings.CutSuffix(want[i].Reason, "…"); short && i < len(got) && strings.HasPrefix(got[i].Reason, start) {
			want[i].Reason = got[i].Reason
			want[i].Member = got[i].Member
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

func TestFaults_Values(t *testing.T) {
	t.Parallel()
	s := untouched(t)
	const bad = `{"object":"risk","risk_id":"R"}`
	other := risk("R-2", "")
	missing := func(line int) found { return found{line, "risk", "description", "description is required"} }
	rows := []struct {
		name, text string
		want       []found
	}{
		{"records of an array", "[\n" + good + ",\n\n" + bad + ",\n" + other + ",  " + bad + "]", []found{missing(4), missing(5)}},
		{"a record over many lines", "\n[{\n\"object\":\n\"risk\"\n},\n" + bad + "\n]", []found{
			{2, "risk", "risk_id", "risk_id is required"},
			{2, "risk", "description", "description is required"},
			missing(6),
		}},
		{"records of an envelope", `{"object":"list","api_version":"2026-09-12",` + "\n\"data\":\n[\n" + good + ",\n" + bad + "\n],\"has_more\":false,\"next_cursor\":null}", []found{missing(5)}},
		{"the object of an envelope", "{\"object\":\"risk\",\n\"data\":\n" + bad + "}", []found{missing(3)}},
		{"a record alone", "\n{\n\"object\":\"risk\",\n\"risk_id\":\"R\"\n}", []found{missing(2)}},
		{"an empty object", "{ }", []found{{1, "", "object", "object is required: it names the record's type"}}},
		{"not records", `[1, null]`, []found{{1, "", "", "the record must be a JSON object"}, {1, "", "", "the record must be a JSON object"}}},
		{"an array not closed", "[\n" + good + ",\n" + other + "\n", []found{{4, "", "", "the JSON ends before its last array or object does; what follows was not read"}}},
		{"a record not closed", "[\n" + good + ",\n{\"object\":\"risk\",\n\"risk_id\"\n", []found{{3, "", "", "the JSON ends before its last array or object does; what follows was not read"}}},
		{"a record that is not JSON", "[\n" + good + ",\n{\"object\":\"risk\",\n\"risk_id\": R}," + good + "]", []found{{3, "", "", "the record is not valid JSON (on line 4); what follows was not read"}}},
		{"no comma", "[" + good + "\n" + good + "]", []found{{2, "", "", "the record is not valid JSON; what follows was not read"}}},
		{"a comma too many", "[" + good + ",\n]", []found{{2, "", "", "the record is not valid JSON; what follows was not read"}}},
		{"two values", "[" + good + "]\n[]", []found{{2, "", "", "there must be one JSON value with nothing after it; for one record on each line use the format ndjson; what follows was not read"}}},
		{"lines", good + "\n" + good, []found{{2, "", "", "there must be one JSON value with nothing after it; for one record on each line use the format ndjson; what follows was not read"}}},
		{"no container", "\n7", []found{{2, "", "", "the source must contain records, an array of records or an envelope of the API; what follows was not read"}}},
		{"data that is none", `{"object":"risk","data":7}`, []found{{1, "", "", "data must be a record or an array of records; what follows was not read"}}},
		{"data twice", `{"object":"risk","data":[],` + "\n" + `"data":[]}`, []found{{2, "", "", "the envelope has data twice; what follows was not read"}}},
		{"invalid UTF-8", `[{"object":"risk","risk_id":"` + "\xff" + `","description":"d"},` + bad + `]`, []found{{1, "risk", "risk_id", "risk_id must be valid UTF-8"}, missing(1)}},
		{
			"a record that is somewhat too long", `[{"object":"risk","risk_id":"` + strings.Repeat("x", 1<<20) + "\"},\n" + bad + "]",
			[]found{{1, "", "", "the record is longer than 1 MiB; nothing of that size is kept"}, missing(2)},
		},
		{
			"a record that is much too long", "[\n{\"object\":\"risk\",\"risk_id\":\"" + strings.Repeat("x", 4<<20) + "\"},\n" + bad + "]",
			[]found{{2, "", "", "the record is longer than 1 MiB; nothing of that size is kept; what follows was not read"}},
		},
		{"audit events", `{"object":"list","data":[{"object":"audit_event","id":"x"}]}`, []found{{1, "", "object", "object must be one of assessment, risk, …"}}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			compareFaults(t, row.want, s.refuse(t, "x.json", row.text, transfer.Options{}))
		})
	}
}

func TestFaults_Many(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	report, err := s.try(transfer.Options{}, lines(strings.Repeat("nonsense\n", 100_234)))
	if err == nil || len(report.Errors) != 100_000 || report.MoreErrors != 234 || report.Records != 100_234 {
		t.Errorf("%v, %d faults and %d more of %d", err, len(report.Errors), report.MoreErrors, report.Records)
	}
	if want := "and 100233 more errors; nothing was imported"; !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("%v: want %q in it", err, want)
	}
}

func TestFaults_NameTheirSource(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	report, _ := s.try(transfer.Options{},
		transfer.Bytes("dir/b.ndjson", []byte(good+"\n"+milestone(""))),
		transfer.Bytes("a.json", []byte("[7]")))
	want := []transfer.ValidationError{
		{Source: "dir/b.ndjson", Line: 2, Type: "milestone", Member: "roadmap_version", Reason: "there is no roadmap yet; import one first"},
		{Source: "a.json", Line: 1, Reason: "the record must be a JSON object"},
	}
	if diff := cmp.Diff(want, report.Errors); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}
