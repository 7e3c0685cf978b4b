package transfer

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
)

// separators are what may stand between the cells of a row.
const separators = ",;\t"

// cells reads the rows of CSV (RFC 4180). Unlike encoding/csv it bounds what a
// row takes, tells a quoted empty cell from an empty one and leaves the line
// ends inside quotes as they are, so that a text comes back as it was exported.
// A line ends in LF, CRLF or CR.
type cells struct {
	in        *bufio.Reader
	separator byte
	line      int    // that is read next
	text      []byte // of the row, cell behind cell
	ends      []int  // of the cells in the text
	quoted    []bool // the cells that stood in quotes
}

// broken is a row that can't be told into cells. What follows its first line
// is read.
type broken struct {
	cell   int // from 0; below 0 if it is none in particular
	reason string
}

func (b broken) Error() string { return b.reason }

var (
	errUnclosed = errors.New("has no closing quotation mark")
	errAfter    = errors.New("has text after its closing quotation mark; a quotation mark in a text is doubled")
	errInside   = errors.New("has a quotation mark in it: put the text in quotation marks and double those inside")
)

// next reads a row, of which blank ones are passed over, and returns the line
// that it begins on.
func (c *cells) next() (line int, err error) {
	for {
		line = c.line
		if err = c.read(); err != nil || len(c.text) > 0 || slices.Contains(c.quoted, true) {
			return line, err
		}
	}
}

// cell is a cell of the row read last.
func (c *cells) cell(i int) []byte {
	begin := 0
	if i > 0 {
		begin = c.ends[i-1]
	}
	return c.text[begin:c.ends[i]]
}

// read reads a row, blank or not; io.EOF if there is none.
func (c *cells) read() error {
	c.text, c.ends, c.quoted = c.text[:0], c.ends[:0], c.quoted[:0]
	if _, err := c.in.Peek(1); err != nil {
		return err
	}
	for {
		quoted, more, err := c.readCell()
		switch {
		case errors.Is(err, errUnclosed):
			return broken{len(c.ends), err.Error()}
		case errors.Is(err, errAfter) || errors.Is(err, errInside):
			if end := c.passOver(); end != nil {
				return end
			}
			return broken{len(c.ends), err.Error()}
		case err != nil:
			return err
		}
		if c.room() {
			c.ends, c.quoted = append(c.ends, len(c.text)), append(c.quoted, quoted)
		}
		if !more {
			break
		}
	}
	if !c.room() {
		return broken{-1, string(tooLong)}
	}
	return nil
}

// room tells whether the row may still grow. One that is too long is read to
// its end and not kept.
func (c *cells) room() bool { return len(c.text)+len(c.ends) <= maxRecord }

// readCell reads a cell and the separator, the line's end or the end of the
// input behind it; more tells the first from the others.
func (c *cells) readCell() (quoted, more bool, err error) {
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

// readQuoted reads a cell behind its first quotation mark up to its last.
func (c *cells) readQuoted() error {
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
			_, _ = c.in.Discard(1) // it is there
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

func (c *cells) keep(b byte) {
	if c.room() {
		c.text = append(c.text, b)
	}
}

// endLine reads the rest of a line's end.
func (c *cells) endLine(b byte) error {
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

// passOver reads to the end of a line.
func (c *cells) passOver() error {
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

// firstLine is the beginning of the input up to its first line's end, if that
// is as near as a header's.
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

// separatorOf finds the separator in a header: the first that stands outside
// quotes, since no field's name has any.
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

// looksLikeTable tells CSV that names its types by its header.
func looksLikeTable(in *bufio.Reader) bool {
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
