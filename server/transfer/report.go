package transfer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/server/openapi"
)

// Report is the result of an import.
type Report struct {
	// Records is how many were read, including invalid ones.
	Records int  `json:"records"`
	DryRun  bool `json:"dry_run"`
	// Types are the types of the records, in the order of an import; empty if nothing
	// was written.
	Types []Count `json:"types"`
	// Errors are in the order of the sources. Beyond a limit they are only counted.
	Errors []ValidationError `json:"faults"`
	// MoreErrors is how many errors are not listed.
	MoreErrors int `json:"more_faults"`
	// Preview is nil if none was wanted or there are errors.
	Preview *Preview `json:"-"`
}

// Count counts the records of a type by outcome.
type Count struct {
	Type      string `json:"type"`
	Created   int    `json:"created"`
	Updated   int    `json:"updated"`
	Unchanged int    `json:"unchanged"`
}

// ValidationError is one error of a source.
type ValidationError struct {
	Source string `json:"source"`
	// Line is the line on which the record starts, from 1.
	Line int `json:"line"`
	// Type and Member are empty if they are unknown.
	Type   string `json:"type,omitempty"`
	Member string `json:"member,omitempty"`
	Reason string `json:"reason"`
}

// String returns the error as one line for the terminal.
func (f ValidationError) String() string {
	return fmt.Sprintf("%s, line %d: %s", f.Source, f.Line, f.Reason)
}

// RefusedError is the error of an import that wrote nothing because of validation
// errors. The report lists them.
type RefusedError struct {
	First ValidationError
	Total int
}

func (r *RefusedError) Error() string {
	if r.Total == 1 {
		return r.First.String() + "; nothing was imported: fix it and import again"
	}
	more := "1 more error"
	if r.Total > 2 {
		more = fmt.Sprintf("%d more errors", r.Total-1)
	}
	return fmt.Sprintf("%s, and %s; nothing was imported: fix them and import again", r.First, more)
}

func (im *importing) report() Report {
	r := Report{Records: im.records, DryRun: im.options.DryRun, Types: []Count{}, Errors: im.errs.sorted()}
	r.MoreErrors = im.errs.total - len(r.Errors)
	if im.errs.total == 0 {
		r.Types = im.tally.counts()
		if im.preview != nil {
			r.Preview = im.preview.report()
		}
	}
	return r
}

// tally counts outcomes by type.
type tally map[string]*Count

func (t tally) add(object string, outcome db.Outcome) {
	count := t[object]
	if count == nil {
		count = &Count{Type: object}
		t[object] = count
	}
	switch outcome {
	case db.Created:
		count.Created++
	case db.Updated:
		count.Updated++
	case db.Unchanged:
		count.Unchanged++
	case db.Repeated: // an error
	}
}

func (t tally) counts() []Count {
	counts := []Count{}
	for _, object := range resource.Types() {
		if count := t[object]; count != nil {
			counts = append(counts, *count)
		}
	}
	return counts
}

func (t tally) metadata() map[string]map[string]int {
	types := map[string]map[string]int{}
	for object, c := range t {
		types[object] = map[string]int{"created": c.Created, "updated": c.Updated, "unchanged": c.Unchanged}
	}
	return types
}

// maxErrors is the maximum number of listed errors. The contract requires every error
// (section 5), but a file with more errors is not fixed by hand. Further errors are
// only counted.
const maxErrors = 100_000

// errorList are the errors found so far.
type errorList struct {
	total   int
	listed  []listedError
	invalid map[reference]bool
}

type listedError struct {
	ValidationError
	order int // of the source
}

// reference identifies a record by the member that others refer to it with.
type reference struct {
	to    *resource.Resource
	value string
}

func (l *errorList) full() bool { return len(l.listed) == maxErrors }

// add adds the errors of an entry.
func (l *errorList) add(e *entry) {
	for _, invalid := range e.errs {
		l.total++
		if l.full() {
			continue
		}
		one := listedError{order: e.order, ValidationError: ValidationError{Source: e.source.Name, Line: e.line, Member: invalid.Param, Reason: invalid.Message}}
		if e.resource != nil {
			one.Type = e.resource.Type
		}
		l.listed = append(l.listed, one)
	}
	if e.record == nil && e.resource != nil && !l.full() {
		l.rememberInvalid(e)
	}
}

// rememberInvalid records a reference to an invalid record, so that the records
// that refer to it are not reported, too.
func (l *errorList) rememberInvalid(e *entry) {
	for _, other := range resource.Records() {
		to := other.Reference
		if to.To != e.resource.Resource {
			continue
		}
		members := map[string]any(e.record)
		if members == nil {
			decoder := json.NewDecoder(bytes.NewReader(e.text))
			decoder.UseNumber()
			_ = decoder.Decode(&members) // the valid part of it
		}
		if l.invalid == nil {
			l.invalid = map[reference]bool{}
		}
		l.invalid[reference{to: to.To}] = true
		l.invalid[reference{to.To, fmt.Sprint(members[to.By])}] = true
	}
}

// isConsequence reports whether the store refused a member of an entry because the
// record that it refers to is invalid.
func (l *errorList) isConsequence(e *entry, member string) bool {
	to := e.resource.Reference
	if to.To == nil || to.Member != member {
		return false
	}
	value, given := e.record[to.Member]
	if !given {
		return l.invalid[reference{to: to.To}]
	}
	return l.invalid[reference{to.To, fmt.Sprint(value)}]
}

// sorted lists the errors in the order of the sources.
func (l *errorList) sorted() []ValidationError {
	slices.SortStableFunc(l.listed, func(a, b listedError) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.Line, b.Line))
	})
	all := make([]ValidationError, len(l.listed))
	for i, one := range l.listed {
		all[i] = one.ValidationError
	}
	return all
}

func (l *errorList) refusal() error { return &RefusedError{First: l.sorted()[0], Total: l.total} }

// entry is one record of a source, or its errors.
type entry struct {
	source   *Source
	order    int // of the source
	line     int
	resource *resourceSchema // nil if it is unknown
	text     []byte          // nil if there is no record
	row      *rowError       // of a row of CSV
	record   db.Record       // nil if there are errors
	prepared db.Prepared
	errs     []openapi.ValidationError
}
