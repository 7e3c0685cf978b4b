package transfer_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/server/openapi"
	"govsvc/server/transfer"
)

var loadDocument = sync.OnceValues(openapi.Load)

func document(t testing.TB) *openapi.Document {
	t.Helper()
	d, err := loadDocument()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// store is a fresh data file with what a test does to it.
type store struct {
	t testing.TB
	*db.DB
	by db.By
}

func newStore(t testing.TB) *store {
	t.Helper()
	file, err := db.Open(t.Context(), db.Options{Path: filepath.Join(t.TempDir(), "govsvc.db"), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	})
	org, err := file.Organisation(t.Context(), db.DefaultOrganisation)
	if err != nil {
		t.Fatal(err)
	}
	return &store{t, file, db.By{Org: org.Org, Actor: "system"}}
}

func (s *store) try(options transfer.Options, sources ...transfer.Source) (transfer.Report, error) {
	return transfer.Import(s.t.Context(), s.DB, document(s.t), s.by, sources, options)
}

// put imports records, one an argument, that must be good.
func (s *store) put(records ...string) transfer.Report {
	s.t.Helper()
	report, err := s.try(transfer.Options{}, lines(records...))
	if err != nil {
		s.t.Fatalf("%v %v", err, report.Faults)
	}
	return report
}

func lines(records ...string) transfer.Source {
	return transfer.Bytes("records.ndjson", []byte(strings.Join(records, "\n")))
}

func (s *store) export(types ...string) string {
	s.t.Helper()
	var out bytes.Buffer
	if _, err := transfer.Export(s.t.Context(), s.DB, s.by, s.by.Org, types, &out); err != nil {
		s.t.Fatal(err)
	}
	return out.String()
}

// query reads a column of texts straight from the file.
func (s *store) query(query string, args ...any) []string {
	s.t.Helper()
	file, err := sql.Open("sqlite", s.Path())
	if err != nil {
		s.t.Fatal(err)
	}
	defer file.Close()
	rows, err := file.QueryContext(s.t.Context(), query, args...)
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	texts := []string{}
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			s.t.Fatal(err)
		}
		texts = append(texts, text)
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return texts
}

// contents is all that an import may change, as text.
func (s *store) contents() string {
	s.t.Helper()
	const all = `SELECT body FROM events UNION ALL SELECT event FROM audit_events
		UNION ALL SELECT incident_seq || at || status FROM incident_timeline UNION ALL SELECT last_risk_number FROM organisations`
	tables := []string{all}
	for _, object := range db.RecordTypes() {
		tables = append(tables, "SELECT record FROM "+object+"_records")
	}
	return strings.Join(s.query(strings.Join(tables, " UNION ALL ")), "\n")
}

// events lists the outbox as "type data", oldest first, and empties the list
// that the next call gives.
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

// sandboxFile reads one of the repository's data sets, if it is there.
func sandboxFile(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "sandbox", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
