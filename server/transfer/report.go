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

// Report is what an import did, or why it did nothing.
type Report struct {
	// Records is how many were read, the faulty ones among them.
	Records int  `json:"records"`
	DryRun  bool `json:"dry_run"`
	// Types in the order of db.RecordTypes, those that were met; empty where
	// nothing was written.
	Types []Count `json:"types"`
	// Faults in the order of the sources; the first of them where there are
	// very many.
	Faults []Fault `json:"faults"`
	// MoreFaults is how many are not listed.
	MoreFaults int `json:"more_faults"`
	// Preview is nil where none was asked for, or where there are faults.
	Preview *Preview `json:"-"`
}

// Count is what became of the records of a type.
type Count struct {
	Type      string `json:"type"`
	Created   int    `json:"created"`
	Updated   int    `json:"updated"`
	Unchanged int    `json:"unchanged"`
}

// Fault is one thing wrong with a source.
type Fault struct {
	Source string `json:"source"`
	// Line is where the record starts, from 1.
	Line int `json:"line"`
	// Type and Member are empty where they are not known.
	Type   string `json:"type,omitempty"`
	Member string `json:"member,omitempty"`
	Reason string `json:"reason"`
}

// String is the fault as one line for the terminal.
func (f Fault) String() string {
	return fmt.Sprintf("%s, line %d: %s", f.Source, f.Line, f.Reason)
}

// Refused is the error of an import that wrote nothing because of faults; the
// report lists them.
type Refused struct {
	First Fault
	Total int
}

func (r *Refused) Error() string {
	if r.Total == 1 {
		return r.First.String() + "; nothing was imported: mend it and import again"
	}
	more := "1 more fault"
	if r.Total > 2 {
		more = fmt.Sprintf("%d more faults", r.Total-1)
	}
	return fmt.Sprintf("%s, and %s; nothing was imported: mend them and import again", r.First, more)
}

func (im *importing) report() Report {
	r := Report{Records: im.records, DryRun: im.options.DryRun, Types: []Count{}, Faults: im.faults.sorted()}
	r.MoreFaults = im.faults.total - len(r.Faults)
	if im.faults.total == 0 {
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
	case db.Repeated: // a fault
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

// mostFaults bounds how many faults are kept, which is all of any file that
// somebody would mend by hand (contract, section 5); the rest is counted.
const mostFaults = 100_000

// faults are what was found wrong so far.
type faults struct {
	total  int
	listed []listed
	broken map[reference]bool
}

type listed struct {
	Fault
	order int // of the source
}

// reference is a record by the value of the member that others refer to it with.
type reference struct {
	to    *resource.Resource
	value string
}

func (f *faults) full() bool { return len(f.listed) == mostFaults }

// add notes the faults of an entry, if it has any.
func (f *faults) add(e *entry) {
	for _, fault := range e.faults {
		f.total++
		if f.full() {
			continue
		}
		one := listed{order: e.order, Fault: Fault{Source: e.source.Name, Line: e.line, Member: fault.Param, Reason: fault.Message}}
		if e.resource != nil {
			one.Type = e.resource.Type
		}
		f.listed = append(f.listed, one)
	}
	if e.record == nil && e.resource != nil && !f.full() {
		f.remember(e)
	}
}

// remember notes that a faulty record could not be written, lest those that
// refer to it are called faulty too.
func (f *faults) remember(e *entry) {
	for _, other := range resource.Records() {
		to := other.Reference
		if to.To != e.resource.Resource {
			continue
		}
		members := map[string]any(e.record)
		if members == nil {
			decoder := json.NewDecoder(bytes.NewReader(e.text))
			decoder.UseNumber()
			_ = decoder.Decode(&members) // as much of it as can be read
		}
		if f.broken == nil {
			f.broken = map[reference]bool{}
		}
		f.broken[reference{to: to.To}] = true
		f.broken[reference{to.To, fmt.Sprint(members[to.By])}] = true
	}
}

// follow tells whether the store refused an entry, for a member, because the
// record that it refers to is faulty itself.
func (f *faults) follow(e *entry, member string) bool {
	to := e.resource.Reference
	if to.To == nil || to.Member != member {
		return false
	}
	value, given := e.record[to.Member]
	if !given {
		return f.broken[reference{to: to.To}]
	}
	return f.broken[reference{to.To, fmt.Sprint(value)}]
}

// sorted lists the faults in the order of the sources.
func (f *faults) sorted() []Fault {
	slices.SortStableFunc(f.listed, func(a, b listed) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.Line, b.Line))
	})
	all := make([]Fault, len(f.listed))
	for i, one := range f.listed {
		all[i] = one.Fault
	}
	return all
}

func (f *faults) refusal() error { return &Refused{First: f.sorted()[0], Total: f.total} }

// entry is one record of a source, or what is wrong with it.
type entry struct {
	source   *Source
	order    int // of the source
	line     int
	resource *resourceSchema // nil where it is not known
	text     []byte
	record   db.Record // nil where there are faults
	faults   []openapi.ValidationError
}
