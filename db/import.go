package db

import (
	"encoding/json"
	"slices"
	"strings"

	"govsvc/db/audit"
	"govsvc/db/sqlite"
)

// The outcomes of Put.
const (
	Unchanged Outcome = iota
	Created
	Updated
	// Repeated is a record that the same transaction has put before. It is not
	// written, because it is not known which of the two is right.
	Repeated
)

// Outcome is the result of Put.
type Outcome int

// ImportRules are the rules for audit events and reasons of an import.
type ImportRules struct {
	// Reason is recorded with each change; "" if none was given. It is also the
	// severity_change_reason of the risks whose record has none: of those that need
	// one and, without RequireReasons, of all that are re-rated.
	Reason string
	// RequireReasons refuses a change of a risk that needs a reason and has none
	// (specification, States, rule 2).
	RequireReasons bool
	// Preview reports a missing reason in PutResult, and does not refuse it.
	Preview bool
	// OneEvent leaves out the events of the records.
	OneEvent bool
}

// PutResult is the result of an import for one record.
type PutResult struct {
	Outcome Outcome
	ID      string // of the record; a signal that is superseded gets a new one
	// Changes are the members that a record was given or that have changed, in
	// the form of the audit log. nil outside of an Import, and for a new record
	// outside of a preview.
	Changes audit.Changes
	// LacksReason: the change needs a reason, and neither the record nor the
	// import has one. Only in a preview.
	LacksReason bool
}

// Put creates a record or, if one with its natural key exists, sets the members that
// are present and differ. `id` and `created_at` count for a new record only. If
// nothing differs, nothing is written and no event is enqueued. Put writes no audit
// event; see Import for one for each record.
func (tx *Tx) Put(object string, record Record) (Outcome, error) {
	done, err := putObject(tx, object, record)
	return done.Outcome, err
}

func putObject(tx *Tx, object string, record Record) (PutResult, error) {
	r, err := findResource(object)
	if err != nil {
		return PutResult{}, err
	}
	if r.put != nil {
		return r.put(tx, r, record)
	}
	return putRecord(tx, r, record)
}

// putRecord first tries what the record before it needed: to find an existing
// record, or to insert a new one. The records of most imports all need the same.
func putRecord(tx *Tx, r *storedResource, record Record) (PutResult, error) {
	if r.normalize != nil {
		if err := r.normalize(tx, record); err != nil {
			return PutResult{}, err
		}
	}
	if tx.lastExisted[r] {
		existing, err := findRow(tx, r, record)
		if err == nil {
			return putExisting(tx, r, existing, record)
		} else if !Is(err, NotFound) {
			return PutResult{}, err
		}
		tx.lastExisted[r] = false
	}
	made, isNew, err := insertRow(tx, r, record, r.Key)
	if err != nil {
		return PutResult{}, err
	}
	if !isNew {
		if tx.lastExisted == nil {
			tx.lastExisted = map[*storedResource]bool{}
		}
		tx.lastExisted[r] = true
		existing, err := findRow(tx, r, record)
		if err != nil {
			return PutResult{}, err
		}
		return putExisting(tx, r, existing, record)
	}
	isFirstPut(tx, r, made.seq)
	return PutResult{Outcome: Created, ID: made.id, Changes: made.changes},
		r.runAfterWrite(tx, writtenRecord{resource: r, outcome: Created, record: record, row: made})
}

// putExisting changes a record that existed before the import.
func putExisting(tx *Tx, r *storedResource, existing storedRow, record Record) (PutResult, error) {
	if !isFirstPut(tx, r, existing.seq) {
		return PutResult{Outcome: Repeated, ID: existing.id}, nil
	}
	return putMembers(tx, r, existing, record)
}

// putMembers sets the members that are present and differ from the values of the
// row.
func putMembers(tx *Tx, r *storedResource, before storedRow, record Record) (PutResult, error) {
	done, err := setDifferent(tx, r, before, record)
	if err != nil || done.Outcome == Unchanged {
		return done, err
	}
	return done, r.runAfterWrite(tx, writtenRecord{resource: r, outcome: Updated, record: record, before: before, row: storedRow{seq: before.seq, id: before.id}})
}

// setDifferent sets the members that are present and differ from the values of the
// row. See replaceMembers for updated_at.
func setDifferent(tx *Tx, r *storedResource, before storedRow, record Record) (PutResult, error) {
	done := PutResult{ID: before.id}
	columns := tx.db.columns[r.Table]
	differ := Record{}
	var changes audit.Changes
	for i, column := range columns {
		given, present := record[column]
		if !present || !settable(column) {
			continue
		}
		value, err := r.columnValue(column, given)
		if err != nil {
			return done, err
		}
		if sameValue(value, before.values[i]) {
			continue
		}
		differ[column] = given
		if changes == nil {
			changes = audit.Changes{}
		}
		if !slices.Contains(r.Internal, column) {
			changes[column] = audit.Change{From: r.memberValue(column, before.values[i]), To: r.memberValue(column, value)}
		}
	}
	if len(differ) == 0 {
		return done, nil
	}
	done.Outcome, done.Changes = Updated, changes
	if r.beforeUpdate != nil {
		if err := r.beforeUpdate(tx, before, record, changes); err != nil {
			return done, err
		}
	}
	set := columnSetOf(tx, r, differ)
	args := make([]any, 0, 4+len(set.names))
	args, err := set.values(append(args, before.seq, stampOf(tx, record, "updated_at"), tx.At(), tx.Org), differ)
	if err != nil {
		return done, err
	}
	if _, err = tx.Exec(set.update, args...); sqlite.IsUnique(err) {
		return done, &Error{Code: Invalid, Message: "another " + r.Type + " has this key"}
	}
	return done, err
}

// rowSet is a set of rows, with a bit for each. The rows of an import are close
// together in the table, so that millions of them need little memory.
type rowSet map[int64]*[rowsPerPage / 64]uint64

const rowsPerPage = 1024

// add adds a row and reports whether it was not in the set before.
func (s rowSet) add(seq int64) bool {
	page := s[seq/rowsPerPage]
	if page == nil {
		page = new([rowsPerPage / 64]uint64)
		s[seq/rowsPerPage] = page
	}
	word, bit := &page[seq%rowsPerPage/64], uint64(1)<<(seq%64)
	isNew := *word&bit == 0
	*word |= bit
	return isNew
}

// isFirstPut records that the transaction puts a record into a row, and reports
// whether it is the first one.
func isFirstPut(tx *Tx, r *storedResource, seq int64) bool {
	rows := tx.putRows[r]
	if rows == nil {
		if tx.putRows == nil {
			tx.putRows = map[*storedResource]rowSet{}
		}
		rows = rowSet{}
		tx.putRows[r] = rows
	}
	return rows.add(seq)
}

// Find returns the row that Put writes a record to, or 0 if there is none, also because
// Put would refuse the record. Rows of different types may have the same number.
func (tx *Tx) Find(object string, record Record) (row int64, err error) {
	r, err := findResource(object)
	if err != nil {
		return 0, err
	}
	if r.normalize != nil {
		err = r.normalize(tx, record)
	}
	var existing storedRow
	if err == nil {
		existing, err = findRow(tx, r, record)
	}
	if Is(err, NotFound) || Is(err, Invalid) {
		return 0, nil
	}
	return existing.seq, err
}

// Import is an import in a transaction. Each record that it creates or changes has
// an audit event, which contains the id of the import.
type Import struct {
	ID string

	tx          *Tx
	rules       ImportRules
	lacksReason bool  // the current record needs a reason and has none
	events      []any // arguments for audit events that wait to be stored together
}

// NewImport starts an import; a transaction has at most one.
func (tx *Tx) NewImport(rules ImportRules) *Import {
	im := &Import{ID: tx.NewID(), tx: tx, rules: rules}
	tx.importing = im
	return im
}

// Put writes a record as Tx.Put does, with its audit event.
func (im *Import) Put(object string, record Record) (PutResult, error) {
	im.lacksReason = false
	done, err := putObject(im.tx, object, record)
	if err != nil || done.Outcome != Created && done.Outcome != Updated {
		return done, err
	}
	if done.LacksReason = im.lacksReason; im.lacksReason && !im.rules.Preview {
		return done, errLacksReason
	}
	if im.rules.OneEvent {
		return done, nil
	}
	verb, metadata := "updated", audit.Metadata{"changes": done.Changes}
	if done.Outcome == Created {
		verb = "created"
		if done.Changes == nil {
			metadata["changes"] = json.RawMessage(im.tx.changesText)
		}
	}
	return done, auditWrite(im.tx, object, verb, done.ID, im.metadata(metadata))
}

var errLacksReason = &Error{
	Code: Invalid, Param: reasonMember,
	Message: "severity_change_reason is required, with at least 20 characters: " +
		"this change lowers or clears a severity or a likelihood, or closes, accepts or mitigates a CRITICAL risk",
}

// Complete appends the event of the import itself, after those of its records.
func (im *Import) Complete(metadata audit.Metadata) error {
	return im.tx.Audit(audit.Event{
		Action: "import.completed", Category: audit.DataChange, Severity: audit.SeverityWrite,
		ResourceType: "import", ResourceID: im.ID, Metadata: im.metadata(metadata),
	})
}

// metadata adds the members that all events of the import have.
func (im *Import) metadata(m audit.Metadata) audit.Metadata {
	m["import_id"] = im.ID
	if im.rules.Reason != "" {
		m["reason"] = im.rules.Reason
	}
	return m
}

// newMember is a member of new records with the same columns.
type newMember struct {
	name  string
	begin string // the start of its change in an audit event, before the value
	at    int    // the index of its value in the values of the set, or a constant below
	value any    // of a default
}

// The values of newMember.at for members that are not columns of the set.
const (
	atDefault = -1
	atDerived = -2
)

// created prepares the changes of a new record for its audit event. If only the
// event needs them, it makes the JSON directly and returns nil, because most
// imports have many new records.
func (im *Import) created(r *storedResource, record Record, made storedRow) audit.Changes {
	if r.put != nil || im.rules.Preview {
		return made.set.changes(record, made.given)
	}
	if im.rules.OneEvent {
		return nil
	}
	im.tx.changesText = made.set.appendChanges(im.tx.changesText[:0], record, made.given)
	return nil
}

// newMembers lists the members of a new record by name, including those that the
// table sets by default.
func newMembers(tx *Tx, r *storedResource, set *columnSet) []newMember {
	var all []newMember
	add := func(name string, at int, value any) {
		begin := string(audit.AppendText(nil, name)) + `:{"from":null,"to":`
		all = append(all, newMember{name, begin, at, value})
	}
	for i, column := range set.names {
		if !slices.Contains(r.Internal, column) {
			add(column, i, nil)
		}
	}
	for column, value := range tx.db.defaults[r.Table] {
		if !slices.Contains(set.names, column) {
			add(column, atDefault, value)
		}
	}
	for _, member := range r.Derived {
		add(member, atDerived, nil)
	}
	slices.SortFunc(all, func(a, b newMember) int { return strings.Compare(a.name, b.name) })
	return all
}

// valueIn returns a member's value in a new record, and whether the changes list it.
// They do not list null, as in the API's events.
func (s *columnSet) valueIn(m *newMember, record Record, values []any) (value any, listed bool) {
	switch m.at {
	case atDefault:
		return m.value, true
	case atDerived:
		return record[m.name], true
	}
	return s.resource.memberValue(m.name, values[m.at]), values[m.at] != nil
}

// changes returns the members of a new record as changes. values are those of the
// columns of the set.
func (s *columnSet) changes(record Record, values []any) audit.Changes {
	changes := make(audit.Changes, len(s.members))
	for i := range s.members {
		if value, listed := s.valueIn(&s.members[i], record, values); listed {
			changes[s.members[i].name] = audit.Change{To: value}
		}
	}
	return changes
}

// appendChanges appends the same changes as the JSON that the audit log stores.
func (s *columnSet) appendChanges(to []byte, record Record, values []any) []byte {
	separator := byte('{')
	for i := range s.members {
		value, listed := s.valueIn(&s.members[i], record, values)
		if !listed {
			continue
		}
		if long := audit.DigestOf(value); long != nil {
			value = long
		}
		to = append(append(to, separator), s.members[i].begin...)
		to = append(audit.AppendValue(to, value), '}')
		separator = ','
	}
	if separator == '{' {
		to = append(to, '{')
	}
	return append(to, '}')
}
