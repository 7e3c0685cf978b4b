package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// partialMark is part of the temporary name of a file that is not complete.
const partialMark = ".partial-"

// staleAfter is how long a partial file must be unchanged to count as abandoned
// by a process that was killed.
const staleAfter = time.Hour

// suffixes are those of a database file and of the files that SQLite keeps
// beside it.
var suffixes = []string{"", "-wal", "-shm", "-journal"}

// WithPartial calls build with an empty file of a temporary name, in the folder of
// the path that build is to Publish it under. A partial file that was not
// published is removed.
func WithPartial(path string, build func(partial string) error) error {
	folder, base := filepath.Split(path)
	RemoveStalePartials(folder, "."+base+partialMark)
	file, err := CreatePartial(path)
	if err != nil {
		return err
	}
	partial := file.Name()
	if err = file.Close(); err == nil {
		err = build(partial)
	}
	for _, suffix := range suffixes {
		_ = os.Remove(partial + suffix) // does not exist after Publish
	}
	return err
}

// CreatePartial creates an empty file of a temporary name, which only its owner
// can read and write.
func CreatePartial(path string) (*os.File, error) {
	folder, base := filepath.Split(path)
	file, err := os.CreateTemp(folder, "."+base+partialMark+"*") // mode 0600
	var cause *fs.PathError
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("the folder %s does not exist; create it, or name another folder", filepath.Dir(path))
	} else if errors.As(err, &cause) { // without the temporary name
		err = fmt.Errorf("can't create a file in the folder %s: %w; fix that, or name another folder", filepath.Dir(path), cause.Err)
	}
	return file, err
}

// RemoveStalePartials removes the abandoned partial files whose names start with
// the prefix.
func RemoveStalePartials(folder, prefix string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return // creating a file there reports it
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), prefix) || !strings.Contains(entry.Name(), partialMark) {
			continue
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > staleAfter {
			_ = os.Remove(filepath.Join(folder, entry.Name())) // the next call tries again
		}
	}
}

// ErrExists is returned by Publish if a file has the name.
var ErrExists = errors.New("already exists; name another file, or replace it with --force")

// Exists returns ErrExists with the path of the file.
func Exists(path string) error { return fmt.Errorf("%s %w", path, ErrExists) }

// Publish syncs a complete file and gives it its name. Without replace, it keeps a
// file that has the name, and returns ErrExists.
func Publish(partial, path string, replace bool) error {
	if err := SyncFile(partial); err != nil {
		return err
	}
	if !replace {
		switch err := os.Link(partial, path); {
		case errors.Is(err, fs.ErrExist):
			return Exists(path)
		case err == nil:
			return SyncFolder(filepath.Dir(path))
		}
		// a file system without links
		if _, err := os.Lstat(path); err == nil {
			return Exists(path)
		}
	}
	if err := os.Rename(partial, path); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// UnusedPath returns the path or, if a file has it, the path with the lowest number
// that no file has.
func UnusedPath(path string) string {
	free := path
	for n := 2; ; n++ {
		if _, err := os.Lstat(free); errors.Is(err, fs.ErrNotExist) {
			return free
		}
		free = fmt.Sprintf("%s-%d", path, n)
	}
}

// SyncFile waits until the content of a file is on disk.
func SyncFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// SyncFolder waits until the names in a folder are on disk. Windows has no such
// call.
func SyncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
