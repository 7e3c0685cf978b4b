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

// flawed is what is wrong with a row of CSV, of which the rest may be a record.
type flawed struct {
	faults []openapi.ValidationError
	// told are members of which the record's own faults say nothing new.
	told []string
}

func (f *flawed) Error() string { return f.faults[0].Message }

func (f *flawed) add(member, reason string) {
	message := reason
	if member != "" {
		message = member + " " + reason
	}
	f.faults = append(f.faults, openapi.ValidationError{Param: member, Message: message})
	f.told = append(f.told, member)
}

// orNil makes an error of what was found, if anything was.
func (f *flawed) orNil() error {
	if len(f.faults) == 0 && len(f.told) == 0 {
		return nil
	}
	return f
}

// table reads CSV: a header row of members' names, and a record a row. The type
// is that of the import's options or stands in a column "object".
type table struct {
	cells   cells
	schemas *schemas
	object  string   // from the options, or ""
	header  []header // nil until it has been read
	at      int      // the header's line
	types   int      // the place of the column "object"; below 0 if there is none
	layouts map[string]*layout
	line    int  // of the row read last
	waiting bool // that row waits behind a fault of the header
	over    bool
}

func readTable(in *bufio.Reader, s *schemas, object string) reader {
	return &table{
		cells:   cells{in: in, separator: separatorOf(firstLine(in)), line: 1},
		schemas: s, object: object, types: -1, layouts: map[string]*layout{},
	}
}

func (t *table) next() (int, []byte, error) {
	if t.over {
		return t.line, nil, io.EOF
	}
	if t.header == nil {
		if err := t.readHeader(); err != nil {
			return t.at, nil, err
		}
	}
	if !t.waiting {
		if err := t.read(); err != nil {
			return t.line, nil, err
		}
	}
	l, fault := t.layout()
	if t.waiting = fault != nil; t.waiting {
		return t.at, nil, fault
	}
	record, err := t.row(l)
	return t.line, record, err
}

func (t *table) read() (err error) {
	t.line, err = t.cells.next()
	bad, is := errors.AsType[broken](err)
	if !is {
		return err
	}
	f, name := &flawed{}, ""
	if bad.cell >= 0 && bad.cell < len(t.header) {
		name = t.header[bad.cell].name
	}
	if name == "" && bad.cell >= 0 {
		bad.reason = fmt.Sprintf("cell %d %s", bad.cell+1, bad.reason)
	}
	f.add(name, bad.reason)
	return f
}

// row makes a record of the row's cells, as far as they are good.
func (t *table) row(l *layout) ([]byte, error) {
	f := &flawed{}
	if t.misfits(f) {
		return nil, f
	}
	record := []byte(`{"object":`)
	if l == nil {
		name := bytes.ToValidUTF8(bytes.TrimSpace(t.cells.cell(t.types)), []byte("\ufffd"))
		if len(name) == 0 {
			return []byte("{}"), nil
		}
		record, _ = jsontext.AppendQuote(record, name)
		return append(record, '}'), nil
	}
	record = append(append(append(record, '"'), l.resource.Type...), '"')
	if t.object != "" && t.types >= 0 {
		if name := bytes.TrimSpace(t.cells.cell(t.types)); len(name) > 0 && t.schemas.document.RecordType(string(name)) != t.object {
			f.add("object", "must be "+t.object+", as is said of all rows, or empty")
		}
	}
	for i := range t.header {
		record = t.member(record, l, i, f)
	}
	f.told = append(f.told, l.missing...)
	return append(record, '}'), f.orNil()
}

// misfits tells whether the row has other cells than the header.
func (t *table) misfits(f *flawed) bool {
	n := len(t.cells.ends)
	if n < len(t.header) {
		f.add(t.header[n].name, fmt.Sprintf("has no cell: the header has %d and the row %d", len(t.header), n))
		return true
	}
	for i := len(t.header); i < n; i++ {
		if len(t.cells.cell(i)) > 0 {
			f.add("", fmt.Sprintf("the row has %d cells and the header %d: a text with the separator in it must be in quotation marks", n, len(t.header)))
			return true
		}
	}
	return false
}

// member appends what a cell holds to the record.
func (t *table) member(record []byte, l *layout, i int, f *flawed) []byte {
	cell, c, name := t.cells.cell(i), l.columns[i], t.header[i].name
	if c == nil {
		switch {
		case len(cell) == 0 || i == t.types || t.header[i].passed:
		case name == "":
			f.add("", fmt.Sprintf("cell %d has no name in the header", i+1))
		default:
			f.add(name, "is not a member of type "+l.resource.Type+": leave the cell empty")
		}
		return record
	}
	before := len(record)
	record = append(append(append(record, ',', '"'), c.Name...), '"', ':')
	record, absent, fault := c.appendJSON(record, cell, t.cells.quoted[i])
	if fault != "" {
		f.add(c.Name, fault)
	}
	if absent || fault != "" {
		return record[:before]
	}
	return record
}
