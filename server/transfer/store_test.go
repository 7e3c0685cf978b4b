package transfer_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
	"govsvc/server/transfer"
)

// store is a new data file with helpers for tests.
type store struct {
	t testing.TB
	*db.DB
	by db.Actor
}

func newStore(t testing.TB) *store {
	t.Helper()
	file := testdb.Open(t, db.Options{})
	return &store{t, file, testdb.Operator(t, file)}
}

func (s *store) try(options transfer.Options, sources ...transfer.Source) (transfer.Report, error) {
	return transfer.Import(s.t.Context(), s.DB, testkit.Document(s.t), s.by, sources, options)
}

// put imports valid records, one in each argument.
func (s *store) put(records ...string) transfer.Report {
	s.t.Helper()
	report, err := s.try(transfer.Options{}, lines(records...))
	if err != nil {
		s.t.Fatalf("%v %v", err, report.Errors)
	}
	return report
}

func lines(records ...string) transfer.Source {
	return transfer.Bytes("records.ndjson", []byte(strings.Join(records, "\n")))
}

func (s *store) export(types ...string) string {
	s.t.Helper()
	return s.exportAs(transfer.NDJSON, types...)
}

func (s *store) exportAs(format transfer.Format, types ...string) string {
	s.t.Helper()
	var out bytes.Buffer
	if _, err := s.exportTo(&out, format, types...); err != nil {
		s.t.Fatal(err)
	}
	return out.String()
}

func (s *store) exportTo(w io.Writer, format transfer.Format, types ...string) (map[string]int, error) {
	return transfer.Export(s.t.Context(), s.DB, testkit.Document(s.t), s.by, s.by.Org, types, format, w)
}

// query returns the values of a query of one column.
func (s *store) query(query string) []string {
	s.t.Helper()
	return testkit.QuerySQL(s.t, s.File.Path(), query)
}

// contents returns everything that an import can change, as text.
func (s *store) contents() string {
	s.t.Helper()
	const all = `SELECT body FROM events UNION ALL SELECT event FROM audit_events
		UNION ALL SELECT incident_seq || at || status FROM incident_timeline UNION ALL SELECT last_risk_number FROM organisations`
	tables := []string{all}
	for _, object := range resource.Types() {
		tables = append(tables, "SELECT record FROM "+object+"_records")
	}
	return strings.Join(s.query(strings.Join(tables, " UNION ALL ")), "\n")
}

// subscribe adds a subscription. Events are only stored while one exists.
func (s *store) subscribe() {
	s.t.Helper()
	testdb.Subscribe(s.t, s.File.Path())
}

// events lists the outbox, oldest first.
func (s *store) events() []map[string]any {
	s.t.Helper()
	var events []map[string]any
	for _, body := range s.query("SELECT body FROM events ORDER BY seq") {
		var event map[string]any
		if err := json.Unmarshal([]byte(body), &event); err != nil {
			s.t.Fatal(err)
		}
		events = append(events, event)
	}
	return events
}

// sandboxFile reads one of the data sets of package sandbox.
func sandboxFile(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "sandbox", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
