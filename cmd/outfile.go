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

// checkOutput refuses what a flag must not name as the file to write: a folder, and
// the data file, all of which would be lost. Where nothing is there yet, info
// is nil.
func checkOutput(store *db.DB, flag, path string) (info fs.FileInfo, err error) {
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
	info, err := checkOutput(store, "--out", path)
	switch {
	case err != nil:
		return err
	case info != nil && !info.Mode().IsRegular():
		return writeExisting(path, write) // a device or a pipe, which must stay one
	}
	return replaceFile("--out", path, write)
}

// replaceFile writes a file beside the one that is named and then gives it that
// name, so that no half of it ever stands there.
func replaceFile(flag, path string, write func(io.Writer) error) error {
	if target, err := filepath.EvalSymlinks(path); err == nil { // a link stays
		path = target
	}
	file, err := createTemp(flag, path)
	if err != nil {
		return err
	}
	err = write(namedWriter{file, path})
	if err == nil {
		err = withPath(path, file.Sync())
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // err is what the user must hear of
	}
	return err
}

// createTemp makes the file that is to get the name once it is whole.
func createTemp(flag, path string) (*os.File, error) {
	folder := filepath.Dir(path)
	file, err := os.CreateTemp(folder, "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return nil, fmt.Errorf("%s: no file can be made in the folder: %w", flag, withPath(folder, err))
	}
	return file, nil
}

func writeExisting(path string, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return errors.Join(write(file), file.Close())
}

// namedWriter is a file whose errors tell the name that it is to get.
type namedWriter struct {
	file *os.File
	path string
}

func (n namedWriter) Write(p []byte) (int, error) {
	written, err := n.file.Write(p)
	return written, withPath(n.path, err)
}

// withPath puts a path that the user knows in the place of a temporary one.
func withPath(path string, err error) error {
	var fault *fs.PathError
	if errors.As(err, &fault) {
		return &fs.PathError{Op: fault.Op, Path: path, Err: fault.Err}
	}
	return err
}
