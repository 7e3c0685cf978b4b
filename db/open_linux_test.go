package db_test

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// TestOpen_Interrupted kills a process, or cuts the power, at any moment of a migration or
// of the creation of a file over an empty one. The next process opens an intact file.
func TestOpen_Interrupted(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d, %d cuts (more with -power.cuts)", seed, *powerCuts)
	random := rand.New(rand.NewPCG(seed, 0))
	for name, row := range map[string]struct {
		before func(t *testing.T, path string)
		cut    func(journal []ioDone, n int) map[string][]byte
		risks  bool
	}{
		"older, power cut": {unpackOlderFile, func(journal []ioDone, n int) map[string][]byte { return powerCut(journal, n, random, true) }, true},
		"older, killed":    {unpackOlderFile, killed, true},
		"empty, killed":    {func(t *testing.T, path string) { t.Helper(); testkit.WriteFile(t, path, "") }, killed, false},
	} {
		path := testkit.NewPath(t)
		row.before(t, path)
		d := diskWith(t, path)
		begun := len(d.journal)
		if err := open(t, path).Close(); err != nil {
			t.Fatal(err)
		}
		for range *powerCuts {
			n := begun + random.IntN(len(d.journal)-begun+1)
			left := testkit.NewPath(t)
			for file, content := range row.cut(d.journal, n) {
				if content != nil {
					testkit.WriteFile(t, filepath.Join(filepath.Dir(left), file), string(content))
				}
			}
			store, err := db.Open(t.Context(), testdb.Options(left))
			if err != nil {
				t.Errorf("%s, at %d of %d: %v", name, n, len(d.journal), err)
				continue
			}
			_ = store.Close()
			checkFile(t, left)
			if row.risks && len(testdb.Risks(t, left)) < 10 {
				t.Errorf("%s, at %d of %d: risks are lost", name, n, len(d.journal))
			}
		}
	}
}

// killed returns what a process leaves that is killed after the first n entries of a
// journal: everything that it has passed to the system.
func killed(journal []ioDone, n int) map[string][]byte {
	m := image{nil, map[string][]byte{}, map[string][]ioDone{}}
	for _, one := range journal[:n] {
		if one.mark == "" && one.kind != ioSync {
			m.since[one.file] = append(m.since[one.file], one)
		}
	}
	for file := range m.since {
		m.synced[file] = m.settle(file, func() fate { return kept })
	}
	return m.synced
}
