package cmd

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// auditCursor is the content of a cursor file: the position at which an export continues.
type auditCursor struct {
	Organisation string `json:"organisation"`
	Cursor       string `json:"cursor"` // authenticated by the data file
	// Out is the file that was written, and Size its length at that time. A killed
	// run may have written more without storing a cursor.
	Out  string `json:"out,omitempty"`
	Size int64  `json:"size,omitempty"`
}

// readCursor reads a cursor file. A missing or empty file means the start.
func readCursor(path string) (auditCursor, error) {
	var c auditCursor
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 {
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("--cursor-file: %w", err)
	}
	if err := json.Unmarshal(text, &c); err != nil || c.Cursor == "" {
		return c, fmt.Errorf("--cursor-file: %s is not a cursor file; name another file, or remove it to start over", path)
	}
	return c, nil
}

// checkReplaceable checks that the cursor file can be written. It is called before the
// first event, because without the cursor the next run would repeat all events.
func checkReplaceable(path string) error {
	file, err := createTemp("--cursor-file", path)
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// write replaces the cursor file atomically. After a crash the file contains either this
// cursor or the previous one.
func (c auditCursor) write(path string) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return replaceFile("--cursor-file", path, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// checkFiles refuses files that the export would damage.
func (e *auditExport) checkFiles() error {
	var out, cursor fs.FileInfo
	var err error
	if e.out != "" && e.out != "-" {
		if out, err = checkOutput(e.store, "--out", e.out); err != nil {
			return err
		}
	}
	if e.cursorFile == "" {
		return nil
	}
	cursor, err = checkOutput(e.store, "--cursor-file", e.cursorFile)
	switch {
	case err != nil:
		return err
	case cursor != nil && !cursor.Mode().IsRegular():
		return fmt.Errorf("--cursor-file: %s is not a regular file; name another file", e.cursorFile)
	case absolute(e.out) == absolute(e.cursorFile), out != nil && cursor != nil && os.SameFile(out, cursor):
		return fmt.Errorf("--cursor-file: %s is also the file of --out; name two different files", e.cursorFile)
	}
	return nil
}

// absolute returns the absolute path. If the working directory is not known, it returns
// the path as given, cleaned.
func absolute(path string) string {
	full, err := filepath.Abs(path)
	if err != nil {
		return filepath.Clean(path)
	}
	return full
}

// auditFile is the file that events are appended to.
type auditFile struct {
	file    *os.File
	path    string // absolute
	regular bool   // not a device or a pipe
}

// openAuditFile opens the file and truncates it to the length in the cursor. A killed
// run may have written events after that, the last one incompletely. The export writes
// them again.
func openAuditFile(path string, c auditCursor) (*auditFile, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	info, err := file.Stat()
	if err == nil && info.Mode().IsRegular() && c.Out == absolute && info.Size() > c.Size {
		err = file.Truncate(c.Size)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("--out: %w", err), file.Close())
	}
	return &auditFile{file, absolute, info.Mode().IsRegular()}, nil
}

func (l *auditFile) Write(p []byte) (int, error) { return l.file.Write(p) }

// sync flushes the file to the disk and stores its length in c.
func (l *auditFile) sync(c *auditCursor) error {
	if !l.regular {
		return nil
	}
	err := l.file.Sync()
	size, seekErr := l.file.Seek(0, io.SeekEnd)
	c.Out, c.Size = l.path, size
	return cmp.Or(err, seekErr)
}
