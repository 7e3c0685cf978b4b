package transfer

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"govsvc/db"
	"govsvc/server/openapi"
)

// Limits of a preview. It takes at most a few hundred KB.
const (
	previewChanged = 200 // changed records that are shown in full
	previewCreated = 100 // new records
	previewLacking = 100 // changed risks that lack a reason
	previewBytes   = 512 << 10
	previewValue   = 240 // characters of a value
)

// Preview is what an import does to each record.
type Preview struct {
	// Digest identifies what the import does, for Options.Expect.
	Digest string
	// Lacking are changed risks that need a reason and have none, Changed are the
	// other changed records, and Created are new ones: the first of each.
	Lacking, Changed, Created []Difference
	// LacksReason is how many risks need a reason and have none.
	LacksReason int
}

// Difference is what an import does to one record.
type Difference struct {
	Type    string
	ID      string // "" for a new record
	Name    string // its natural key
	Line    int
	Changes []MemberChange
}

// MemberChange is a member before and after the import; "" is none. Long values
// are shortened.
type MemberChange struct{ Member, From, To string }

// ErrStalePreview is the error of an import whose preview is out of date, because
// the data has changed since. The report has a new preview.
var ErrStalePreview = errors.New("the data has changed since the preview")

// preview collects the differences of an import.
type preview struct {
	Preview
	document *openapi.Document
	sum      hash.Hash
	bytes    int // size of the listed differences
}

func newPreview(document *openapi.Document) *preview {
	return &preview{document: document, sum: sha256.New()}
}

// add adds the outcome of a record.
func (p *preview) add(e *entry, done db.PutResult) {
	if done.Outcome != db.Created && done.Outcome != db.Updated {
		return
	}
	names := slices.Sorted(maps.Keys(done.Changes))
	p.digest(e, done, names)
	list, most := &p.Changed, previewChanged
	switch {
	case done.LacksReason:
		p.LacksReason++
		list, most = &p.Lacking, previewLacking
	case done.Outcome == db.Created:
		list, most = &p.Created, previewCreated
	}
	if len(*list) == most || p.bytes > previewBytes {
		return
	}
	one := Difference{Type: e.resource.Type, Name: p.name(e), Line: e.line}
	if done.Outcome == db.Updated {
		one.ID = done.ID
	}
	for _, name := range names {
		change := MemberChange{name, shortValue(done.Changes[name].From), shortValue(done.Changes[name].To)}
		one.Changes = append(one.Changes, change)
		p.bytes += len(name) + len(change.From) + len(change.To)
	}
	*list = append(*list, one)
}

// digest adds what the import does with a record to the digest. It leaves out new
// ids and times, which differ between two runs with the same data, and the reason,
// which is given after the preview.
func (p *preview) digest(e *entry, done db.PutResult, names []string) {
	text := fmt.Appendf(nil, "%d %d %s %d", e.order, e.line, e.resource.Type, done.Outcome)
	for _, name := range names {
		if name == reasonMember {
			continue
		}
		text = append(append(text, ' '), name...)
		text = appendJSON(text, done.Changes[name].From)
		if _, given := e.record[name]; given && !slices.Contains(ignored, name) {
			text = appendJSON(text, done.Changes[name].To)
		}
	}
	p.sum.Write(append(text, '\n'))
}

func appendJSON(to []byte, value any) []byte {
	text, _ := json.Marshal(value) // values of records can always be encoded
	return append(append(to, ' '), text...)
}

func (p *preview) report() *Preview {
	p.Digest = hex.EncodeToString(p.sum.Sum(nil))
	return &p.Preview
}

// name returns the natural key of a record as text.
func (p *preview) name(e *entry) string {
	var parts []string
	for _, member := range p.document.RecordKey(e.resource.Type) {
		if value := e.record[member]; value != nil {
			parts = append(parts, shortValue(value))
		}
	}
	return cmp.Or(strings.Join(parts, " "), e.resource.Type)
}

// shortValue returns a value as text, shortened if it is long.
func shortValue(value any) string {
	var text string
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		text = value
	case json.RawMessage:
		text = string(value)
	default:
		body, _ := json.Marshal(value) // see appendJSON
		text = string(body)
	}
	if len(text) <= previewValue || utf8.RuneCountInString(text) <= previewValue {
		return strings.Clone(text)
	}
	return string([]rune(text[:min(len(text), previewValue*utf8.UTFMax)])[:previewValue]) + "…"
}
