package server_test

import (
	"context"
	"os"
	"testing"

	"govsvc/internal/testkit"
)

// TestCheckpoint_EmptiesLargeLog checks that the server empties a large write-ahead log
// while it has the file open. Overlapping reads can make the log large.
func TestCheckpoint_EmptiesLargeLog(t *testing.T) {
	t.Parallel()
	s := serve(t)
	if err := os.Truncate(s.store.File.Path()+"-wal", 80_000_000); err != nil { // SQLite ignores the appended bytes
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.server.Run(ctx) }()
	testkit.Eventually(t, func() bool { return s.store.File.LogSize() == 0 }, "the log is emptied")
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
