package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Source is an input that is read twice.
type Source struct {
	// Name is shown in errors. Its extension may determine the format.
	Name string
	// Size in bytes, for the progress.
	Size int64
	// Open starts reading from the beginning.
	Open func() (io.ReadCloser, error)
}

// baseName returns the name without its folders, which are not logged.
func (s *Source) baseName() string { return filepath.Base(s.Name) }

func totalSize(sources []Source) int64 {
	total := int64(0)
	for _, source := range sources {
		total += source.Size
	}
	return total
}

// StandardInput is the name of the source "-".
const StandardInput = "standard input"

// Open returns the source that an argument of the command line names: a file or,
// for "-", standard input. A source that can't be read twice, such as a pipe, is
// copied to a temporary file, which release removes.
func Open(ctx context.Context, path string, stdin io.Reader) (source Source, release func() error, err error) {
	if path == "-" {
		return Spool(ctx, StandardInput, stdin)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return Source{}, nil, readError(path, err)
	case info.IsDir():
		return Source{}, nil, fmt.Errorf("%s is a folder; name the files in it", path)
	case info.Mode().IsRegular():
		return File(path, info.Size()), func() error { return nil }, nil
	}
	pipe, err := os.Open(path) //nolint:gosec // the operator names the files to read
	if err != nil {
		return Source{}, nil, readError(path, err)
	}
	defer pipe.Close() //nolint:errcheck // only read
	return Spool(ctx, path, pipe)
}

// File returns a source in a regular file.
func File(path string, size int64) Source {
	return Source{Name: path, Size: size, Open: func() (io.ReadCloser, error) {
		file, err := os.Open(path) //nolint:gosec // the operator names the files to read
		if err != nil {
			return nil, readError(path, err)
		}
		return file, nil
	}}
}

// readError returns an error of one line for a file that can't be read.
func readError(path string, err error) error {
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return fmt.Errorf("%s can't be read: %w", path, err)
}

// Bytes returns a source in memory.
func Bytes(name string, text []byte) Source {
	return Source{Name: name, Size: int64(len(text)), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(text)), nil
	}}
}

// Spool copies in to a temporary file until ctx ends. Only the owner can read the
// file. It is removed while it is open, so that a crash leaves nothing.
func Spool(ctx context.Context, name string, in io.Reader) (source Source, release func() error, err error) {
	file, err := os.CreateTemp("", "govsvc-import-*") // mode 0600
	if err != nil {
		return Source{}, nil, fmt.Errorf("no temporary file for %s: %w", name, err)
	}
	unlinked := os.Remove(file.Name()) == nil
	release = func() error {
		err := file.Close()
		if !unlinked { // on Windows an open file can't be removed
			err = errors.Join(err, os.Remove(file.Name()))
		}
		return err
	}
	size, err := copyAll(ctx, file, in)
	if err != nil {
		return Source{}, nil, errors.Join(fmt.Errorf("%s: %w", name, err), release())
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(io.NewSectionReader(file, 0, size)), nil }
	return Source{Name: name, Size: size, Open: open}, release, nil
}

// copyAll copies in, which may be a terminal, until ctx ends.
func copyAll(ctx context.Context, out io.Writer, in io.Reader) (int64, error) {
	var size int64
	copied := make(chan error, 1)
	go func() {
		var err error
		size, err = io.Copy(out, in)
		copied <- err
	}()
	select {
	case err := <-copied:
		return size, err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}
