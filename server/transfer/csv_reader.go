package transfer

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
)

// separators are the separators of cells that are recognised.
const separators = ",;\t"

// csvReader reads the rows of CSV (RFC 4180). A line ends in LF, CRLF or CR. Unlike
// encoding/csv, it limits the memory of a row (doc/decisions/0012). It also distinguishes
// a quoted empty cell from an empty one and keeps line ends inside quotes. So an import
// reads exactly what was exported.
type csvReader struct {
	in        *bufio.Reader
	separator byte
	line      int    // the number of the next line
	text      []byte // the cells of the row, concatenated
	ends      []int  // where each cell ends in text
	quoted    []bool // whether each cell was in quotation marks
}

// csvError is the error of a row with invalid syntax. Reading continues after its
// first line.
type csvError struct {
	column int // from 0; negative if the error is not about one
	reason string
}

func (e csvError) Error() string { return e.reason }

var (
	errUnclosed = errors.New("has no closing quotation mark")
	errAfter    = errors.New("has text after its closing quotation mark; a quotation mark in a text is doubled")
	errInside   = errors.New("has a quotation mark in it: put the text in quotation marks and double those inside")
)

// next reads a row and returns its first line. It skips blank rows.
func (c *csvReader) next() (line int, err error) {
	for {
		line = c.line
		if err = c.read(); err != nil || len(c.text) > 0 || slices.Contains(c.quoted, true) {
			return line, err
		}
	}
}

// cell returns a cell of the last row.
func (c *csvReader) cell(i int) []byte {
	begin := 0
	if i > 0 {
		begin = c.ends[i-1]
	}
	return c.text[begin:c.ends[i]]
}

// read reads a row, blank or not. Its error is io.EOF at the end.
func (c *csvReader) read() error {
	c.text, c.ends, c.quoted = c.text[:0], c.ends[:0], c.quoted[:0]
	if _, err := c.in.Peek(1); err != nil {
		return err
	}
	for {
		quoted, more, err := c.readCell()
		switch {
		case errors.Is(err, errUnclosed):
			return csvError{len(c.ends), err.Error()}
		case errors.Is(err, errAfter) || errors.Is(err, errInside):
			if end := c.skipLine(); end != nil {
				return end
			}
			return csvError{len(c.ends), err.Error()}
		case err != nil:
			return err
		}
		if c.hasRoom() {
			c.ends, c.quoted = append(c.ends, len(c.text)), append(c.quoted, quoted)
		}
		if !more {
			break
		}
	}
	if !c.hasRoom() {
		return csvError{-1, string(tooLong)}
	}
	return nil
}

// hasRoom reports whether the row is below the maximum size. A larger row is read
// to its end but not stored.
func (c *csvReader) hasRoom() bool { return len(c.text)+len(c.ends) <= maxRecord }

// readCell reads a cell and what ends it: a separator, a line end or the end of
// the input. more is true for a separator.
func (c *csvReader) readCell() (quoted, more bool, err error) {
	b, err := c.in.ReadByte()
	if quoted = err == nil && b == '"'; quoted {
		if err = c.readQuoted(); err == nil {
			b, err = c.in.ReadByte()
		}
		if err == nil && b != c.separator && b != '\n' && b != '\r' {
			err = errAfter
		}
	}
	for ; err == nil; b, err = c.in.ReadByte() {
		switch b {
		case c.separator:
			return quoted, true, nil
		case '\n', '\r':
			return quoted, false, c.endLine(b)
		case '"':
			return quoted, false, errInside
		}
		c.keep(b)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return quoted, false, err
}

// readQuoted reads a cell after its opening quotation mark up to the closing one.
func (c *csvReader) readQuoted() error {
	for {
		b, err := c.in.ReadByte()
		if errors.Is(err, io.EOF) {
			return errUnclosed
		}
		if err != nil {
			return err
		}
		switch b {
		case '"':
			next, err := c.in.Peek(1)
			if err != nil || next[0] != '"' {
				return nil //nolint:nilerr // it comes again with the next byte
			}
			_, _ = c.in.Discard(1) // Peek has read it
		case '\n':
			c.line++
		case '\r':
			if next, err := c.in.Peek(1); err == nil && next[0] != '\n' {
				c.line++
			}
		}
		c.keep(b)
	}
}

func (c *csvReader) keep(b byte) {
	if c.hasRoom() {
		c.text = append(c.text, b)
	}
}

// endLine reads the rest of a line end.
func (c *csvReader) endLine(b byte) error {
	c.line++
	if b == '\n' {
		return nil
	}
	if next, err := c.in.Peek(1); err == nil && next[0] == '\n' {
		_, err = c.in.Discard(1)
		return err
	}
	return nil
}

// skipLine reads to the end of a line.
func (c *csvReader) skipLine() error {
	for {
		switch b, err := c.in.ReadByte(); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case b == '\n' || b == '\r':
			return c.endLine(b)
		}
	}
}

// firstLine returns the first line of the input, or as much of it as the buffer
// holds.
func firstLine(in *bufio.Reader) []byte {
	for size := 1 << 10; ; size *= 2 {
		start, err := in.Peek(min(size, in.Size()))
		if end := bytes.IndexAny(start, "\r\n"); end >= 0 {
			return start[:end]
		}
		if err != nil || size >= in.Size() {
			return start
		}
	}
}

// separatorOf returns the separator of a header. It is the first one outside
// quotation marks, since no name of a member has one.
func separatorOf(header []byte) byte {
	quoted := false
	for _, b := range header {
		if b == '"' {
			quoted = !quoted
		} else if !quoted && bytes.IndexByte([]byte(separators), b) >= 0 {
			return b
		}
	}
	return separators[0]
}

// isCSV reports whether the input starts like CSV with a column "object".
func isCSV(in *bufio.Reader) bool {
	header := firstLine(in)
	if start := bytes.TrimLeft(header, space); len(start) > 0 && (start[0] == '{' || start[0] == '[') {
		return false
	}
	for name := range bytes.SplitSeq(header, []byte{separatorOf(header)}) {
		if string(bytes.Trim(name, ` "`)) == "object" {
			return true
		}
	}
	return false
}
