package transfer

import (
	"bufio"
	"io"
	"slices"
	"strings"

	"govsvc/server/openapi"
)

// SheetWriter writes records of one type as CSV for a spreadsheet. It differs from
// Export in one point: a text that a spreadsheet would run as a formula gets an
// apostrophe before it, which Import removes.
type SheetWriter struct {
	csv *csvWriter
	out *bufio.Writer
}

// NewSheetWriter writes the header row, with all members of the records. If only has
// names, it writes those and the members that an import needs.
func NewSheetWriter(document *openapi.Document, object string, w io.Writer, only ...string) (*SheetWriter, error) {
	needed := slices.Clone(document.RecordKey(object))
	for _, p := range document.Record(object).Properties() {
		if p.Required && p.Name != "object" {
			needed = append(needed, p.Name)
		}
	}
	included := func(member string) bool {
		return len(only) == 0 || slices.Contains(only, member) || slices.Contains(needed, member)
	}
	s := &SheetWriter{newCSVWriter(document, object, included), bufio.NewWriterSize(w, 64<<10)}
	s.csv.guarded = true
	_, err := s.out.WriteString(strings.Join(s.csv.names, ",") + "\n")
	return s, err
}

// Write adds a record, given as JSON with all of its members.
func (s *SheetWriter) Write(record []byte) error {
	line, err := s.csv.encode(record)
	if err == nil {
		_, err = s.out.Write(line)
	}
	return err
}

// Flush writes the buffered rows.
func (s *SheetWriter) Flush() error { return s.out.Flush() }

// guard is the apostrophe before a text that a spreadsheet would run as a formula.
// Spreadsheets themselves use it to mark a text.
const guard = '\''

// formula reports whether a text starts like a formula, after guards or without.
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

// GuardText returns a text of a cell for spreadsheets, with an apostrophe before a
// formula.
func GuardText(text string) string { return string(addGuard([]byte(text), true)) }

// removeGuard returns a text without the guard before it.
func removeGuard(text []byte) []byte {
	if _, isGuarded := formula(text); isGuarded {
		return text[1:]
	}
	return text
}

// addGuard returns the text of a cell. A guard that is a part of the text is
// doubled, so that Import restores it. With all, every formula gets a guard.
func addGuard(text []byte, all bool) []byte {
	if begins, isGuarded := formula(text); isGuarded || begins && all {
		return append([]byte{guard}, text...)
	}
	return text
}
