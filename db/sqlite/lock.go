package sqlite

import (
	"context"
	"os"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

// lockWait bounds how long Lock waits for a statement of another process.
const lockWait = 500 * time.Millisecond

// Lock makes sure that no process has a file open, nor can open it until release
// is called. It moves the log beside the file into the file. A file that is too
// damaged for that is left as it is, without a lock. ErrInUse reports that
// another process has the file open.
func Lock(ctx context.Context, path string) (release func(), err error) {
	none := func() {}
	c, err := closed(Options{Path: path, Wait: lockWait}).connect(ctx, "rw")
	if err == nil {
		release = func() { _ = c.close() } // it has nothing to write
		for _, statement := range []string{
			"PRAGMA locking_mode = EXCLUSIVE",
			"PRAGMA journal_mode = DELETE", // SQLite allows it to the only user of the file
			"BEGIN EXCLUSIVE", "COMMIT",
		} {
			if err = c.runOnce(ctx, statement); err != nil {
				release()
				break
			}
		}
	}
	switch primaryCode(err) {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return none, ErrInUse
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN:
		if isLocked(path) {
			return none, ErrInUse
		}
		return none, nil
	}
	if err != nil {
		return none, err
	}
	_ = os.Remove(path + "-journal") // SQLite keeps it as long as it has an exclusive lock
	return release, nil
}
