package db

import (
	"encoding/json"
	"maps"
	"reflect"

	"govsvc/db/audit"
	"govsvc/db/resource"
)

// Object is a record that was created or changed.
type Object struct {
	ID   string
	JSON []byte // as the API returns it
}

// Create creates a record for the API or the dashboard, and audits its members. A
// record with the same natural key is a Conflict.
func (tx *Tx) Create(of *resource.Resource, record Record) (Object, error) {
	r := stored(of)
	if r.create == nil {
		return created(createRecord(tx, r, record))
	}
	return created(r.create(tx, r, record))
}

func created(row storedRow, err error) (Object, error) { return Object{row.id, row.object}, err }

// Update sets the members of a record that are present and differ, and audits
// each. The members of the natural key can't change.
func (tx *Tx) Update(of *resource.Resource, id string, record Record) (Object, error) {
	r := stored(of)
	if r.update == nil {
		return created(updateRecord(tx, r, id, record))
	}
	return created(r.update(tx, r, id, record))
}

// ErrChanged refuses a change of a record that has changed since it was read.
var ErrChanged = &Error{Code: Conflict, Message: "this record has just been changed; try again"}

// CheckUnchanged returns ErrChanged if a record has changed since it was read with an
// updated_at.
func (tx *Tx) CheckUnchanged(of *resource.Resource, id, updatedAt string) error {
	var present string
	err := tx.Row("SELECT updated_at FROM "+of.Table+" WHERE org_id = ? AND id = ?", tx.Org, id).Scan(&present)
	if none, err := Absent(err); none {
		return nil // Update reports it
	} else if err != nil {
		return StoreError(err)
	}
	if present != updatedAt {
		return ErrChanged
	}
	return nil
}

// createRecord implements Create for resources without an operation of their own.
func createRecord(tx *Tx, r *storedResource, record Record) (storedRow, error) {
	if r.normalize != nil {
		if err := r.normalize(tx, record); err != nil {
			return storedRow{}, err
		}
	}
	made, isNew, err := createUnless(tx, r, record, r.Key)
	if err == nil && !isNew {
		key := r.Key[len(r.Key)-1]
		err = &Error{Code: Conflict, Param: key, Message: "another " + r.Singular + " already has this " + key}
	}
	return made, err
}

// createUnless creates a record and audits it. isNew is false if unless, a unique
// set of columns, identifies another record.
func createUnless(tx *Tx, r *storedResource, record Record, unless []string) (made storedRow, isNew bool, err error) {
	made, isNew, err = insertRow(tx, r, record, unless)
	if err != nil || !isNew {
		return made, false, err
	}
	if made.object, err = objectBySeq(tx, r, made.seq); err != nil {
		return made, true, err
	}
	if err := r.runAfterWrite(tx, writtenRecord{resource: r, outcome: Created, record: record, row: made}); err != nil {
		return made, true, err
	}
	return made, true, auditCreated(tx, r, record, made)
}

// auditCreated appends the audit event of a record that was created, from the values
// that insertRow wrote.
func auditCreated(tx *Tx, r *storedResource, record Record, made storedRow) error {
	if len(r.Derived) > 0 { // the record need not have these members
		whole, err := readBySeq(tx, r, made.seq)
		if err != nil {
			return err
		}
		return auditDifference(tx, r, "created", storedRow{}, whole)
	}
	tx.changesText = made.set.appendChanges(tx.changesText[:0], record, made.given)
	return auditWrite(tx, r.Type, "created", made.id, audit.Metadata{"changes": json.RawMessage(tx.changesText)})
}

// updateRecord implements Update for resources without an operation of their own.
func updateRecord(tx *Tx, r *storedResource, id string, record Record) (storedRow, error) {
	return updateWith(tx, r, id, nil, func(before storedRow) (Record, error) {
		for _, member := range r.Key {
			if err := keepMember(record, before, member); err != nil {
				return nil, err
			}
			record[member] = before.value(member) // hooks read it
		}
		return record, nil
	})
}

// keepMember refuses a change of a member that identifies the record.
func keepMember(record Record, before storedRow, member string) error {
	if value, given := record[member]; given && !sameMember(value, before.value(member)) {
		return &Error{Code: Invalid, Param: member, Message: member + " can't be changed, because it identifies the record; create a new record instead"}
	}
	return nil
}

// sameMember compares a member with the value that is stored, where numbers are
// int64 or float64.
func sameMember(given, stored any) bool {
	number, ok := given.(json.Number)
	if !ok {
		return given == stored
	}
	value, err := columnNumber("", number)
	return err == nil && sameValue(value, stored)
}

// updateWith changes the record with an id and audits the members that differ, with
// further changes of the caller. change returns the members to set and must not
// write. The record is read once before the change, and its JSON once after it, because
// SQLite computes that.
func updateWith(tx *Tx, r *storedResource, id string, further audit.Changes, change func(before storedRow) (Record, error)) (storedRow, error) {
	before, err := readRow(tx, r, findersOf(tx, r).byID, tx.Org, id)
	if err != nil {
		return before, missingID(r, err)
	}
	record, err := change(before)
	if err != nil {
		return before, err
	}
	done, err := setDifferent(tx, r, before, record)
	if err != nil {
		return before, err
	}
	after := storedRow{seq: before.seq, id: before.id}
	if after.object, err = objectBySeq(tx, r, before.seq); err != nil {
		return after, err
	}
	if done.Outcome == Updated {
		if err := r.runAfterWrite(tx, writtenRecord{resource: r, outcome: Updated, record: record, before: before, row: after}); err != nil {
			return after, err
		}
	} else if len(further) == 0 {
		return after, nil
	}
	changes := audit.Changes{}
	maps.Copy(changes, further)
	maps.Copy(changes, done.Changes)
	return after, tx.AuditChange(r.Type, "updated", id, changes)
}

// modifyRow reads a record once, sets the members of a record that differ, and reads
// it again. after is zero if nothing differed.
func modifyRow(tx *Tx, r *storedResource, id string, record Record) (before, after storedRow, err error) {
	if before, err = readByID(tx, r, id); err != nil {
		return before, after, err
	}
	outcome, err := replaceMembers(tx, r, before.seq, record)
	if err != nil || outcome == Unchanged {
		return before, after, err
	}
	if after, err = readBySeq(tx, r, before.seq); err != nil {
		return before, after, err
	}
	return before, after, r.runAfterWrite(tx, writtenRecord{resource: r, outcome: Updated, record: record, before: before, row: after})
}

// auditDifference appends the audit event of a record that was created, where
// before is zero, or changed. Both were read with all members.
func auditDifference(tx *Tx, r *storedResource, verb string, before, after storedRow) error {
	return tx.AuditChange(r.Type, verb, after.id, difference(before, after))
}

// difference returns the members that differ, except those of every record.
func difference(before, after storedRow) audit.Changes {
	changes := audit.Changes{}
	for member, value := range after.members {
		switch member {
		case "object", "id", "created_at", "updated_at", "timeline":
			continue
		}
		if !reflect.DeepEqual(before.members[member], value) {
			changes[member] = audit.Change{From: before.members[member], To: value}
		}
	}
	return changes
}
