package db_test

import (
	"testing"

	"govsvc/db"
	"govsvc/internal/testkit/testdb"
)

func init() { db.EmptyFile = testdb.EmptyFile }

// newStore opens an empty data file.
func newStore(t testing.TB) *db.DB {
	t.Helper()
	return testdb.Open(t, db.Options{})
}

// open opens the data file at a path. Two stores of one file are like two processes.
func open(t testing.TB, path string) *db.DB {
	t.Helper()
	return testdb.Open(t, db.Options{Path: path})
}
