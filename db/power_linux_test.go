package db_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

var powerCuts = flag.Int("power.cuts", 4, "how many power cuts TestPowerCut makes")

// sector is the part of a write that a disk does completely or not at all.
const sector = 512

// image is the content of a disk after a power cut. Each file has what was synced. The
// sectors that were written later are complete, unchanged or damaged.
type image struct {
	random *rand.Rand
	synced map[string][]byte // nil: no such file
	since  map[string][]ioDone
}

// powerCut returns the image after the first n entries of a journal.
func powerCut(journal []ioDone, n int, random *rand.Rand, honest bool) map[string][]byte {
	m := image{random, map[string][]byte{}, map[string][]ioDone{}}
	for _, one := range journal[:n] {
		switch {
		case one.mark != "":
		case one.folder && honest:
			if one.kind == ioDelete {
				m.since[one.file] = append(m.since[one.file], one)
			}
			m.unlink()
			m.synced[one.file] = m.settle(one.file, func() fate { return kept })
		case one.kind == ioSync && honest:
			m.synced[one.file] = m.settle(one.file, func() fate { return kept })
		case one.kind == ioSync:
		default:
			m.since[one.file] = append(m.since[one.file], one)
		}
	}
	// A disk that writes in order loses an end, one that does not loses any
	// part: both are among the images.
	inOrder, left := random.IntN(3) == 0, 0
	for _, file := range slices.Sorted(maps.Keys(m.since)) {
		left += len(m.since[file])
	}
	left = random.IntN(left + 1)
	for _, file := range slices.Sorted(maps.Keys(m.since)) {
		m.synced[file] = m.settle(file, func() fate {
			if inOrder {
				left--
				if left >= 0 {
					return kept
				}
				return lost
			}
			return fate(random.IntN(3))
		})
	}
	return m.synced
}

// unlink does the deletions before a sync of the folder.
func (m *image) unlink() {
	for file, since := range m.since {
		for i, one := range slices.Backward(since) {
			if one.kind == ioDelete {
				m.synced[file], m.since[file] = nil, since[i+1:]
				break
			}
		}
	}
}

// fate is the state of a sector after a power cut.
type fate int

const (
	kept fate = iota
	lost
	trash
)

// settle repeats the operations on a file since its last sync, by the fate of each.
func (m *image) settle(file string, next func() fate) []byte {
	content := slices.Clone(m.synced[file])
	for _, one := range m.since[file] {
		switch one.kind {
		case ioDelete:
			if next() == kept {
				content = nil
			}
		case ioTruncate:
			if next() == kept {
				content = resized(content, one.at)
			}
		case ioWrite:
			content = m.write(content, one, next)
		default: // reads and syncs are not kept
		}
	}
	delete(m.since, file)
	return content
}

func (m *image) write(content []byte, one ioDone, next func() fate) []byte {
	for from := int64(0); from < int64(len(one.data)); {
		to := min(int64(len(one.data)), from+sector-(one.at+from)%sector)
		is := next()
		if end := one.at + to; is != lost && int64(len(content)) < end {
			content = resized(content, end)
		}
		switch is {
		case kept:
			copy(content[one.at+from:], one.data[from:to])
		case lost:
		case trash:
			for i := one.at + from; i < one.at+to; i++ {
				content[i] = byte(m.random.Uint32())
			}
		}
		from = to
	}
	return content
}

func resized(content []byte, size int64) []byte {
	if int64(len(content)) >= size {
		return content[:size]
	}
	return append(content, make([]byte, size-int64(len(content)))...)
}

// worked returns the journal of a file during writes and checkpoints. Marks show what
// was acknowledged.
func worked(t *testing.T) []ioDone {
	t.Helper()
	path := testdb.EmptyFile(t)
	d := diskWith(t, path)
	store := open(t, path)
	testdb.Subscribe(t, path)
	d.note("begun")
	var group sync.WaitGroup
	for writer := range 4 {
		group.Go(func() {
			for i := range 30 {
				name := fmt.Sprintf("R-%d-%02d", writer, i)
				if err := testdb.AddRisk(context.Background(), store, name); err != nil {
					t.Error(err)
				}
				d.note(name)
				if i%12 == 4+writer {
					if err := store.File.Checkpoint(context.Background()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	group.Wait()
	return d.journal
}

// diskWith returns the disk of a folder with a file that was synced long ago.
func diskWith(t *testing.T, path string) *disk {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d := newDisk(t, filepath.Dir(path))
	file := filepath.Base(path)
	d.journal = []ioDone{{kind: ioWrite, file: file, data: content}, {kind: ioSync, file: file}}
	return d
}

// TestPowerCut cuts the power at any moment of a file's use. The sectors written since the
// last sync are complete, unchanged or damaged. Everything that was acknowledged is
// stored, and the file can be used.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d, %d cuts (more with -power.cuts)", seed, *powerCuts)
	random := rand.New(rand.NewPCG(seed, 0))
	journal := worked(t)
	begun := slices.IndexFunc(journal, func(one ioDone) bool { return one.mark == "begun" })
	for cut := range *powerCuts {
		n := begun + 1 + random.IntN(len(journal)-begun)
		for _, fault := range afterCut(t, journal, n, random, true) {
			t.Errorf("cut %d, at %d of %d: %s", cut, n, len(journal), fault)
		}
	}
}

// TestPowerCut_Detects proves that the checks of TestPowerCut work: they detect a disk that
// reports a sync that it has not done.
func TestPowerCut_Detects(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	journal := worked(t)
	for range 10 {
		if len(afterCut(t, journal, len(journal), random, false)) > 0 {
			return
		}
	}
	t.Error("the syncs were ignored, and nothing was lost")
}

// afterCut opens the files that a power cut leaves, and lists their faults.
func afterCut(t *testing.T, journal []ioDone, n int, random *rand.Rand, honest bool) (faults []string) {
	t.Helper()
	path := testkit.NewPath(t)
	for file, content := range powerCut(journal, n, random, honest) {
		if content != nil {
			if err := os.WriteFile(filepath.Join(filepath.Dir(path), file), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	existing := testdb.Options(path)
	existing.MustExist = true
	store, err := db.Open(t.Context(), existing)
	if err != nil {
		return []string{err.Error()}
	}
	defer store.Close() //nolint:errcheck // it was only read
	var acknowledged []string
	for _, one := range journal[:n] {
		if one.mark != "" && one.mark != "begun" {
			acknowledged = append(acknowledged, one.mark)
		}
	}
	faults = notWhole(t, store, path, acknowledged)
	if err := testdb.AddRisk(t.Context(), store, "afterwards"); err != nil {
		faults = append(faults, "a write afterwards: "+err.Error())
	}
	return append(faults, notWhole(t, store, path, append(acknowledged, "afterwards"))...)
}

// notWhole lists the faults of a file. Each acknowledged risk must be stored. Each stored
// risk must have its audit event and its outbox event. The file and its audit log must be
// intact.
func notWhole(t *testing.T, store *db.DB, path string, acknowledged []string) (faults []string) {
	t.Helper()
	file := testkit.OpenSQL(t, path)
	defer file.Close() //nolint:errcheck // read only
	list := func(query string) []string {
		var all []string
		rows, err := file.QueryContext(t.Context(), query)
		if err != nil {
			faults = append(faults, err.Error())
			return nil
		}
		defer rows.Close()
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				t.Fatal(err)
			}
			all = append(all, name)
		}
		if err := rows.Err(); err != nil {
			faults = append(faults, err.Error())
		}
		slices.Sort(all)
		return all
	}
	stored := list("SELECT risk_id FROM risks")
	for _, name := range acknowledged {
		if _, ok := slices.BinarySearch(stored, name); !ok {
			faults = append(faults, name+" was acknowledged and is gone")
		}
	}
	for what, query := range map[string]string{
		"audit events": "SELECT substr(action, 6) FROM audit_events WHERE action LIKE 'risk R-%' OR action = 'risk afterwards'",
		"events":       "SELECT body ->> '$.data.risk.risk_id' FROM events WHERE type = 'risk.created'",
		"deliveries":   "SELECT e.body ->> '$.data.risk.risk_id' FROM unexpanded_deliveries d JOIN events e ON e.seq = d.event_seq",
	} {
		if got := list(query); !slices.Equal(got, stored) {
			faults = append(faults, fmt.Sprintf("%d risks and %d %s", len(stored), len(got), what))
		}
	}
	if got := list("PRAGMA integrity_check"); len(got) != 1 || got[0] != "ok" {
		faults = append(faults, fmt.Sprint("integrity: ", got))
	}
	if _, broken, err := store.Audit.Verify(t.Context(), testdb.DefaultOrg(t, store).Org); err != nil || broken != nil {
		faults = append(faults, fmt.Sprint("audit log: ", broken, err))
	}
	return faults
}
