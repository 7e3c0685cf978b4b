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

// Format is how records stand in a source.
type Format string

// The formats.
const (
	// NDJSON has one record a line.
	NDJSON Format = "ndjson"
	// JSON is one value: an array of records, one of the API's envelopes or a
	// single record.
	JSON Format = "json"
	// CSV has a header row of members' names and one record a row.
	CSV Format = "csv"
)

// formats tells how the names of sources tell theirs.
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

// check refuses a format or a type that there is not; "" is to be found out.
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

// reader takes the records out of a source.
type reader interface {
	// next returns the line on which the next record starts and the record as
	// JSON, valid until the next call. A refusal is a fault of the source, and
	// reading may go on; so is a flawed, beside which there may be a record;
	// io.EOF is the end.
	next() (line int, record []byte, err error)
}

// refusal says what keeps a part of a source from being a record.
type refusal string

func (r refusal) Error() string { return string(r) }

// maxRecord bounds a record, and with it the memory of an import, in bytes.
const maxRecord = 1 << 20

const tooLong = refusal("the record is longer than 1 MiB; nothing of that size is kept")

// FormatOf tells how a source of that name is read; "" where its first bytes
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

// reader finds the format of a source and what reads it.
func (im *importing) reader(in io.Reader, name string) (reader, error) {
	// A whole line has room in the buffer, with its end, so no line is copied.
	buffer := bufio.NewReaderSize(in, maxRecord+len("\r\n"))
	start, err := buffer.Peek(longestMark)
	if err != nil && err != io.EOF { //nolint:errorlint // Peek gives it bare
		return nil, err
	}
	if refused := foreign(start); refused != nil {
		return refused, nil
	}
	if bytes.HasPrefix(start, []byte(byteOrderMark)) {
		_, _ = buffer.Discard(len(byteOrderMark)) // it is there
	}
	format := im.options.FormatOf(name)
	switch {
	case format == CSV || format == "" && looksLikeTable(buffer):
		return readTable(buffer, &im.schemas, im.options.Type), nil
	case format == NDJSON || format == "" && looksLikeLines(buffer):
		return readLines(buffer), nil
	}
	return readValue(buffer), nil
}

const byteOrderMark = "\ufeff"

// marks are the first bytes of files that users take for text, and what to do
// about each.
var marks = []struct {
	start  string
	advice refusal
}{
	{"PK\x03\x04", `the file is a spreadsheet or another zip archive: save a spreadsheet as "CSV UTF-8"`},
	{"\xd0\xcf\x11\xe0", `the file is a spreadsheet or document of an office program: save it as "CSV UTF-8"`},
	{"\x1f\x8b", "the file is compressed with gzip: unpack it first"},
	{"\xff\xfe", `the file is UTF-16: save it as UTF-8, a spreadsheet as "CSV UTF-8"`},
	{"\xfe\xff", `the file is UTF-16: save it as UTF-8, a spreadsheet as "CSV UTF-8"`},
}

// longestMark is the length of the longest of marks, and of the byte order mark.
const longestMark = 4

// foreign refuses a source that starts so and holds no text; nil if it may.
func foreign(start []byte) reader {
	for _, mark := range marks {
		if bytes.HasPrefix(start, []byte(mark.start)) {
			return &unread{mark.advice + notRead}
		}
	}
	return nil
}

// unread is a source that is refused as a whole.
type unread struct{ why refusal }

func (u *unread) next() (int, []byte, error) {
	why := u.why
	if u.why = ""; why == "" {
		return 1, nil, io.EOF
	}
	return 1, nil, why
}

// looksLikeLines tells NDJSON from a JSON value by its first bytes: its first
// line is an object of its own, and no envelope.
func looksLikeLines(in *bufio.Reader) bool {
	_, _ = in.Peek(1) // fills the buffer; an error comes again at the first read
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
	// A line that ends inside its object is the first of a value over many.
	return err == nil || !ended || !unfinished(err)
}
