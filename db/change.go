package db

import (
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
	if made, err = readBySeq(tx, r, made.seq); err != nil {
		return made, true, err
	}
	if err := r.runAfterWrite(tx, writtenRecord{resource: r, outcome: Created, record: record, row: made}); err != nil {
		return made, true, err
	}
	return made, true, auditDifference(tx, r, "created", storedRow{}, made, nil)
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
	if value, given := record[member]; given && value != before.value(member) {
		return &Error{Code: Invalid, Param: member, Message: member + " can't be changed, because it identifies the record; create a new record instead"}
	}
	return nil
}

// updateWith changes the record with an id and audits the members that differ, with
// further changes of the caller; see modifyRow.
func updateWith(tx *Tx, r *storedResource, id string, further audit.Changes, change func(before storedRow) (Record, error)) (storedRow, error) {
	before, after, err := modifyRow(tx, r, id, change)
	if err != nil || after.seq == 0 && len(further) == 0 {
		return before, err
	}
	if after.seq == 0 {
		after = before
	}
	return after, auditDifference(tx, r, "updated", before, after, further)
}

// modifyRow reads a record once and sets the members that change returns, if they differ.
// It then reads the record again, because SQLite computes its JSON. change must not
// write. after is zero if no member differed.
func modifyRow(tx *Tx, r *storedResource, id string, change func(before storedRow) (Record, error)) (before, after storedRow, err error) {
	if before, err = readByID(tx, r, id); err != nil {
		return before, after, err
	}
	record, err := change(before)
	if err != nil {
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
// before is zero, or changed.
func auditDifference(tx *Tx, r *storedResource, verb string, before, after storedRow, further audit.Changes) error {
	changes := audit.Changes{}
	maps.Copy(changes, further)
	for member, value := range after.members {
		switch member {
		case "object", "id", "created_at", "updated_at", "timeline":
			continue
		}
		if !reflect.DeepEqual(before.members[member], value) {
			changes[member] = audit.Change{From: before.members[member], To: value}
		}
	}
	return tx.AuditChange(r.Type, verb, after.id, changes)
}
