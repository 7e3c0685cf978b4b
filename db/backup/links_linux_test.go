package backup_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"govsvc/db"
	"govsvc/db/backup"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// linked returns a symbolic link to a file, in another folder.
func linked(t *testing.T, to string) string {
	t.Helper()
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(to, link); err != nil {
		t.Fatal(err)
	}
	return link
}

// TestLink opens, copies and restores a file through a symbolic link. The log beside the
// file belongs to it.
func TestLink(t *testing.T) {
	t.Parallel()
	path, _ := backedUp(t)
	link := linked(t, path)
	store := open(t, link)
	if err := testdb.AddRisk(t.Context(), store, "after the backup"); err != nil {
		t.Fatal(err)
	}
	if store.File.Path() != path || store.File.LogSize() == 0 {
		t.Errorf("opened %s with a log of %d bytes", store.File.Path(), store.File.LogSize())
	}
	if _, err := backup.New(store).Make(t.Context(), path+"-wal", true); err == nil || !strings.Contains(err.Error(), "is the data file in use") {
		t.Errorf("a backup to the path of the log: %v", err)
	}
	copied := testkit.NewPath(t)
	if _, err := restore(t, link, copied, false); err != nil {
		t.Fatal(err)
	}
	if got := testdb.Risks(t, copied); got["after the backup"] != 1 {
		t.Errorf("restored through the link: %v", got)
	}
}

// TestRestore_Link replaces the target of a link, and keeps the link.
func TestRestore_Link(t *testing.T) {
	t.Parallel()
	path, saved := backedUp(t)
	addRiskAndKill(t, path)
	link := linked(t, path)
	done, err := restore(t, saved, link, true)
	if err != nil || done.Path != path || done.Kept != path+".before-restore-20261001T120000Z" {
		t.Errorf("%+v, %v", done, err)
	}
	if got := testdb.Risks(t, path); len(got) != 1 {
		t.Errorf("restored: %v", got)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 || len(testkit.FileNames(t, filepath.Dir(link))) != 1 {
		t.Errorf("beside the link: %v, %v", testkit.FileNames(t, filepath.Dir(link)), err)
	}
}

// TestNotRegular refuses a pipe, a folder and a link without a target immediately.
// Opening a pipe would wait for a writer.
func TestNotRegular(t *testing.T) {
	t.Parallel()
	path, saved := backedUp(t)
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	nowhere := linked(t, filepath.Join(t.TempDir(), "gone.db"))
	for given, want := range map[string]string{
		pipe: "is not a regular file; give another path", t.TempDir(): "is a folder, not a data file; give another path", nowhere: "is a link to a file that does not exist",
	} {
		for name, use := range map[string]func() error{
			"open":         func() error { _, err := db.Open(t.Context(), db.Options{Path: given}); return err },
			"read":         func() error { _, err := db.OpenToRead(t.Context(), given); return err },
			"restore":      func() error { _, err := restore(t, given, path, true); return err },
			"restore over": func() error { _, err := restore(t, saved, given, true); return err },
		} {
			if err := use(); err == nil || !strings.Contains(err.Error(), given) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %s: %v, want %q", name, given, err, want)
			}
		}
	}
}
