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
)

// linked is a symbolic link to a file, in a folder of its own.
func linked(t *testing.T, to string) string {
	t.Helper()
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(to, link); err != nil {
		t.Fatal(err)
	}
	return link
}

// TestLinkedFile: through a symbolic link, too, the log beside the file is seen,
// spared by a backup, and part of what is restored.
func TestLinkedFile(t *testing.T) {
	t.Parallel()
	path, _ := backedUp(t)
	link := linked(t, path)
	store := open(t, link)
	if err := addRisk(t.Context(), store, "after the backup"); err != nil {
		t.Fatal(err)
	}
	if store.Path() != path || store.LogSize() == 0 {
		t.Errorf("opened %s with a log of %d bytes", store.Path(), store.LogSize())
	}
	if _, err := backup.New(store).Make(t.Context(), path+"-wal", true); err == nil || !strings.Contains(err.Error(), "is the data file in use") {
		t.Errorf("a backup in the place of the log: %v", err)
	}
	copied := newPath(t)
	if _, err := backup.Restore(t.Context(), link, options(copied), db.Actor{}, false); err != nil {
		t.Fatal(err)
	}
	if got := risks(t, copied); got["after the backup"] != 1 {
		t.Errorf("restored through the link: %v", got)
	}
}

// TestRestoreOverLink replaces the file that a link leads to, and the link
// stays.
func TestRestoreOverLink(t *testing.T) {
	t.Parallel()
	path, saved := backedUp(t)
	addRiskAndKill(t, path)
	link := linked(t, path)
	done, err := backup.Restore(t.Context(), saved, options(link), db.Actor{}, true)
	if err != nil || done.Path != path || done.Kept != path+".before-restore-20261001T120000Z" {
		t.Errorf("%+v, %v", done, err)
	}
	if got := risks(t, path); len(got) != 1 {
		t.Errorf("restored: %v", got)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 || len(testkit.FileNames(t, filepath.Dir(link))) != 1 {
		t.Errorf("beside the link: %v, %v", testkit.FileNames(t, filepath.Dir(link)), err)
	}
}

// TestNoOrdinaryFile: what is no file, or a link to none, is refused at once,
// wherever a file is wanted; a pipe would be waited for.
func TestNoOrdinaryFile(t *testing.T) {
	t.Parallel()
	path, saved := backedUp(t)
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	nowhere := linked(t, filepath.Join(t.TempDir(), "gone.db"))
	for given, want := range map[string]string{
		pipe: "is no ordinary file; give another path", t.TempDir(): "is a folder, not a data file; give another path", nowhere: "is a link to what is not there",
	} {
		for name, use := range map[string]func() error{
			"open": func() error { _, err := db.Open(t.Context(), db.Options{Path: given}); return err },
			"read": func() error { _, err := db.OpenToRead(t.Context(), given); return err },
			"restore": func() error {
				_, err := backup.Restore(t.Context(), given, options(path), db.Actor{}, true)
				return err
			},
			"restore over": func() error {
				_, err := backup.Restore(t.Context(), saved, options(given), db.Actor{}, true)
				return err
			},
		} {
			if err := use(); err == nil || !strings.Contains(err.Error(), given) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %s: %v, want %q", name, given, err, want)
			}
		}
	}
}
