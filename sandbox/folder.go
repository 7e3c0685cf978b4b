package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// Folder is a temporary folder of this process. The process has a lock on a file in
// it, which the system releases when the process ends.
type Folder struct {
	Path string
	lock *os.File
}

// folderPrefix starts the names of the folders; os.MkdirTemp adds a number.
const folderPrefix = "govsvc-sandbox-"

// leftover is the form of their names, of this version and of older ones.
var leftover = regexp.MustCompile(`^` + folderPrefix + `(key-)?[0-9]{1,20}$`)

// lockName is the locked file in a folder.
const lockName = "lock"

// NewFolder makes a folder. Remove removes it, or RemoveLeftovers of another process
// if this one is killed.
func NewFolder() (*Folder, error) {
	for {
		path, err := os.MkdirTemp("", folderPrefix)
		if err != nil {
			return nil, fmt.Errorf("a folder for the sandbox: %w", err)
		}
		lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // in a folder of ours
		switch {
		case errors.Is(err, os.ErrNotExist): // RemoveLeftovers of another process has removed it
			continue
		case err != nil:
			return nil, errors.Join(err, os.RemoveAll(path))
		}
		f := &Folder{path, lock}
		if lockFile(lock) && f.exists() {
			return f, nil
		}
		if err := f.Remove(); err != nil {
			return nil, err
		}
	}
}

// exists reports whether the locked file is still in the folder.
func (f *Folder) exists() bool {
	held, err := f.lock.Stat()
	if err != nil {
		return false
	}
	found, err := os.Lstat(f.lock.Name())
	return err == nil && os.SameFile(held, found)
}

// Remove removes the folder with its files, and releases the lock.
func (f *Folder) Remove() error {
	// Windows does not remove open files
	return errors.Join(f.lock.Close(), os.RemoveAll(f.Path))
}

// abandonedAfter is the age at which an empty folder without a lock is abandoned:
// its process was killed before it made the lock.
const abandonedAfter = time.Hour

// RemoveLeftovers removes the temporary folders of sandboxes whose processes ended
// without removing them. It only removes folders of this user with the names and
// locks of NewFolder, and follows no symbolic links. It ignores errors.
func RemoveLeftovers() {
	temporary, err := os.OpenRoot(os.TempDir())
	if err != nil {
		return
	}
	defer temporary.Close() //nolint:errcheck // nothing was written
	folder, err := temporary.Open(".")
	if err != nil {
		return
	}
	defer folder.Close() //nolint:errcheck // it was read
	names, _ := folder.Readdirnames(-1)
	for _, name := range names {
		if leftover.MatchString(name) {
			removeLeftover(temporary, name)
		}
	}
}

func removeLeftover(temporary *os.Root, name string) {
	named, err := temporary.Lstat(name)
	if err != nil || !named.IsDir() || !ownedByUser(named) {
		return
	}
	folder, err := temporary.OpenRoot(name)
	if err != nil {
		return
	}
	defer folder.Close() //nolint:errcheck // nothing was written
	if opened, err := folder.Stat("."); err != nil || !os.SameFile(named, opened) {
		return
	}
	held, err := folder.Lstat(lockName)
	if errors.Is(err, os.ErrNotExist) {
		if time.Since(named.ModTime()) > abandonedAfter {
			_ = temporary.Remove(name) // only if it is empty: older versions had no lock
		}
		return
	}
	if err != nil || !held.Mode().IsRegular() {
		return
	}
	lock, err := folder.OpenFile(lockName, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer lock.Close() //nolint:errcheck // nothing was written
	if opened, err := lock.Stat(); err == nil && os.SameFile(held, opened) && lockFile(lock) {
		_ = temporary.RemoveAll(name)
	}
}
