package db_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/internal/testkit"
)

var faultEvery = flag.Int("fault.every", 61, "of how many points TestDiskFaults lets one fail; 1 is all of them")

// faults are what a disk may answer.
var faults = []struct {
	name string
	kind ioKind
	code int32
	most int // points from one to the next: there are few of some kinds
}{
	{"full", ioWrite, sqlite3.SQLITE_FULL, 61},
	{"write", ioWrite, sqlite3.SQLITE_IOERR_WRITE, 61},
	{"sync", ioSync, sqlite3.SQLITE_IOERR_FSYNC, 4},
	{"read", ioRead, sqlite3.SQLITE_IOERR_READ, 30},
	{"truncate", ioTruncate, sqlite3.SQLITE_IOERR_TRUNCATE, 1},
}

// TestDiskFaults lets the disk fail at one point after the other of a stretch of
// work, once or until it is mended: what fails is told as Unavailable, what was
// acknowledged stays, and after it all goes on, with the same handle and with a
// new one.
func TestDiskFaults(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	store := handle(t, path, time.Minute)
	subscribe(t, path)
	for i := range 30 {
		if err := addRisk(t.Context(), store, operator(t, store), fmt.Sprintf("R-before-%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	template, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		for _, lasting := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, lasting %v", fault.name, lasting), func(t *testing.T) {
				t.Parallel()
				every := min(*faultEvery, fault.most)
				first := 1 + rand.IntN(every)
				n := first
				for faultyWork(t, template, fault.kind, fault.code, n, lasting) && !t.Failed() {
					n += every
				}
				if n == first && !t.Failed() {
					t.Errorf("there is no point %d: nothing has failed, and nothing was shown", first)
				}
				t.Logf("from point %d to %d, every %d", first, n, every)
			})
		}
	}
}

// faultyWork works on a copy of a file, of which the nth thing of a kind fails,
// and tells whether it came that far.
func faultyWork(t *testing.T, template []byte, kind ioKind, code int32, n int, lasting bool) (reached bool) {
	t.Helper()
	path := newPath(t)
	if err := os.WriteFile(path, template, 0o600); err != nil {
		t.Fatal(err)
	}
	d := newDisk(t, filepath.Dir(path))
	store, err := db.Open(t.Context(), db.Options{Path: path, Now: func() time.Time { return at }})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // closed below where that says something
	by, org := operator(t, store), defaultOrg(t, store)
	count := 0
	d.setFail(func(k ioKind, _ string) int32 {
		if k != kind {
			return 0
		}
		if count++; count == n || lasting && count > n {
			reached = true
			return code
		}
		return 0
	})
	var mutex sync.Mutex
	var acknowledged, refused []string
	work := func(about string, err error) {
		mutex.Lock()
		defer mutex.Unlock()
		switch {
		case err == nil:
			acknowledged = append(acknowledged, about)
		case db.Is(err, db.Unavailable):
			refused = append(refused, about)
		default:
			t.Errorf("point %d: %s: %v, want Unavailable", n, about, err)
		}
	}
	for i := range 6 {
		name := fmt.Sprintf("R-%d", i)
		work(name, addRisk(t.Context(), store, by, name))
	}
	var group sync.WaitGroup
	for i := range 4 { // which share transactions
		group.Go(func() {
			name := fmt.Sprintf("R-together-%d", i)
			work(name, addRisk(context.Background(), store, by, name))
		})
	}
	group.Wait()
	for _, err := range []error{store.Checkpoint(t.Context()), listed(t, store, org)} {
		if err != nil && !db.Is(err, db.Unavailable) {
			t.Errorf("point %d: %v, want Unavailable", n, err)
		}
	}
	d.setFail(nil)
	work("R-mended", addRisk(t.Context(), store, by, "R-mended"))
	if acknowledged[len(acknowledged)-1] != "R-mended" {
		t.Errorf("point %d: it can't be written although the disk is mended", n)
	}
	if err := listed(t, store, org); err != nil {
		t.Errorf("point %d: it can't be read although the disk is mended: %v", n, err)
	}
	for _, wrong := range append(notWhole(t, store, path, acknowledged), thereAfterAll(t, path, refused)...) {
		t.Errorf("point %d: %s", n, wrong)
	}
	if err := store.Close(); err != nil {
		t.Errorf("point %d: %v", n, err)
	}
	for _, wrong := range append(notWhole(t, handle(t, path, time.Minute), path, acknowledged), thereAfterAll(t, path, refused)...) {
		t.Errorf("point %d, opened anew: %s", n, wrong)
	}
	return reached
}

// thereAfterAll says which risks are stored although their writers were told
// that nothing was done.
func thereAfterAll(t *testing.T, path string, refused []string) (faults []string) {
	t.Helper()
	file := testkit.OpenSQL(t, path)
	defer file.Close() //nolint:errcheck // read only
	for _, name := range refused {
		var there bool
		err := file.QueryRowContext(t.Context(), "SELECT EXISTS (SELECT 1 FROM risks WHERE risk_id = ?)", name).Scan(&there)
		if err != nil || there {
			faults = append(faults, fmt.Sprintf("%s was refused and is there: %v, %v", name, there, err))
		}
	}
	return faults
}

func listed(t *testing.T, store *db.DB, org db.Organisation) error {
	_, err := store.List(t.Context(), org, resource.Risk, db.ListQuery{Limit: 100})
	return err
}
