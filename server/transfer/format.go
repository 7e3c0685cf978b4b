package transfer

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"govsvc/db/resource"
)

// Format is the format of a source.
type Format string

// The formats.
const (
	// NDJSON has one record on each line.
	NDJSON Format = "ndjson"
	// JSON is one value: an array of records, one of the API's envelopes or a
	// single record.
	JSON Format = "json"
	// CSV has a header row of member names and one record in each row.
	CSV Format = "csv"
)

// formats are the formats and the extensions of their files.
var formats = []struct {
	format     Format
	extensions []string
}{
	{NDJSON, []string{".ndjson", ".jsonl"}},
	{JSON, []string{".json"}},
	{CSV, []string{".csv", ".tsv"}},
}

// Formats lists the formats.
func Formats() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = string(f.format)
	}
	return names
}

// check refuses an unknown format or type.
func (o Options) check() error {
	if o.Format != "" && !slices.Contains(Formats(), string(o.Format)) {
		return noFormat(o.Format)
	}
	if all := resource.Types(); o.Type != "" && !slices.Contains(all, o.Type) {
		return noType(o.Type)
	}
	return nil
}

func noFormat(format Format) error {
	return fmt.Errorf("no format %q; the formats are %s", format, strings.Join(Formats(), ", "))
}

// recordReader reads the records of a source.
type recordReader interface {
	// next returns the line on which the next record starts and the record as JSON,
	// valid until the next call. After a sourceError or a rowError reading may
	// continue; with a rowError there may be a record. io.EOF is the end.
	next() (line int, record []byte, err error)
}

// sourceError is an error in the syntax of a source.
type sourceError string

func (r sourceError) Error() string { return string(r) }

// maxRecord is the maximum size of a record in bytes. It limits the memory of an
// import.
const maxRecord = 1 << 20

const tooLong = sourceError("the record is longer than 1 MiB; nothing of that size is kept")

// FormatOf returns the format of a source of that name, or "" if its first bytes
// decide.
func (o Options) FormatOf(name string) Format {
	if o.Format != "" {
		return o.Format
	}
	extension := strings.ToLower(path.Ext(name))
	for _, f := range formats {
		if slices.Contains(f.extensions, extension) {
			return f.format
		}
	}
	if o.Type != "" {
		return CSV
	}
	return ""
}

// newReader makes the reader for the format of a source.
func (im *importing) newReader(in io.Reader, name string) (recordReader, error) {
	// The buffer holds the longest line with its end, so that no line is copied.
	buffer := bufio.NewReaderSize(in, maxRecord+len("\r\n"))
	start, err := buffer.Peek(longestSignature)
	if err != nil && err != io.EOF { //nolint:errorlint // Peek gives it bare
		return nil, err
	}
	if refused := unsupported(start); refused != nil {
		return refused, nil
	}
	if bytes.HasPrefix(start, []byte(byteOrderMark)) {
		_, _ = buffer.Discard(len(byteOrderMark)) // Peek has read it
	}
	format := im.options.FormatOf(name)
	switch {
	case format == CSV || format == "" && isCSV(buffer):
		return newCSVRecords(buffer, &im.schemas, im.options.Type), nil
	case format == NDJSON || format == "" && isNDJSON(buffer):
		return newNDJSONReader(buffer), nil
	}
	return newJSONReader(buffer), nil
}

const byteOrderMark = "\ufeff"

// signatures are the first bytes of files that users mistake for text, with advice.
var signatures = []struct {
	start  string
	advice sourceError
}{
	{"PK\x03\x04", `the file is a spreadsheet or another zip archive: save a spreadsheet as "CSV UTF-8"`},
	{"\xd0\xcf\x11\xe0", `the file is a spreadsheet or document of an office program: save it as "CSV UTF-8"`},
	{"\x1f\x8b", "the file is compressed with gzip: unpack it first"},
	{"\xff\xfe", `the file is UTF-16: save it as UTF-8, a spreadsheet as "CSV UTF-8"`},
	{"\xfe\xff", `the file is UTF-16: save it as UTF-8, a spreadsheet as "CSV UTF-8"`},
}

// longestSignature is the length of the longest signature and of a byte order mark.
const longestSignature = 4

// unsupported returns a reader that refuses a source which is not text, or nil if it
// may be text.
func unsupported(start []byte) recordReader {
	for _, mark := range signatures {
		if bytes.HasPrefix(start, []byte(mark.start)) {
			return &refusedSource{mark.advice + notRead}
		}
	}
	return nil
}

// refusedSource is a source of which no record is read.
type refusedSource struct{ why sourceError }

func (u *refusedSource) next() (int, []byte, error) {
	why := u.why
	if u.why = ""; why == "" {
		return 1, nil, io.EOF
	}
	return 1, nil, why
}

// isNDJSON reports whether the input is NDJSON and not one JSON value: its first
// line is a whole object, and not an envelope.
func isNDJSON(in *bufio.Reader) bool {
	_, _ = in.Peek(1) // fills the buffer; the first read returns an error again
	start, _ := in.Peek(in.Buffered())
	start = bytes.TrimLeft(start, space)
	line, _, ended := bytes.Cut(start, []byte("\n"))
	if len(line) == 0 || line[0] != '{' {
		return len(line) > 0 && line[0] != '['
	}
	decoder := jsontext.NewDecoder(bytes.NewBuffer(line), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	_, err := decoder.ReadToken()
	for err == nil && decoder.PeekKind() == '"' {
		var name jsontext.Value
		if name, err = decoder.ReadValue(); err == nil && string(name) == `"data"` {
			return false
		}
		if err == nil {
			err = decoder.SkipValue()
		}
	}
	_, err = decoder.ReadToken()
	// A line that ends inside its object is the first line of a longer value.
	return err == nil || !ended || !unfinished(err)
}
