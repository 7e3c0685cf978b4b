//go:build unix

package sandbox_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"govsvc/internal/testkit"
	"govsvc/sandbox"
)

// TestRemoveLeftovers checks that folders whose lock no process holds are removed, and
// nothing else. It is not parallel, because it sets TMPDIR.
func TestRemoveLeftovers(t *testing.T) {
	tmp, elsewhere := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", tmp)
	live, err := sandbox.NewFolder()
	if err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-2 * time.Hour)
	folder := func(path string, files ...string) string {
		t.Helper()
		err := os.MkdirAll(path, 0o700)
		for _, file := range files {
			if err == nil {
				err = os.WriteFile(filepath.Join(path, file), []byte("x"), 0o600)
			}
		}
		if err == nil {
			err = os.Chtimes(path, long, long)
		}
		if err != nil {
			t.Fatal(err)
		}
		return filepath.Base(path)
	}
	link := func(to, name string) string {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(tmp, name)); err != nil {
			t.Fatal(err)
		}
		return name
	}
	folder(filepath.Join(tmp, "govsvc-sandbox-1"), "lock", "sandbox.db", "sandbox.db-wal")
	folder(filepath.Join(tmp, "govsvc-sandbox-key-2"), "lock", "govsvc.db")
	folder(filepath.Join(tmp, "govsvc-sandbox-3")) // killed before it made the lock
	folder(filepath.Join(elsewhere, "target"), "lock", "data")
	folder(filepath.Join(tmp, "govsvc-sandbox-4"), "data") // of an older version, which may run
	linked := folder(filepath.Join(tmp, "govsvc-sandbox-5"), "data")
	if err := os.Symlink(filepath.Join(elsewhere, "target", "lock"), filepath.Join(tmp, linked, "lock")); err != nil {
		t.Fatal(err)
	}
	stay := []string{
		filepath.Base(live.Path), "govsvc-sandbox-4", linked,
		link(filepath.Join(elsewhere, "target"), "govsvc-sandbox-6"),
		folder(filepath.Join(tmp, "govsvc-sandbox-"), "lock"), folder(filepath.Join(tmp, "govsvc-sandbox-7x"), "lock"),
		folder(filepath.Join(tmp, "other-8"), "lock"),
	}
	if err := os.WriteFile(filepath.Join(tmp, "govsvc-sandbox-9"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stay = append(stay, "govsvc-sandbox-9")
	sandbox.RemoveLeftovers()
	slices.Sort(stay)
	if left := testkit.FileNames(t, tmp); !slices.Equal(left, stay) {
		t.Errorf("got %v, want %v", left, stay)
	}
	if left := testkit.FileNames(t, filepath.Join(elsewhere, "target")); len(left) != 2 {
		t.Errorf("got %v in the target of a link, want 2 files", left)
	}
	if err := live.Remove(); err != nil {
		t.Fatal(err)
	}
	if slices.Contains(testkit.FileNames(t, tmp), filepath.Base(live.Path)) {
		t.Error("got the folder after Remove")
	}
}
