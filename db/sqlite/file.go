package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Resolve returns the absolute path of a file. If the file is a symbolic link, it is
// the path of the link's target: SQLite keeps its log beside the target, and a restore
// must replace the target.
func Resolve(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if info, err := os.Lstat(absolute); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return absolute, nil //nolint:nilerr // opening the file reports it
	}
	target, err := filepath.EvalSymlinks(absolute)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s: is a link to a file that does not exist; fix it, or give another path", path)
	}
	return target, err
}

// RequireRegular refuses a folder, a pipe, a device and the like.
func RequireRegular(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return notRegular("is a folder, not a data file")
	case !info.Mode().IsRegular():
		return notRegular("is not a regular file")
	}
	return nil
}

// identify refuses a file of another program with ErrForeign.
func identify(ctx context.Context, options Options) error {
	sqlite, ours, err := readHead(options.Path, options.ApplicationID)
	if err == nil && (!sqlite || !ours) && !oursByLog(ctx, options) {
		err = ErrForeign
	}
	return err
}

// oursByLog reads the application id through SQLite, so that the log beside the
// file counts. A power cut during a checkpoint can damage the head of the file.
// The log still has that page then.
func oursByLog(ctx context.Context, options Options) bool {
	if log, err := os.Stat(options.Path + "-wal"); err != nil || log.Size() == 0 {
		return false
	}
	c, err := closed(options).connect(ctx, "ro")
	if err != nil {
		return false
	}
	defer c.close() //nolint:errcheck // it only reads
	var id int64
	return c.Row("PRAGMA application_id").Scan(&id) == nil && id == int64(options.ApplicationID)
}

// IsForeign reports whether a file is an SQLite file of another program. One of
// ours whose head is damaged is not.
func IsForeign(path string, applicationID uint32) bool {
	sqlite, ours, err := readHead(path, applicationID)
	return err == nil && sqlite && !ours
}

// readHead reads the file's first bytes without opening it as a database
// (SQLite, Database File Format, 1.3).
func readHead(path string, applicationID uint32) (sqlite, ours bool, err error) {
	file, err := os.Open(path)
	if err != nil {
		return false, false, err
	}
	defer file.Close()
	head := make([]byte, 72)
	if _, err := io.ReadFull(file, head); err != nil {
		return false, false, nil //nolint:nilerr // too short for an SQLite file
	}
	return string(head[:16]) == "SQLite format 3\x00", binary.BigEndian.Uint32(head[68:]) == applicationID, nil
}

// Owns reports whether a file, by any of its names, is the database file, its
// log or the WAL index.
func (d *DB) Owns(file fs.FileInfo) bool {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if own, err := os.Stat(d.Path() + suffix); err == nil && os.SameFile(own, file) {
			return true
		}
	}
	return false
}

// LogSize returns the size in bytes of the write-ahead log beside the file.
func (d *DB) LogSize() int64 {
	size, _ := fileSize(d.Path() + "-wal") // 0 where there is no log
	return size
}

// Size returns the size of the file in bytes, without the log beside it.
func (d *DB) Size() int64 {
	size, _ := fileSize(d.Path())
	return size
}

// Sizes returns the sizes in bytes of the file and of the log beside it.
func (d *DB) Sizes() (file, log int64, err error) {
	if file, err = fileSize(d.Path()); err != nil {
		return 0, 0, err
	}
	if log, err = fileSize(d.Path() + "-wal"); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return file, log, err
}

func fileSize(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// CopyTo writes a consistent copy of the file into an empty file. Writers continue. The
// log beside the file cannot be emptied until CopyTo ends.
func (d *DB) CopyTo(ctx context.Context, path string) error {
	c, err := d.connect(ctx, "ro")
	if err != nil {
		return err
	}
	defer c.close() //nolint:errcheck // it only reads
	if err := c.runOnce(ctx, "VACUUM INTO ?", path); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err = fmt.Errorf("copy into the folder %s: %w", filepath.Dir(path), err)
		if isFull(err) {
			err = fmt.Errorf("%w; make room there", err)
		}
		return err
	}
	return nil
}
