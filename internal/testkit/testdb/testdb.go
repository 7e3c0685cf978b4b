// Package testdb gives tests data files and stores. It is apart from package testkit,
// which the tests of the packages below db also import.
package testdb

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"govsvc/db"
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

var emptyFile = NewTemplate(db.Options{Now: testkit.NewClock(testkit.Start).Now}, func(context.Context, *db.DB) (struct{}, error) {
	return struct{}{}, nil
})

// EmptyFile returns the path of a data file without records, which was made at
// testkit.Start. All
// these files have the same secrets: a cursor of one is valid in the others.
func EmptyFile(t testing.TB) string {
	t.Helper()
	path, _ := emptyFile.Copy(t)
	return path
}

var demoFile = NewTemplate(db.Options{Now: testkit.NewClock(testkit.Start).Now}, func(ctx context.Context, store *db.DB) (struct{}, error) {
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

// Open opens a data file and closes it when the test ends. The default path is that
// of an EmptyFile. The default clock always shows testkit.Start. By default a write waits a
// minute for other writers.
func Open(t testing.TB, options db.Options) *db.DB {
	t.Helper()
	if options.Path == "" {
		options.Path = EmptyFile(t)
	}
	if options.Now == nil {
		options.Now = testkit.NewClock(testkit.Start).Now
	}
	if options.Wait == 0 {
		options.Wait = time.Minute
	}
	store, err := db.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
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
