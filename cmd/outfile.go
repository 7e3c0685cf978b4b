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

// checkOutput refuses a folder and the data file as the file that a flag names. info
// is nil if no such file exists.
func checkOutput(store *db.DB, flag, path string) (info fs.FileInfo, err error) {
	info, err = os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", flag, err)
	case info.IsDir():
		return nil, fmt.Errorf("%s: %s is a folder; name a file in it", flag, path)
	case store.File.Owns(info):
		return nil, fmt.Errorf("%s: %s is the data file in use; name another file", flag, path)
	}
	return info, nil
}

// writeFile writes the file that --out names. The file gets its name when it is
// complete.
func writeFile(store *db.DB, path string, write func(io.Writer) error) error {
	info, err := checkOutput(store, "--out", path)
	switch {
	case err != nil:
		return err
	case info != nil && !info.Mode().IsRegular():
		return writeExisting(path, write) // a device or a pipe can't be replaced
	}
	return replaceFile("--out", path, write)
}

// replaceFile writes a temporary file in the same folder and then renames it, so that
// no incomplete file ever has the name.
func replaceFile(flag, path string, write func(io.Writer) error) error {
	if target, err := filepath.EvalSymlinks(path); err == nil { // the target of a link is replaced, not the link
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
		_ = os.Remove(file.Name()) // err is the error to report
	}
	return err
}

// createTemp makes the temporary file.
func createTemp(flag, path string) (*os.File, error) {
	folder := filepath.Dir(path)
	file, err := os.CreateTemp(folder, "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return nil, fmt.Errorf("%s: can't make a file in the folder: %w", flag, withPath(folder, err))
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

// namedWriter writes a temporary file. Its errors have the final name.
type namedWriter struct {
	file *os.File
	path string
}

func (n namedWriter) Write(p []byte) (int, error) {
	written, err := n.file.Write(p)
	return written, withPath(n.path, err)
}

// withPath replaces the path of an error by one that the user knows.
func withPath(path string, err error) error {
	var fault *fs.PathError
	if errors.As(err, &fault) {
		return &fs.PathError{Op: fault.Op, Path: path, Err: fault.Err}
	}
	return err
}
