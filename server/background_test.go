package server_test

import (
	"context"
	"database/sql"
	"testing"
)

// TestLogIsBounded: a log beside the file that has grown large, as it does while
// readers overlap, is emptied by the server while others have the file open.
func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	s := serve(t)
	file, err := sql.Open("sqlite", "file:"+s.store.Path()+"?_pragma=wal_autocheckpoint(0)&_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // of the test
	for _, statement := range []string{"CREATE TABLE filler (x)", "INSERT INTO filler VALUES (zeroblob(80000000))", "DROP TABLE filler"} {
		if _, err := file.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if size := s.store.LogSize(); size < 80_000_000 {
		t.Fatalf("the log has %d bytes: the test shows nothing", size)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.server.Run(ctx) }()
	eventually(t, "the log is emptied", func() bool { return s.store.LogSize() < 70_000_000 })
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
