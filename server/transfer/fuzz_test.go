package transfer_test

import (
	"bytes"
	"database/sql"
	"encoding/csv"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"govsvc/db/resource"
	"govsvc/internal/testkit"
	"govsvc/server/transfer"
)

// FuzzImport imports arbitrary bytes. An import never panics and fails only with
// reported errors, which leave the store unchanged. The export of imported records
// can be imported again without a change.
func FuzzImport(f *testing.F) {
	for _, seed := range []string{
		good, "[" + good + "]", `{"object":"list","data":[` + good + `]}`, `{"object":"risk","data":` + good + `}`, "\ufeff" + good + "\r\n\n",
		anyKPI + "\n" + `{"object":"kpi_checkin","key_result_code":"K","period_start":"2026-01-01","value":1e3}`,
		anyRoadmap + "\n" + milestone(`,"roadmap_version":1`), posture(1, "COMPLIANT", regime("r", "COMPLIANT")), assessment("01-01T00:00:00Z", `null`),
		`{"object":"signal","signal_type":"s","module_id":"m","as_of":"2026-01-01T00:00:00.5+01:00","numeric_value":-0.0}`,
		`{"object":"incident","incident_key":"I","title":"t","notification_required":true,"timeline":[{"at":"2026-01-01T00:00:00Z","status":"open","actor":"a"}]}`,
		"nonsense", "[", "{}", "[1,", `{"object":"risk"`, "\xff\xfe", "",
	} {
		f.Add([]byte(seed), uint8(0))
	}
	s := newStore(f)
	commits := commitCounter(f, s.File.Path())
	formats := append([]string{""}, transfer.Formats()...)
	f.Fuzz(func(t *testing.T, text []byte, format uint8) {
		s := &store{t, s.DB, s.by}
		before := commits(t)
		options := transfer.Options{Format: transfer.Format(formats[int(format)%len(formats)])}
		report, err := s.try(options, transfer.Bytes("x", text))
		if err == nil {
			if again := s.put(strings.TrimSuffix(s.export(), "\n")); slices.ContainsFunc(again.Types, func(c transfer.Count) bool { return c.Created+c.Updated > 0 }) {
				t.Errorf("the import of the export changed %+v", again.Types)
			}
			return
		}
		var refusal *transfer.RefusedError
		if !errors.As(err, &refusal) || len(report.Errors) == 0 {
			t.Fatalf("%v with %+v", err, report)
		}
		for _, fault := range report.Errors {
			if fault.Line < 1 || fault.Reason == "" || strings.ContainsRune(fault.Reason, '\n') {
				t.Errorf("%+v", fault)
			}
		}
		if commits(t) != before {
			t.Error("a refused import committed a change")
		}
	})
}

// FuzzCSV imports arbitrary bytes as CSV of any type. An import never panics and
// fails only with errors that name a line. An accepted file has as many records as
// encoding/csv finds. A second import of the exported tables changes nothing.
func FuzzCSV(f *testing.F) {
	types := append([]string{""}, resource.Types()...)
	add := func(object, text string) { f.Add([]byte(text), uint8(slices.Index(types, object))) } //nolint:gosec // a dozen types
	for _, seed := range []string{
		riskHeader + "\nR,d\n", "\ufeffrisk_id;description\r\nR;\"a\r\nb;\"\"\"\r\n", riskHeader + ",title,severity\rR,d,\"\",\r,,,\r\n",
		riskHeader + ",target_date,financial_exposure_min\nR,d,31.12.2026,\"1,5\"\nS,d,46022,1e3\n", "risk_id\tdescription\tx\nR\n\"", riskHeader + "\nR,a\"b\nS,\"a\"b\n", "\xff\xfe", "", "\n\n", ",", "\"",
	} {
		add("risk", seed)
	}
	add("", "object,risk_id,vendor_key,description,vendor_name,category,initial_risk_band\nrisk,R,,d,,,\nvendor,,V,,n,c,LOW\nlist,,,,,,\n")
	add("incident", "incident_key,title,notification_required,timeline\nI,t,TRUE,\"[{\"\"at\"\":\"\"2026-01-01T00:00:00Z\"\",\"\"status\"\":\"\"open\"\"}]\"\n")
	add("assessment", "completed_at,methodology_version,frameworks_applied\n2026-01-01T00:00:00Z,1,\"a;b\"\n2026-01-02T00:00:00Z,1,[]\n")
	s := newStore(f)
	commits := commitCounter(f, s.File.Path())
	f.Fuzz(func(t *testing.T, text []byte, object uint8) {
		s := &store{t, s.DB, s.by}
		before := commits(t)
		report, err := s.try(transfer.Options{Format: transfer.CSV, Type: types[int(object)%len(types)]}, transfer.Bytes("x", text))
		if err == nil {
			if n, ok := rowsByTheLibrary(text); ok && n != report.Records {
				t.Errorf("%d records, encoding/csv finds %d", report.Records, n)
			}
			for _, c := range report.Types {
				table := s.exportAs(transfer.CSV, c.Type)
				again, err := s.try(transfer.Options{Format: transfer.CSV}, transfer.Bytes("x", []byte(table)))
				if err != nil || again.Types[0].Created+again.Types[0].Updated > 0 || s.exportAs(transfer.CSV, c.Type) != table {
					t.Errorf("the import of the exported %s: %+v, %v", c.Type, again, err)
				}
			}
			return
		}
		var refusal *transfer.RefusedError
		if !errors.As(err, &refusal) || len(report.Errors) == 0 {
			t.Fatalf("%v with %+v", err, report)
		}
		for _, fault := range report.Errors {
			if fault.Line < 1 || fault.Reason == "" || !utf8.ValidString(fault.Member+fault.Reason) {
				t.Errorf("%+v", fault)
			}
		}
		if commits(t) != before {
			t.Error("a refused import committed a change")
		}
	})
}

// rowsByTheLibrary counts the rows below the header that have a value, with
// encoding/csv. It returns false if the text contains CR, which encoding/csv does
// not accept as the end of a line.
func rowsByTheLibrary(text []byte) (n int, ok bool) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if bytes.ContainsRune(text, '\r') {
		return 0, false
	}
	header, _, _ := bytes.Cut(bytes.TrimLeft(text, "\n"), []byte("\n"))
	in := csv.NewReader(bytes.NewReader(text))
	if at := bytes.IndexAny(header, ",;\t"); at >= 0 {
		in.Comma = rune(header[at])
	}
	in.FieldsPerRecord = -1
	rows, err := in.ReadAll()
	for _, row := range rows {
		if strings.Join(row, "") != "" {
			n++
		}
	}
	return max(n-1, 0), err == nil
}

// commitCounter returns a function that reads the data version of the file. The
// version changes with each commit of another connection.
func commitCounter(t testing.TB, path string) func(testing.TB) (version int) {
	t.Helper()
	file, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	file.SetMaxOpenConns(1) // the data version belongs to one connection
	testkit.CloseAfter(t, file.Close)
	return func(t testing.TB) (version int) {
		t.Helper()
		if err := file.QueryRowContext(t.Context(), "PRAGMA data_version").Scan(&version); err != nil {
			t.Fatal(err)
		}
		return version
	}
}
