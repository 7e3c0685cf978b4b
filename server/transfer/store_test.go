package transfer_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/resource"
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

// emptyFile is a data file without records: a copy of it costs a tenth of one
// that is made.
var emptyFile = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "govsvc-test-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the system tidies what is left
	path := filepath.Join(dir, "govsvc.db")
	file, err := db.Open(context.Background(), db.Options{Path: path})
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// store is a fresh data file with what a test does to it.
type store struct {
	t testing.TB
	*db.DB
	by db.Actor
}

func newStore(t testing.TB) *store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "govsvc.db")
	empty, err := emptyFile()
	if err == nil {
		err = os.WriteFile(path, empty, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	file, err := db.Open(t.Context(), db.Options{Path: path, Wait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	})
	org, err := file.Orgs.ByName(t.Context(), db.DefaultOrganisation)
	if err != nil {
		t.Fatal(err)
	}
	return &store{t, file, db.Actor{Org: org.Org, ID: "system"}}
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
	return transfer.Export(s.t.Context(), s.DB, document(s.t), s.by, s.by.Org, types, format, w)
}

// query reads a column of texts straight from the file, or writes there.
func (s *store) query(query string) []string {
	s.t.Helper()
	file, err := sql.Open("sqlite", s.Path())
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() {
		if err := file.Close(); err != nil {
			s.t.Error(err)
		}
	}()
	rows, err := file.QueryContext(context.WithoutCancel(s.t.Context()), query) // in a cleanup, too
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
	for _, object := range resource.Types() {
		tables = append(tables, "SELECT record FROM "+object+"_records")
	}
	return strings.Join(s.query(strings.Join(tables, " UNION ALL ")), "\n")
}

// subscribe makes a subscription, without which no event is raised.
func (s *store) subscribe() {
	s.t.Helper()
	s.query(`INSERT INTO webhook_subscriptions (org_id, id, url, created_via, secret, created_at, updated_at)
		VALUES (1, 'x', 'https://hook.example', 'api', 's', '', '') RETURNING id`)
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

// sandboxFile reads one of the repository's data sets.
func sandboxFile(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "sandbox", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
