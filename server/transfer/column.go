package transfer

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"govsvc/server/openapi"
)

// column is a member of a record type, and how it stands in a cell of CSV:
//
//   - a text as it is, a number or true and false as in JSON; an apostrophe
//     before what a spreadsheet takes for a formula is not of the text;
//   - an array of texts as the texts with ";" between them, or as JSON where
//     that would not give the same array back;
//   - other arrays and objects as JSON;
//   - null, or the lack of a member that can't be null, as an empty cell. A text
//     that is empty stands in quotes.
type column struct {
	openapi.Property
	texts   bool   // an array of texts
	blank   bool   // a text that may be empty
	instant string // what it takes, if it is a date or a timestamp
}

const (
	anyDate      = "a date such as 2026-12-31"
	anyTimestamp = "a timestamp such as 2026-12-31T08:30:00Z"
)

// columns finds out, once, how the members of a type stand in cells. What the
// schema does not tell of a member it tells of samples.
func (r *resourceSchema) columns() []column {
	if r.cells != nil {
		return r.cells
	}
	for _, p := range r.schema.Properties() {
		c := column{Property: p}
		switch {
		case p.Type == "array":
			c.texts = r.admits(p.Name, `["x"]`)
		case p.Type == "string" && p.Enum == nil && r.admits(p.Name, `"x"`):
			c.blank = r.admits(p.Name, `""`)
		case p.Type == "string" && r.admits(p.Name, `"2026-12-31"`):
			c.instant = anyDate
		case p.Type == "string" && r.admits(p.Name, `"2026-12-31T08:30:00Z"`):
			c.instant = anyTimestamp
		}
		r.cells = append(r.cells, c)
	}
	return r.cells
}

// admits tells whether a member may have a value.
func (r *resourceSchema) admits(member, value string) bool {
	_, faults := r.schema.Decode([]byte(`{"` + member + `":` + value + `}`))
	return !slices.ContainsFunc(faults, func(f openapi.ValidationError) bool {
		name, _, _ := strings.Cut(f.Param, "[")
		return name == member
	})
}

// appendJSON appends what a cell holds. absent is a cell that gives the record
// no such member.
func (c *column) appendJSON(to, cell []byte, quoted bool) (json []byte, absent bool, fault string) {
	if c.Type != "string" || c.Enum != nil || c.instant != "" {
		cell = bytes.TrimSpace(cell)
	}
	switch {
	case len(cell) == 0 && c.blank && quoted:
		return append(to, `""`...), false, ""
	case len(cell) == 0 && c.Nullable:
		return append(to, "null"...), false, ""
	case len(cell) == 0:
		return to, true, ""
	case !utf8.Valid(cell):
		return to, false, "is not UTF-8: save the file as \"CSV UTF-8\""
	}
	switch c.Type {
	case "number", "integer":
		return c.appendNumber(to, cell)
	case "boolean":
		if word := bytes.ToLower(cell); string(word) == "true" || string(word) == "false" {
			return append(to, word...), false, "" // a spreadsheet writes TRUE
		}
		return to, false, "must be true or false"
	case "string":
		if c.instant != "" {
			if fault := spreadsheetDate(string(cell), c.instant); fault != "" {
				return to, false, fault
			}
		}
		to, _ = jsontext.AppendQuote(to, unguarded(cell)) // its only error is for what is not UTF-8
		return to, false, ""
	}
	if c.texts && cell[0] != '[' {
		return appendTexts(to, unguarded(cell))
	}
	if value := jsontext.Value(cell); !value.IsValid(jsontext.AllowDuplicateNames(true)) {
		sample := `{"name":"value"}`
		if c.Type == "array" {
			sample = "[" + sample + "]"
		}
		return to, false, "must be JSON such as " + sample
	}
	return append(to, cell...), false, ""
}

func (c *column) appendNumber(to, cell []byte) (json []byte, absent bool, fault string) {
	if number := jsontext.Value(cell); (cell[0] == '-' || cell[0] >= '0' && cell[0] <= '9') && number.IsValid() {
		return append(to, cell...), false, ""
	}
	sample := "a number such as 1234.5"
	if c.Type == "integer" {
		sample = "a whole number such as 1234"
	}
	if bytes.IndexByte(cell, ',') >= 0 {
		return to, false, "must be " + sample + ": no comma, the decimal sign is a point"
	}
	return to, false, "must be " + sample + ", with nothing around or inside it"
}

func appendTexts(to, cell []byte) (json []byte, absent bool, fault string) {
	to = append(to, '[')
	n := 0
	for text := range bytes.SplitSeq(cell, []byte{';'}) {
		if text = bytes.TrimSpace(text); len(text) == 0 {
			return to, false, "has an empty item: leave out the \";\" before or after it"
		}
		if n++; n > 1 {
			to = append(to, ',')
		}
		to, _ = jsontext.AppendQuote(to, text) // it is UTF-8
	}
	return append(to, ']'), false, ""
}

// The forms in which spreadsheets save dates: 31.12.2026, 12/31/26,
// 2026-12-31 00:00:00, 31-Dec-2026; and 46387, the number of a day.
var (
	shownDate = regexp.MustCompile(`^\d{1,4}[./ -]+(\d{1,2}|\pL{3,9})[./ -]+\d{1,4}([ ,].*)?$`)
	dayNumber = regexp.MustCompile(`^\d{1,6}([.,]\d+)?$`)
)

// spreadsheetDate says what is wrong with a date that is as spreadsheets have
// them; the schema says it of others.
func spreadsheetDate(cell, want string) string {
	if _, err := openapi.ParseInstant(cell); err == nil {
		return ""
	}
	format := "the format YYYY-MM-DD"
	if want == anyTimestamp {
		format = "the format text"
	}
	switch {
	case dayNumber.MatchString(cell):
		return fmt.Sprintf("must be %s, not a spreadsheet's number of a day: give the column %s and save the file again", want, format)
	case shownDate.MatchString(cell):
		return fmt.Sprintf("must be %s, not a date in a spreadsheet's form: give the column %s and save the file again", want, format)
	}
	return ""
}

// ignored are members that a record may have and that Import reads nothing
// from (contract, section 5).
var ignored = []string{"object", "api_version", "roadmap_id", "key_result_id"}

// bookkeeping are the members that a person need not fill in.
var bookkeeping = []string{"id", "created_at", "updated_at"}

// Columns lists the members of a record type in the order of its CSV: the type
// and the id, the natural key, what is required, the rest and the stamps.
func Columns(document *openapi.Document, object string) []string {
	rank := func(p openapi.Property) int {
		switch key := document.RecordKey(object); {
		case p.Name == "object":
			return 0
		case p.Name == "id":
			return 1
		case slices.Contains(key, p.Name):
			return 2
		case p.Name == "created_at" || p.Name == "updated_at":
			return 5
		case p.Required:
			return 3
		}
		return 4
	}
	all := document.Record(object).Properties()
	slices.SortStableFunc(all, func(a, b openapi.Property) int { return rank(a) - rank(b) })
	var names []string
	for _, p := range all {
		if p.Name != "api_version" { // no export has it
			names = append(names, p.Name)
		}
	}
	return names
}

// Template lists the columns that a person fills in: those without which the
// import does as well are left out.
func Template(document *openapi.Document, object string) []string {
	return slices.DeleteFunc(Columns(document, object), func(name string) bool {
		return slices.Contains(ignored, name) || slices.Contains(bookkeeping, name)
	})
}
