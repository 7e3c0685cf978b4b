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

// column is a member of a record type. Its cells have these forms:
//
//   - A text has no quotation marks of JSON. An apostrophe before a formula of a
//     spreadsheet is not a part of the text.
//   - Numbers, true and false are as in JSON.
//   - An array of texts is the texts with ";" between them, or JSON if that would
//     not give the same array.
//   - Other arrays and objects are JSON.
//   - An empty cell is null or, if the member can't be null, no member. An empty text
//     is a pair of quotation marks.
type column struct {
	openapi.Property
	isTextArray bool
	allowsEmpty bool   // a text that may be empty
	dateForm    string // of a date or a timestamp, for messages; "" for others
}

const (
	anyDate      = "a date such as 2026-12-31"
	anyTimestamp = "a timestamp such as 2026-12-31T08:30:00Z"
)

// columns returns the columns of the type. It validates samples for what the
// schema does not say directly, once.
func (r *resourceSchema) columns() []column {
	if r.cells != nil {
		return r.cells
	}
	for _, p := range r.schema.Properties() {
		c := column{Property: p}
		switch {
		case p.Type == "array":
			c.isTextArray = r.admits(p.Name, `["x"]`)
		case p.Type == "string" && p.Enum == nil && r.admits(p.Name, `"x"`):
			c.allowsEmpty = r.admits(p.Name, `""`)
		case p.Type == "string" && r.admits(p.Name, `"2026-12-31"`):
			c.dateForm = anyDate
		case p.Type == "string" && r.admits(p.Name, `"2026-12-31T08:30:00Z"`):
			c.dateForm = anyTimestamp
		}
		r.cells = append(r.cells, c)
	}
	return r.cells
}

// admits reports whether a value is valid for a member.
func (r *resourceSchema) admits(member, value string) bool {
	_, errs := r.schema.Decode([]byte(`{"` + member + `":` + value + `}`))
	return !slices.ContainsFunc(errs, func(f openapi.ValidationError) bool {
		name, _, _ := strings.Cut(f.Param, "[")
		return name == member
	})
}

// appendJSON appends the value of a cell. absent is true if the record has no such
// member.
func (c *column) appendJSON(to, cell []byte, quoted bool) (json []byte, absent bool, problem string) {
	if c.Type != "string" || c.Enum != nil || c.dateForm != "" {
		cell = bytes.TrimSpace(cell)
	}
	switch {
	case len(cell) == 0 && c.allowsEmpty && quoted:
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
		if c.dateForm != "" {
			if problem := spreadsheetDate(string(cell), c.dateForm); problem != "" {
				return to, false, problem
			}
		}
		to, _ = jsontext.AppendQuote(to, removeGuard(cell)) // its only error is invalid UTF-8
		return to, false, ""
	}
	if c.isTextArray && cell[0] != '[' {
		return appendTexts(to, removeGuard(cell))
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

func (c *column) appendNumber(to, cell []byte) (json []byte, absent bool, problem string) {
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

func appendTexts(to, cell []byte) (json []byte, absent bool, problem string) {
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
// 2026-12-31 00:00:00, 31-Dec-2026, and 46387, the number of a day.
var (
	shownDate = regexp.MustCompile(`^\d{1,4}[./ -]+(\d{1,2}|\pL{3,9})[./ -]+\d{1,4}([ ,].*)?$`)
	dayNumber = regexp.MustCompile(`^\d{1,6}([.,]\d+)?$`)
)

// spreadsheetDate returns what is wrong with a date in the form of a spreadsheet.
// Errors of other dates come from the schema.
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

// ignored are the members that Import accepts and ignores (contract, section 5).
var ignored = []string{"object", "api_version", "roadmap_id", "key_result_id"}

// automatic are the members that the program fills in.
var automatic = []string{"id", "created_at", "updated_at"}

// Columns lists the members of a record type in the order of its CSV: type, id,
// natural key, required members, other members, timestamps.
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
		if p.Name != "api_version" { // it is not exported
			names = append(names, p.Name)
		}
	}
	return names
}

// Template lists the columns that a person fills in.
func Template(document *openapi.Document, object string) []string {
	return slices.DeleteFunc(Columns(document, object), func(name string) bool {
		return slices.Contains(ignored, name) || slices.Contains(automatic, name)
	})
}
