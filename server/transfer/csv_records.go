package transfer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"govsvc/server/openapi"
)

// rowError are the errors of a row of CSV. Its other cells may be valid.
type rowError struct {
	errs []openapi.ValidationError
	// reported are the members whose errors in the record are consequences.
	reported []string
}

func (errs *rowError) Error() string { return errs.errs[0].Message }

func (errs *rowError) add(member, reason string) {
	message := reason
	if member != "" {
		message = member + " " + reason
	}
	errs.errs = append(errs.errs, openapi.ValidationError{Param: member, Message: message})
	errs.reported = append(errs.reported, member)
}

// orNil returns nil if there are no errors.
func (errs *rowError) orNil() error {
	if len(errs.errs) == 0 && len(errs.reported) == 0 {
		return nil
	}
	return errs
}

// csvRecords reads CSV with a header row of member names and one record in each row.
// The type is that of the import's options or of the column "object".
type csvRecords struct {
	csv        csvReader
	schemas    *schemas
	object     string       // from the options, or ""
	header     []columnHead // nil until it is read
	headerLine int
	typeColumn int // the index of the column "object"; negative without one
	layouts    map[string]*layout
	line       int  // of the last row
	pending    bool // the last row follows an error of the header
	done       bool
}

func newCSVRecords(in *bufio.Reader, s *schemas, object string) recordReader {
	return &csvRecords{
		csv:     csvReader{in: in, separator: separatorOf(firstLine(in)), line: 1},
		schemas: s, object: object, typeColumn: -1, layouts: map[string]*layout{},
	}
}

func (r *csvRecords) next() (int, []byte, error) {
	if r.done {
		return r.line, nil, io.EOF
	}
	if r.header == nil {
		if err := r.readHeader(); err != nil {
			return r.headerLine, nil, err
		}
	}
	if !r.pending {
		if err := r.read(); err != nil {
			return r.line, nil, err
		}
	}
	l, problem := r.layout()
	if r.pending = problem != nil; r.pending {
		return r.headerLine, nil, problem
	}
	record, err := r.row(l)
	return r.line, record, err
}

func (r *csvRecords) read() (err error) {
	r.line, err = r.csv.next()
	bad, is := errors.AsType[csvError](err)
	if !is {
		return err
	}
	errs, name := &rowError{}, ""
	if bad.column >= 0 && bad.column < len(r.header) {
		name = r.header[bad.column].name
	}
	if name == "" && bad.column >= 0 {
		bad.reason = fmt.Sprintf("cell %d %s", bad.column+1, bad.reason)
	}
	errs.add(name, bad.reason)
	return errs
}

// row returns a record of the row's valid cells.
func (r *csvRecords) row(l *layout) ([]byte, error) {
	errs := &rowError{}
	if r.checkLength(errs) {
		return nil, errs
	}
	record := []byte(`{"object":`)
	if l == nil {
		name := bytes.ToValidUTF8(bytes.TrimSpace(r.csv.cell(r.typeColumn)), []byte("\ufffd"))
		if len(name) == 0 {
			return []byte("{}"), nil
		}
		record, _ = jsontext.AppendQuote(record, name)
		return append(record, '}'), nil
	}
	record = append(append(append(record, '"'), l.resource.Type...), '"')
	if r.object != "" && r.typeColumn >= 0 {
		if name := bytes.TrimSpace(r.csv.cell(r.typeColumn)); len(name) > 0 && r.schemas.document.RecordType(string(name)) != r.object {
			errs.add("object", "must be "+r.object+", as is said of all rows, or empty")
		}
	}
	for i := range r.header {
		record = r.member(record, l, i, errs)
	}
	errs.reported = append(errs.reported, l.missing...)
	return append(record, '}'), errs.orNil()
}

// checkLength reports whether the row has more or fewer cells than the header.
func (r *csvRecords) checkLength(errs *rowError) bool {
	n := len(r.csv.ends)
	if n < len(r.header) {
		errs.add(r.header[n].name, fmt.Sprintf("has no cell: the header has %d and the row %d", len(r.header), n))
		return true
	}
	for i := len(r.header); i < n; i++ {
		if len(r.csv.cell(i)) > 0 {
			errs.add("", fmt.Sprintf("the row has %d cells and the header %d: a text with the separator in it must be in quotation marks", n, len(r.header)))
			return true
		}
	}
	return false
}

// member appends the value of a cell to the record.
func (r *csvRecords) member(record []byte, l *layout, i int, errs *rowError) []byte {
	cell, c, name := r.csv.cell(i), l.columns[i], r.header[i].name
	if c == nil {
		switch {
		case len(cell) == 0 || i == r.typeColumn || r.header[i].skip:
		case name == "":
			errs.add("", fmt.Sprintf("cell %d has no name in the header", i+1))
		default:
			errs.add(name, "is not a member of type "+l.resource.Type+": leave the cell empty")
		}
		return record
	}
	before := len(record)
	record = append(append(append(record, ',', '"'), c.Name...), '"', ':')
	record, absent, problem := c.appendJSON(record, cell, r.csv.quoted[i])
	if problem != "" {
		errs.add(c.Name, problem)
	}
	if absent || problem != "" {
		return record[:before]
	}
	return record
}
