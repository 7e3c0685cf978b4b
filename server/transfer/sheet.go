package transfer

import (
	"bufio"
	"io"
	"strings"

	"govsvc/server/openapi"
)

// SheetWriter writes records of one type as CSV for people, who open it in a
// spreadsheet: as Export does, but a text that a spreadsheet would take for
// a formula has an apostrophe before it, which Import takes away again.
type SheetWriter struct {
	rows *rows
	out  *bufio.Writer
}

// NewSheetWriter begins with the header row.
func NewSheetWriter(document *openapi.Document, object string, w io.Writer) (*SheetWriter, error) {
	s := &SheetWriter{newRows(document, object), bufio.NewWriterSize(w, 64<<10)}
	s.rows.guarded = true
	_, err := s.out.WriteString(strings.Join(s.rows.names, ",") + "\n")
	return s, err
}

// Write adds a record, given as JSON with all of its members.
func (s *SheetWriter) Write(record []byte) error {
	line, err := s.rows.row(record)
	if err == nil {
		_, err = s.out.Write(line)
	}
	return err
}

// Flush sends what is left.
func (s *SheetWriter) Flush() error { return s.out.Flush() }

// guard is what stands before a text that a spreadsheet would take for a
// formula. Spreadsheets have it, too, for a text that is to stay one.
const guard = '\''

// formula tells whether a text begins like a formula, behind guards or not.
func formula(text []byte) (begins, isGuarded bool) {
	for i, b := range text {
		switch b {
		case guard:
			continue
		case '=', '+', '-', '@', '\t', '\r':
			return true, i > 0
		}
		break
	}
	return false, false
}

// unguarded is a text as it was before a guard was put there.
func unguarded(text []byte) []byte {
	if _, isGuarded := formula(text); isGuarded {
		return text[1:]
	}
	return text
}

// guardedText is a text as it stands in a cell: a guard before it is doubled, so
// that Import gives it back, and with all one stands before every formula.
func guardedText(text []byte, all bool) []byte {
	if begins, isGuarded := formula(text); isGuarded || begins && all {
		return append([]byte{guard}, text...)
	}
	return text
}
