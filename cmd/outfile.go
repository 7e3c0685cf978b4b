package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"govsvc/db"
)

// mayWrite refuses what a flag must not name as the file to write: a folder, and
// the data file, all of which would be lost. Where nothing is there yet, info
// is nil.
func mayWrite(store *db.DB, flag, path string) (info fs.FileInfo, err error) {
	info, err = os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", flag, err)
	case info.IsDir():
		return nil, fmt.Errorf("%s: %s is a folder; name a file in it", flag, path)
	case store.Owns(info):
		return nil, fmt.Errorf("%s: %s is the data file in use; name another one", flag, path)
	}
	return info, nil
}

// writeFile writes the file that --out names: complete, or not at all.
func writeFile(store *db.DB, path string, write func(io.Writer) error) error {
	info, err := mayWrite(store, "--out", path)
	switch {
	case err != nil:
		return err
	case info != nil && !info.Mode().IsRegular():
		return writeInto(path, write) // a device or a pipe, which must stay one
	}
	return replace("--out", path, write)
}

// replace writes a file beside the one that is named and then gives it that
// name, so that no half of it ever stands there.
func replace(flag, path string, write func(io.Writer) error) error {
	if target, err := filepath.EvalSymlinks(path); err == nil { // a link stays
		path = target
	}
	file, err := temporary(flag, path)
	if err != nil {
		return err
	}
	err = write(named{file, path})
	if err == nil {
		err = ofFile(path, file.Sync())
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // err is what the user must hear of
	}
	return err
}

// temporary makes the file that is to get the name once it is whole.
func temporary(flag, path string) (*os.File, error) {
	folder := filepath.Dir(path)
	file, err := os.CreateTemp(folder, "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return nil, fmt.Errorf("%s: no file can be made in the folder: %w", flag, ofFile(folder, err))
	}
	return file, nil
}

func writeInto(path string, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return errors.Join(write(file), file.Close())
}

// named is a file whose errors tell the name that it is to get.
type named struct {
	file *os.File
	path string
}

func (n named) Write(p []byte) (int, error) {
	written, err := n.file.Write(p)
	return written, ofFile(n.path, err)
}

// ofFile puts a path that the user knows in the place of a temporary one.
func ofFile(path string, err error) error {
	var fault *fs.PathError
	if errors.As(err, &fault) {
		return &fs.PathError{Op: fault.Op, Path: path, Err: fault.Err}
	}
	return err
}
