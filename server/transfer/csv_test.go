package transfer_test

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"govsvc/db/resource"
	"govsvc/internal/testkit"
	"govsvc/server/transfer"
)

// members picks some members of all records of a type, as JSON.
func (s *store) members(object string, names ...string) []string {
	s.t.Helper()
	records := []string{}
	for line := range strings.Lines(s.export(object)) {
		var record map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			s.t.Fatal(err)
		}
		var picked []string
		for _, name := range names {
			picked = append(picked, string(record[name]))
		}
		records = append(records, strings.Join(picked, " "))
	}
	return records
}

// riskHeader has the required columns of a risk.
const riskHeader = "risk_id,description"

func TestCSV_EqualsJSON(t *testing.T) {
	t.Parallel()
	assessment := func(lists ...string) string {
		text := "completed_at,methodology_version,frameworks_applied\n"
		for i, list := range lists {
			text += fmt.Sprintf("2026-01-%02dT00:00:00Z,1,%s\n", i+1, list)
		}
		return text
	}
	rows := []struct {
		name, object, text, members string
		want                        []string
	}{
		{"columns in any order", "risk", "description,severity,risk_id\nd,HIGH,R\n", "risk_id description severity", []string{`"R" "d" "HIGH"`}},
		{"semicolons", "risk", "risk_id;description\nR;a,b\n", "risk_id description", []string{`"R" "a,b"`}},
		{"tabs", "risk", "risk_id\tdescription\nR\ta;b,c\n", "description", []string{`"a;b,c"`}},
		{"one separator in the header, others in the rows", "risk", riskHeader + "\nR,a;b\tc\n", "description", []string{`"a;b\tc"`}},
		{"quotes", "risk", `"risk_id","description"` + "\n" + `"R","a ""b"", c"` + "\n", "description", []string{`"a \"b\", c"`}},
		{"a byte order mark, and lines of Windows", "risk", "\ufeffrisk_id;description\r\nR;d\r\nS;e\r\n", "risk_id description", []string{`"R" "d"`, `"S" "e"`}},
		{"a byte order mark before quotes", "risk", "\ufeff\"risk_id\";description\r\nR;d", "risk_id", []string{`"R"`}},
		{"lines of an old Mac", "risk", riskHeader + "\rR,d\rS,e", "risk_id description", []string{`"R" "d"`, `"S" "e"`}},
		{"lines inside quotes stay as they are", "risk", riskHeader + "\r\nR,\"a\r\nb\nc\rd\"\r\n", "description", []string{`"a\r\nb\nc\rd"`}},
		{"blank rows", "risk", "\n" + riskHeader + "\n\n,\nR,d\n,\n\n", "risk_id", []string{`"R"`}},
		{
			"spaces in a text", "risk", "risk_id,description, severity ,target_date,financial_exposure_min\nR, d , HIGH , 2026-12-31 , 1.5 \n",
			"description severity target_date financial_exposure_min",
			[]string{`" d " "HIGH" "2026-12-31" 1.5`},
		},
		{"cells without a column, and columns without a cell", "risk", riskHeader + ",,\nR,d,,\nS,e,,,,\n", "risk_id", []string{`"R"`, `"S"`}},
		{"nothing but a header", "risk", riskHeader + "\n", "risk_id", []string{}},
		{"null, and an empty text", "risk", riskHeader + ",title,source,owner_name,severity\nR,d,,\"\",\"\",\"\"\n", "title source owner_name severity", []string{`null null "" null`}},
		{"an optional member without a value", "risk", riskHeader + ",status,id,created_at,api_version\nR,d,,,,\n", "status", []string{`"Open"`}},
		{"numbers", "risk", riskHeader + ",financial_exposure_min,financial_exposure_max\nR,d,-1.50,1E+05\nS,d,,0\n", "financial_exposure_min financial_exposure_max", []string{`-1.5 100000`, `null 0`}},
		{"booleans", "incident", "incident_key,title,notification_required\nA,t,TRUE\nB,t,false\nC,t,\n", "notification_required", []string{`true`, `false`, `false`}},
		{
			"lists", "assessment", assessment("a;b c; d", "a", "[]", "", `"[""a;b"",""c""]"`, `"a,b;""c"""`), "frameworks_applied",
			[]string{`["a","b c","d"]`, `["a"]`, `[]`, `[]`, `["a;b","c"]`, `["a,b","\"c\""]`},
		},
		{"objects", "talent_readiness", "version_number,overall_readiness,executive_summary,generated_at,build_buy_borrow\n" +
			`1,READY,e,2026-01-01T00:00:00Z,"{""build"": 0.2, ""buy"": 0.5, ""borrow"": 0.3}"` + "\n", "build_buy_borrow", []string{`{"borrow":0.3,"build":0.2,"buy":0.5}`}},
		{"the type in a column, too", "risk", "object," + riskHeader + "\nrisk,R,d\n,S,d\n", "object", []string{`"risk"`, `"risk"`}},
		{"the type by another name", "assessment", "object,completed_at,methodology_version\nscorecard,2026-01-01T00:00:00Z,1\n", "object", []string{`"assessment"`}},
		{"what a spreadsheet takes for a formula", "risk", riskHeader + "\nR,=1+1\nS,@x\nT,-1\n", "description", []string{`"=1+1"`, `"@x"`, `"-1"`}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			for _, open := range []func() (io.ReadCloser, error){
				func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(row.text)), nil },
				func() (io.ReadCloser, error) {
					return io.NopCloser(iotest.OneByteReader(strings.NewReader(row.text))), nil
				},
			} {
				s := newStore(t)
				report, err := s.try(transfer.Options{Type: row.object}, transfer.Source{Name: "x.csv", Open: open})
				if err != nil || report.Records != len(row.want) {
					t.Fatalf("%d records, %v %+v", report.Records, err, report.Errors)
				}
				got := s.members(row.object, strings.Fields(row.members)...)
				slices.Sort(got)
				slices.Sort(row.want)
				if diff := cmp.Diff(row.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", row.members, diff)
				}
			}
		})
	}
}

// TestCSV_ManyTypes imports rows of two types, which share columns.
func TestCSV_ManyTypes(t *testing.T) {
	t.Parallel()
	const text = "object,risk_id,vendor_key,vendor_name,description,category,initial_risk_band,status\n" +
		"risk,R,,,d,,,Closed\nvendor,,V,n,,c,LOW,exited\n"
	for _, name := range []string{"x.csv", "x.txt", transfer.StandardInput} {
		s := newStore(t)
		if report, err := s.try(transfer.Options{}, transfer.Bytes(name, []byte(text))); err != nil || report.Records != 2 {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
		if got := s.members("vendor", "vendor_key", "status"); len(got) != 1 || got[0] != `"V" "exited"` {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestCSV_Format checks that CSV is recognized by file name, type and content.
func TestCSV_Format(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name    string
		options transfer.Options
		want    transfer.Format
	}{
		{"a.csv", transfer.Options{}, transfer.CSV},
		{"a.TSV", transfer.Options{}, transfer.CSV},
		{"a.csv", transfer.Options{Format: transfer.JSON}, transfer.JSON},
		{"a.ndjson", transfer.Options{Type: "risk"}, transfer.NDJSON},
		{"a.json", transfer.Options{Type: "risk"}, transfer.JSON},
		{"a.txt", transfer.Options{Type: "risk"}, transfer.CSV},
		{"a.txt", transfer.Options{}, ""},
	}
	for _, row := range rows {
		if got := row.options.FormatOf(row.name); got != row.want {
			t.Errorf("%s with %+v: %q, want %q", row.name, row.options, got, row.want)
		}
	}
	if _, err := newStore(t).try(transfer.Options{Type: "score"}, lines(good)); err == nil || !strings.HasPrefix(err.Error(), `no type "score"; the types are assessment, risk`) {
		t.Error(err)
	}
}

// odd has texts and lists that CSV could lose, and both null and empty values.
func odd() []string {
	records := []string{anyRoadmap, milestone(`,"target_date":null`), anyKPI}
	for i, text := range []string{
		"", " ", "  two ", "\t", "a\r\nb", "\r", "\n", `"`, `""`, `a "b", c`, ",", ";", "=1+1", "+1", "-1", "@x", "\u00a0x", "null", "true", "[]", "46022", "Ä日😀", "a\\b", "\u2028",
	} {
		blank, _ := json.Marshal(text)             // optional members may contain only white space
		full, _ := json.Marshal(text + "." + text) // required members must contain other characters
		records = append(records,
			fmt.Sprintf(`{"object":"risk","risk_id":"R%d","description":%s,"title":null,"owner_name":%s,"mitigation_action":%[3]s}`, i, full, blank),
			fmt.Sprintf(`{"object":"score","completed_at":"2026-01-01T00:%02d:00Z","methodology_version":"1","frameworks_applied":[%s]}`, i, full),
			fmt.Sprintf(`{"object":"score","completed_at":"2026-01-02T00:%02d:00Z","methodology_version":"1","frameworks_applied":["a",%s,"b"]}`, i, full),
			fmt.Sprintf(`{"object":"incident","incident_key":"I%d","title":"t","owner":%s,"timeline":[{"at":"2026-01-01T00:00:00Z","status":"open","note":%[2]s,"actor":null}]}`, i, blank),
			fmt.Sprintf(`{"object":"incident","id":"01993e0a-52c0-7c3e-9d2b-%012d","title":"t","timeline":[]}`, i),
			fmt.Sprintf(`{"object":"kpi_checkin","key_result_code":"K","period_start":"2026-01-%02d","value":1,"source":%s,"note":%s}`, i+1, full, blank),
		)
		if text != "" && strings.TrimSpace(text) != "" {
			records = append(records, fmt.Sprintf(`{"object":"score","completed_at":"2026-01-03T00:%02d:00Z","methodology_version":"1","frameworks_applied":[%s,%[2]s]}`, i, blank))
		}
	}
	return records
}

// TestCSV_RoundTrip exports every type as CSV, imports the tables into an empty
// file and compares its exports, in both formats, byte for byte.
func TestCSV_RoundTrip(t *testing.T) {
	t.Parallel()
	random := &generator{newRandom(11), t}
	for name, text := range map[string]string{
		"fixtures": string(sandboxFile(t, "fixtures.ndjson")),
		"demo":     string(sandboxFile(t, "demo.ndjson")),
		"random":   random.records(25),
		"odd":      strings.Join(odd(), "\n"),
		"nothing":  "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := newStore(t), newStore(t)
			if report, err := first.try(transfer.Options{}, transfer.Bytes("x.ndjson", []byte(text))); err != nil {
				t.Fatal(err, report.Errors)
			}
			var tables []transfer.Source
			for _, object := range resource.Types() {
				tables = append(tables, transfer.Bytes(object+".csv", []byte(first.exportAs(transfer.CSV, object))))
			}
			if report, err := second.try(transfer.Options{}, tables...); err != nil {
				t.Fatal(err, report.Errors)
			}
			if diff := cmp.Diff(first.export(), second.export()); diff != "" {
				t.Errorf("the records differ (-exported +imported):\n%s", diff)
			}
			for _, object := range resource.Types() {
				if diff := cmp.Diff(first.exportAs(transfer.CSV, object), second.exportAs(transfer.CSV, object)); diff != "" {
					t.Errorf("the tables of %s differ (-exported +imported):\n%s", object, diff)
				}
			}
			again, err := first.try(transfer.Options{}, tables...)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range again.Types {
				if c.Created+c.Updated > 0 {
					t.Errorf("%+v by a second import of the same", c)
				}
			}
		})
	}
}

// TestCSV_TemplateIsEnough fills the required columns of a template of each type, and
// imports it.
func TestCSV_TemplateIsEnough(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.put(anyRoadmap, anyKPI)
	samples := map[string]string{"target_value": "1", "period_start": "2026-01-01", "value": "1", "key_result_code": "K", "other_type": "kpi", "build_buy_borrow": `"{""build"":1,""buy"":0,""borrow"":0}"`}
	for _, object := range resource.Types() {
		columns := transfer.Template(testkit.Document(t), object)
		cells := make([]string, len(columns))
		for _, p := range testkit.Document(t).Record(object).Properties() {
			at := slices.Index(columns, p.Name)
			switch {
			case at < 0 || !p.Required && p.Name != "incident_key":
			case samples[p.Name] != "":
				cells[at] = samples[p.Name]
			case p.Enum != nil:
				cells[at] = p.Enum[0]
			case p.Type == "integer":
				cells[at] = "1"
			case strings.HasSuffix(p.Name, "_at") || p.Name == "as_of":
				cells[at] = "2026-01-01T00:00:00Z"
			default:
				cells[at] = "K"
			}
		}
		text := strings.Join(columns, ";") + "\n" + strings.Join(cells, ";") + "\n"
		if report, err := s.try(transfer.Options{Type: object}, transfer.Bytes("x.csv", []byte(text))); err != nil || report.Records != 1 {
			t.Errorf("%s: %v %+v\n%s", object, err, report.Errors, text)
		}
	}
}
