// Package testdb gives tests data files and stores. It imports package db. Package
// testkit must not, because tests of the packages below db import testkit.
package testdb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/internal/testkit"
	"govsvc/sandbox"
	"govsvc/server/transfer"
)

// Template is a data file that is made once in a process and copied for each test. To
// make and fill a data file takes longer than most tests.
type Template[T any] struct {
	make func() (T, error)
	once sync.Once

	content []byte
	result  T
	err     error
}

// NewTemplate returns a template that is made when it is first copied. The function fill
// writes into the new file and returns what tests must know about it, for example keys.
// The path in the options is not used.
func NewTemplate[T any](options db.Options, fill func(context.Context, *db.DB) (T, error)) *Template[T] {
	f := &Template[T]{}
	f.make = func() (result T, err error) {
		folder, err := os.MkdirTemp("", "govsvc-test-")
		if err != nil {
			return result, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
		options.Path = filepath.Join(folder, "govsvc.db")
		ctx := context.Background() // a template outlives the test that makes it
		store, err := db.Open(ctx, options)
		if err != nil {
			return result, err
		}
		result, err = fill(ctx, store)
		if err = errors.Join(err, store.Close()); err != nil {
			return result, err
		}
		f.content, err = os.ReadFile(options.Path)
		return result, err
	}
	return f
}

// Copy writes a copy of the data file into a folder of the test. It returns the path of
// the copy and the result of the function that filled the file.
func (f *Template[T]) Copy(t testing.TB) (path string, result T) {
	t.Helper()
	f.once.Do(func() { f.result, f.err = f.make() })
	if f.err != nil {
		t.Fatal(f.err)
	}
	path = testkit.NewPath(t)
	if err := os.WriteFile(path, f.content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, f.result
}

var emptyFile = NewTemplate(Options(""), func(context.Context, *db.DB) (struct{}, error) {
	return struct{}{}, nil
})

// EmptyFile returns the path of a data file without records, which was made at
// testkit.Start. All these files have the same secrets, so a cursor of one is valid in the
// others.
func EmptyFile(t testing.TB) string {
	t.Helper()
	path, _ := emptyFile.Copy(t)
	return path
}

var demoFile = NewTemplate(Options(""), func(ctx context.Context, store *db.DB) (struct{}, error) {
	return struct{}{}, AddDemo(ctx, store)
})

// DemoFile returns the path of a data file whose default organisation is the
// demonstration organisation.
func DemoFile(t testing.TB) string {
	t.Helper()
	path, _ := demoFile.Copy(t)
	return path
}

// AddDemo imports the records of the demonstration organisation into the default
// organisation.
func AddDemo(ctx context.Context, store *db.DB) error {
	document, err := testkit.LoadDocument()
	if err != nil {
		return err
	}
	org, err := store.Orgs.ByName(ctx, db.DefaultOrganisation)
	if err != nil {
		return err
	}
	by := db.Actor{Org: org.Org, ID: "system"}
	_, err = transfer.Import(ctx, store, document, by, []transfer.Source{sandbox.Demo()}, transfer.Options{})
	return err
}

// Options returns options for a data file: a clock that always shows testkit.Start, and a
// minute that a write waits for other writers.
func Options(path string) db.Options {
	return db.Options{Path: path, Now: testkit.NewClock(testkit.Start).Now, Wait: time.Minute}
}

// Verify makes the test fail if a write changes a row that its statement did not declare,
// because responses that were read from the row would stay valid. It does nothing in a
// benchmark.
func Verify(t testing.TB, store *db.DB) {
	t.Helper()
	if _, measured := t.(*testing.B); measured {
		return
	}
	if err := store.Engine().VerifyTouched(t.Context(), func(problem string) { t.Error(problem) }); err != nil {
		t.Fatal(err)
	}
}

// Open opens a data file and closes it when the test ends. The default path is that of an
// EmptyFile. The defaults of the clock and of the wait are those of Options.
func Open(t testing.TB, options db.Options) *db.DB {
	t.Helper()
	if options.Path == "" {
		options.Path = EmptyFile(t)
	}
	defaults := Options(options.Path)
	if options.Now == nil {
		options.Now = defaults.Now
	}
	options.Wait = cmp.Or(options.Wait, defaults.Wait)
	store, err := db.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	testkit.CloseAfter(t, store.Close)
	Verify(t, store)
	return store
}

// DefaultOrg returns the organisation that every data file has.
func DefaultOrg(t testing.TB, store *db.DB) db.Organisation {
	t.Helper()
	org, err := store.Orgs.ByName(t.Context(), db.DefaultOrganisation)
	if err != nil {
		t.Fatal(err)
	}
	return org
}

// Operator returns the actor of the command line in the default organisation.
func Operator(t testing.TB, store *db.DB) db.Actor {
	t.Helper()
	return db.Actor{Org: DefaultOrg(t, store).Org, ID: "system"}
}

// PutRisk writes a risk with this risk_id, and its audit event.
func PutRisk(tx *db.Tx, riskID string) error {
	if err := PutUnaudited(tx, riskID); err != nil {
		return err
	}
	return tx.Audit(audit.Event{Action: "risk " + riskID, Category: audit.DataChange, Severity: audit.SeverityWrite})
}

// PutUnaudited writes a risk without an audit event, which the store refuses to commit.
func PutUnaudited(tx *db.Tx, riskID string) error {
	_, err := tx.Put("risk", db.Record{"risk_id": riskID, "description": "A risk that a test has put.", "severity": "HIGH", "likelihood": "RARE"})
	return err
}

// defaultOrg is the first row of every data file.
const defaultOrg = 1

// AddRisk calls PutRisk in a separate transaction, in the default organisation. It
// reads nothing before.
func AddRisk(ctx context.Context, store *db.DB, riskID string) error {
	return store.Write(ctx, db.Actor{Org: defaultOrg, ID: "system"}, func(tx *db.Tx) error { return PutRisk(tx, riskID) })
}

// Risks returns how many risks of a data file have each risk_id.
func Risks(t testing.TB, path string) map[string]int {
	t.Helper()
	return testkit.CountSQL(t, path, "SELECT risk_id FROM risks")
}

// Subscribe adds a webhook subscription for all events. The store enqueues no events
// without one.
func Subscribe(t testing.TB, path string) {
	t.Helper()
	testkit.ExecSQL(t, path, `INSERT INTO webhook_subscriptions (org_id, id, url, created_via, secret, created_at, updated_at)
		VALUES (1, 'x', 'https://hook.example', 'api', 's', '', '')`)
}

// OpenWithEvents opens a data file with two organisations. The audit log of the default
// one has n events, e1 to en. That of the other one has events between them.
func OpenWithEvents(t testing.TB, n int) *db.DB {
	t.Helper()
	store := Open(t, db.Options{})
	other, err := store.Orgs.Create(t.Context(), db.Actor{ID: "system"}, "other", db.Enterprise)
	if err != nil {
		t.Fatal(err)
	}
	add := func(by db.Actor, action string) {
		err := store.Write(t.Context(), by, func(tx *db.Tx) error {
			return tx.Audit(audit.Event{Action: action, Category: audit.System})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		action := fmt.Sprintf("e%d", i+1)
		add(db.Actor{Org: defaultOrg, ID: "a"}, action)
		if i%2 == 1 {
			add(db.Actor{Org: other.Org, ID: "b"}, action)
		}
	}
	return store
}
