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

// auditCursor is where an export of the audit log goes on: the content of a
// cursor file.
type auditCursor struct {
	Organisation string `json:"organisation"`
	Cursor       string `json:"cursor"` // authenticated by the data file
	// The file that was written and how long it was then. What is behind that
	// was written by a run that was killed before it could note it here.
	Out  string `json:"out,omitempty"`
	Size int64  `json:"size,omitempty"`
}

// readCursor reads a cursor file; one that is missing or empty is a start.
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
		return c, fmt.Errorf("--cursor-file: %s is not a cursor file; give another, or remove it to start over", path)
	}
	return c, nil
}

// checkReplaceable tells whether a cursor can be written there, before any event is:
// those that no cursor follows would come again.
func checkReplaceable(path string) error {
	file, err := createTemp("--cursor-file", path)
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// write replaces the cursor file as a whole: whoever reads it, after a crash
// too, finds this cursor or the one before.
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

// checkFiles refuses files that the export would spoil.
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
		return fmt.Errorf("--cursor-file: %s is no ordinary file; name another one", e.cursorFile)
	case absolute(e.out) == absolute(e.cursorFile), out != nil && cursor != nil && os.SameFile(out, cursor):
		return fmt.Errorf("--cursor-file: %s is also the file of --out; give each its own", e.cursorFile)
	}
	return nil
}

// absolute is the path from the root, where there is one.
func absolute(path string) string {
	whole, err := filepath.Abs(path)
	if err != nil {
		return filepath.Clean(path)
	}
	return whole
}

// auditFile is the file that events are appended to.
type auditFile struct {
	file    *os.File
	path    string // absolute
	regular bool   // not a device or a pipe
}

// openAuditFile opens the file and takes away what a killed run left behind the
// cursor, half an event perhaps: the events come again.
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

// sync has all that was written on the disk and notes in c how much it is.
func (l *auditFile) sync(c *auditCursor) error {
	if !l.regular {
		return nil
	}
	err := l.file.Sync()
	end, seeking := l.file.Seek(0, io.SeekEnd)
	c.Out, c.Size = l.path, end
	return cmp.Or(err, seeking)
}
