package transfer_test

import (
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"

	"govsvc/server/transfer"
)

// FuzzImport imports any bytes. It never panics and fails in no other way than
// by faults, and then the file is as it was; what it took is exported and, when
// imported again, found unchanged.
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
	commits := commitCounter(f, s.Path())
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
		var refusal *transfer.Refused
		if !errors.As(err, &refusal) || len(report.Faults) == 0 {
			t.Fatalf("%v with %+v", err, report)
		}
		for _, fault := range report.Faults {
			if fault.Line < 1 || fault.Reason == "" || strings.ContainsRune(fault.Reason, '\n') {
				t.Errorf("%+v", fault)
			}
		}
		if commits(t) != before {
			t.Error("a refused import wrote")
		}
	})
}

// commitCounter returns a number that is another one after each commit to the
// file by others.
func commitCounter(t testing.TB, path string) func(testing.TB) (version int) {
	t.Helper()
	file, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	file.SetMaxOpenConns(1) // the number is that of a connection
	t.Cleanup(func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	})
	return func(t testing.TB) (version int) {
		t.Helper()
		if err := file.QueryRowContext(t.Context(), "PRAGMA data_version").Scan(&version); err != nil {
			t.Fatal(err)
		}
		return version
	}
}
