package db

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

// partialMark is in the passing names of files that are being made.
const partialMark = ".partial-"

// staleAfter is how long nobody writes to such a file before it counts as left
// by a process that was killed.
const staleAfter = time.Hour

// viaPartial has a file made under a passing name, in the folder of the path
// that it is to get. What fails leaves nothing behind; what a killed process
// left is removed later.
func viaPartial(path string, build func(partial string) error) error {
	folder, base := filepath.Split(path)
	sweepPartials(folder, "."+base+partialMark)
	file, err := begin(path)
	if err != nil {
		return err
	}
	partial := file.Name()
	if err = file.Close(); err == nil {
		err = build(partial)
	}
	for _, end := range besides {
		_ = os.Remove(partial + end) // gone already, if all went well
	}
	return err
}

// begin makes an empty file, its owner's alone, under a passing name.
func begin(path string) (*os.File, error) {
	folder, base := filepath.Split(path)
	file, err := os.CreateTemp(folder, "."+base+partialMark+"*") // mode 0600
	var cause *fs.PathError
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("there is no folder %s; make it, or name another folder", filepath.Dir(path))
	} else if errors.As(err, &cause) { // whose path says nothing to anybody
		err = fmt.Errorf("no file can be made in the folder %s: %w; name another folder, or mend that", filepath.Dir(path), cause.Err)
	}
	return file, err
}

// besides are the ends of the names of a data file and of what SQLite keeps
// beside it.
var besides = []string{"", "-wal", "-shm", "-journal"}

// sweepPartials removes files under passing names that start so and that nobody
// writes to any more.
func sweepPartials(folder, prefix string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return // whoever makes a file there will say so
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), prefix) || !strings.Contains(entry.Name(), partialMark) {
			continue
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > staleAfter {
			_ = os.Remove(filepath.Join(folder, entry.Name())) // the next one tries again
		}
	}
}

// name gives a finished file its name, once it is on disk. Without replace, a
// file that has come by the name meanwhile stays.
func name(partial, path string, replace bool) error {
	if err := syncFile(partial); err != nil {
		return err
	}
	if !replace {
		switch err := os.Link(partial, path); {
		case errors.Is(err, fs.ErrExist):
			return taken(path)
		case err == nil:
			return syncFolder(filepath.Dir(path))
		}
		// a file system without links
		if _, err := os.Lstat(path); err == nil {
			return taken(path)
		}
	}
	if err := os.Rename(partial, path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

func syncFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// syncFolder makes the names in a folder last. Windows has no such call.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
