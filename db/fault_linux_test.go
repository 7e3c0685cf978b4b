package db_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	sqlite3 "modernc.org/sqlite/lib"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

var faultEvery = flag.Int("fault.every", 101, "the distance of the points at which TestWrite_DiskFaults lets the disk fail; 1 is every point")

// faults are failures of a disk.
var faults = []struct {
	name string
	kind ioKind
	code int32
	most int // largest distance of two points; some kinds have few
}{
	{"full", ioWrite, sqlite3.SQLITE_FULL, 101},
	{"write", ioWrite, sqlite3.SQLITE_IOERR_WRITE, 101},
	{"sync", ioSync, sqlite3.SQLITE_IOERR_FSYNC, 4},
	{"read", ioRead, sqlite3.SQLITE_IOERR_READ, 40},
	{"truncate", ioTruncate, sqlite3.SQLITE_IOERR_TRUNCATE, 1},
}

// TestWrite_DiskFaults lets the disk fail at one point of the same work after the other,
// once or until it is repaired. A failure is reported as Unavailable, and what was
// acknowledged is stored. Afterwards the same store and a new one work.
func TestWrite_DiskFaults(t *testing.T) {
	t.Parallel()
	path := testdb.EmptyFile(t)
	store := open(t, path)
	testdb.Subscribe(t, path)
	for i := range 30 {
		if err := testdb.AddRisk(t.Context(), store, fmt.Sprintf("R-before-%d", i)); err != nil {
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
					t.Errorf("there is no point %d: nothing has failed", first)
				}
				t.Logf("from point %d to %d, every %d", first, n, every)
			})
		}
	}
}

// faultyWork works on a copy of a file. The nth operation of a kind fails. It reports
// whether the work came that far.
func faultyWork(t *testing.T, template []byte, kind ioKind, code int32, n int, lasting bool) (reached bool) {
	t.Helper()
	path := testkit.NewPath(t)
	if err := os.WriteFile(path, template, 0o600); err != nil {
		t.Fatal(err)
	}
	d := newDisk(t, filepath.Dir(path))
	store, err := db.Open(t.Context(), testdb.Options(path))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // closed below where the error matters
	org := testdb.DefaultOrg(t, store)
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
		version, _ := store.File.DataVersion() // 0 if the disk fails
		ctx, reads := store.File.Record(t.Context(), version)
		_, held := store.List(ctx, org, resource.Risk, db.ListQuery{Limit: 100})
		work(name, testdb.AddRisk(t.Context(), store, name))
		if version, _ = store.File.DataVersion(); held == nil && slices.Contains(acknowledged, name) && reads.Valid(version) {
			t.Errorf("point %d: a list without %s is still valid", n, name)
		}
	}
	var group sync.WaitGroup
	for i := range 4 { // which share transactions
		group.Go(func() {
			name := fmt.Sprintf("R-together-%d", i)
			work(name, testdb.AddRisk(context.Background(), store, name))
		})
	}
	group.Wait()
	for _, err := range []error{store.File.Checkpoint(t.Context()), listed(t, store, org)} {
		if err != nil && !db.Is(err, db.Unavailable) {
			t.Errorf("point %d: %v, want Unavailable", n, err)
		}
	}
	d.setFail(nil)
	work("R-repaired", testdb.AddRisk(t.Context(), store, "R-repaired"))
	if acknowledged[len(acknowledged)-1] != "R-repaired" {
		t.Errorf("point %d: it can't be written although the disk is repaired", n)
	}
	if err := listed(t, store, org); err != nil {
		t.Errorf("point %d: it can't be read although the disk is repaired: %v", n, err)
	}
	for _, wrong := range append(notWhole(t, store, path, acknowledged), storedThoughRefused(t, path, refused)...) {
		t.Errorf("point %d: %s", n, wrong)
	}
	if err := store.Close(); err != nil {
		t.Errorf("point %d: %v", n, err)
	}
	for _, wrong := range append(notWhole(t, open(t, path), path, acknowledged), storedThoughRefused(t, path, refused)...) {
		t.Errorf("point %d, opened anew: %s", n, wrong)
	}
	return reached
}

// storedThoughRefused lists the risks that are stored although their writers got
// Unavailable.
func storedThoughRefused(t *testing.T, path string, refused []string) (faults []string) {
	t.Helper()
	file := testkit.OpenSQL(t, path)
	defer file.Close() //nolint:errcheck // read only
	for _, name := range refused {
		var there bool
		err := file.QueryRowContext(t.Context(), "SELECT EXISTS (SELECT 1 FROM risks WHERE risk_id = ?)", name).Scan(&there)
		if err != nil || there {
			faults = append(faults, fmt.Sprintf("%s was refused and is stored: %v, %v", name, there, err))
		}
	}
	return faults
}

func listed(t *testing.T, store *db.DB, org db.Organisation) error {
	_, err := store.List(t.Context(), org, resource.Risk, db.ListQuery{Limit: 100})
	return err
}
