package db

import (
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"

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
	args, err := set.values(append(args, before.seq, stampOf(tx.At(), record, "updated_at"), tx.At(), tx.Org), differ)
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
	lacksReason bool        // the current record needs a reason and has none
	events      []any       // arguments for audit events that wait to be stored together
	row         []any       // arguments of insertRows; their memory is used again
	existing    atomic.Bool // the last record existed before, so that the next ones probably do
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
	if done.Outcome == Created && done.Changes == nil {
		return done, im.auditNew(object, done.ID)
	}
	verb := "updated"
	if done.Outcome == Created {
		verb = "created"
	}
	return done, auditWrite(im.tx, object, verb, done.ID, im.metadata(audit.Metadata{"changes": done.Changes}))
}

// auditNew appends the event of a new record. Its changes are in tx.changesText.
func (im *Import) auditNew(object, id string) error {
	return auditWrite(im.tx, object, "created", id, im.metadata(audit.Metadata{"changes": json.RawMessage(im.tx.changesText)}))
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

// rowsAtOnce is how many new records of an import one statement writes. SQLite keeps its
// place in each index between the rows of a statement.
const rowsAtOnce = 64

// maxPreparedSets bounds the sets of columns for which an import has such a statement, of
// about 100 KB each.
const maxPreparedSets = 16

// Prepared is a record for Import.PutAll. A record that is probably new has all that its
// insertion writes.
type Prepared struct {
	object string
	record Record
	set    *columnSet // nil if the record is not prepared as a new one
	id     string
	row    []any  // for set.insertRows
	event  string // of the creation
}

// Preparer prepares records, so that the writer has less to do. One goroutine uses it,
// while another one may call PutAll.
type Preparer struct {
	im       *Import
	tx       *Tx            // only what does not change: the actor and the instant
	time     string         // of the events
	metadata audit.Metadata // of the events
	sets     map[columnSetKey]*columnSet
	text     []byte // of the last event or of its changes; its memory is used again
}

// Preparer returns the preparer of an import.
func (im *Import) Preparer() (*Preparer, error) {
	head, err := readAuditHead(im.tx)
	if err != nil {
		return nil, err
	}
	return &Preparer{im: im, tx: im.tx, time: head.next(im.tx), metadata: im.metadata(audit.Metadata{}), sets: map[columnSetKey]*columnSet{}}, nil
}

// Prepare prepares a record, which is not used again except by PutAll. It reports no
// error, because PutAll reports it.
func (p *Preparer) Prepare(object string, record Record) Prepared {
	one := Prepared{object: object, record: record}
	r, err := findResource(object)
	if err == nil && !p.im.existing.Load() && !p.im.rules.Preview && !p.im.rules.OneEvent {
		if r.prepareNew != nil {
			err = r.prepareNew(p, &one)
		} else if r.put == nil && r.normalize == nil && !r.readsOthers {
			err = p.prepareNew(&one, r)
		}
	}
	if err != nil {
		one.set = nil
	}
	return one
}

// prepareNew prepares the row and the event of a new record.
func (p *Preparer) prepareNew(one *Prepared, r *storedResource) (err error) {
	if r.onInsert != nil {
		defer r.complete(p.tx.At(), one.record)()
	}
	if one.set = p.setOf(r, one.record); one.set == nil {
		return nil
	}
	set, width := one.set, one.set.width()
	one.id = idOf(p.tx, one.record)
	if one.row, err = set.row(make([]any, 0, width), p.tx.Org, one.id, p.tx.At(), one.record); err != nil {
		return err
	}
	p.text = set.appendChanges(p.text[:0], one.record, one.row[width-len(set.names):])
	p.metadata["changes"] = json.RawMessage(p.text)
	event := p.tx.entryOf(writeEvent(p.tx, r.Type, "created", one.id, p.metadata), p.time)
	changes := len(p.text)
	p.text = event.AppendJSON(p.text)
	one.event = string(p.text[changes:])
	return nil
}

// setOf returns the column set of a record, or nil if there are too many.
func (p *Preparer) setOf(r *storedResource, record Record) *columnSet {
	key := columnsIn(p.tx.db, r, record)
	set := p.sets[key]
	if set == nil && len(p.sets) < maxPreparedSets {
		set = newColumnSet(p.tx.db, r, key)
		set.members = newMembers(p.tx.db, r, set)
		set.insertRows = set.insert + strings.Repeat(", (?"+strings.Repeat(", ?", set.width()-1)+")", rowsAtOnce-1)
		p.sets[key] = set
	}
	return set
}

// PutAll writes records as Put does, in their order, and calls done with the result or
// the error of each. It stops if done returns an error.
func (im *Import) PutAll(records []Prepared, done func(i int, result PutResult, err error) error) error {
	for i := 0; i < len(records); {
		rows := im.newRows(records[i:])
		inserted := false
		if rows > 1 {
			var err error
			if inserted, err = im.insertRows(records[i : i+rows]); err != nil {
				return err
			}
		}
		for end := i + rows; i < end; i++ {
			result, err := PutResult{Outcome: Created, ID: records[i].id}, error(nil)
			if !inserted {
				result, err = im.Put(records[i].object, records[i].record)
				im.existing.Store(err == nil && result.Outcome != Created)
			}
			if err := done(i, result, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// newRows returns how many records to write next: rowsAtOnce that have the same columns
// and are probably new, or one.
func (im *Import) newRows(records []Prepared) int {
	set := records[0].set
	if set == nil || len(records) < rowsAtOnce || im.existing.Load() {
		return 1
	}
	for i := range records[:rowsAtOnce] {
		if records[i].set != set {
			return 1
		}
	}
	return rowsAtOnce
}

// insertRows writes new records with one statement, and their events. It writes nothing
// if one of them exists or is invalid.
func (im *Import) insertRows(records []Prepared) (inserted bool, err error) {
	r := storedResources[records[0].object]
	if r.insertNew != nil {
		return r.insertNew(im, records)
	}
	last, err := im.insertTogether(records)
	if last == 0 || err != nil {
		return false, err
	}
	head, err := readAuditHead(im.tx)
	if err != nil {
		return false, err
	}
	for i := range records {
		made := storedRow{seq: last - int64(len(records)-1-i), id: records[i].id}
		isFirstPut(im.tx, r, made.seq)
		w := writtenRecord{resource: r, outcome: Created, record: records[i].record, row: made}
		if err := r.runAfterWrite(im.tx, w); err != nil {
			return false, err
		}
		im.tx.eventText = append(im.tx.eventText[:0], records[i].event...)
		if err := chainEvent(im.tx, head, records[i].event); err != nil {
			return false, err
		}
	}
	return true, nil
}

// insertTogether inserts rows with one statement and returns the last rowid; those of the
// others precede it. It returns 0 and inserts nothing if one of the records exists or is
// invalid, so that they are written one by one.
func (im *Import) insertTogether(records []Prepared) (last int64, err error) {
	im.row = im.row[:0]
	for i := range records {
		im.row = append(im.row, records[i].row...)
	}
	last, err = im.tx.InsertRows(records[0].set.insertRows, im.row...)
	clear(im.row)
	if err != nil && !sqlite.IsTransient(err) {
		return 0, nil //nolint:nilerr // Put reports the error with its record
	}
	return last, StoreError(err)
}
