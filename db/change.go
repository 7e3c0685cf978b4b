package db

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
)

// create makes a record, unless one has the same natural key (fresh is false
// then), and tells the audit log of every member that it was given.
func (tx *Tx) create(r *storedResource, record Record) (made storedRow, fresh bool, err error) {
	made, fresh, err = tx.insert(r, record, r.Key)
	if err != nil || !fresh {
		return made, false, err
	}
	if err := r.written(tx, writtenRecord{resource: r, outcome: Created, seq: made.seq, id: made.id, record: record}); err != nil {
		return made, true, err
	}
	if made.resource, err = tx.resource(r, made.seq); err != nil {
		return made, true, err
	}
	return made, true, tx.auditDifference(r, "created", made.id, nil, nil)
}

// update changes the members of the record with an id that are present and
// differ, and tells the audit log of each and of what more the caller changed.
// It returns the record as it is now.
func (tx *Tx) update(r *storedResource, id string, record Record, more Changes) (storedRow, error) {
	known, err := tx.byID(r, id)
	if err != nil {
		return known, err
	}
	before, err := tx.members(r, id)
	if err != nil {
		return known, err
	}
	outcome, err := tx.replace(r, known, record)
	if err != nil || outcome == Unchanged && len(more) == 0 {
		return known, err
	}
	if err := tx.auditDifference(r, "updated", id, before, more); err != nil {
		return known, err
	}
	return tx.byID(r, id)
}

// byID finds a record of the organisation; NotFound where there is none.
func (tx *Tx) byID(r *storedResource, id string) (storedRow, error) {
	var s storedRow
	err := tx.Row("SELECT seq, id, resource FROM "+r.Table+" WHERE org_id = ? AND id = ?", tx.Org, id).Scan(&s.seq, &s.id, &s.resource)
	if none, err := absent(err); none {
		return s, &Error{Code: NotFound, Message: "no " + r.Type + " with this id in this organisation"}
	} else if err != nil {
		return s, storeError(err)
	}
	return s, nil
}

// members reads all members of a record, those that the API does not show too.
func (tx *Tx) members(r *storedResource, id string) (map[string]any, error) {
	var text []byte
	err := tx.Row("SELECT record FROM "+r.Type+"_records WHERE org_id = ? AND id = ?", tx.Org, id).Scan(&text)
	if err != nil {
		return nil, storeError(err)
	}
	var members map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // a double would round large numbers
	err = decoder.Decode(&members)
	return members, err
}

// auditDifference tells the audit log what of a record is not as it was before;
// nil is a record that was not there.
func (tx *Tx) auditDifference(r *storedResource, verb, id string, before map[string]any, more Changes) error {
	after, err := tx.members(r, id)
	if err != nil {
		return err
	}
	changes := Changes{}
	maps.Copy(changes, more)
	for member, value := range after {
		switch member {
		case "object", "id", "created_at", "updated_at", "timeline":
			continue
		}
		if !reflect.DeepEqual(before[member], value) {
			changes[member] = Change{From: before[member], To: value}
		}
	}
	return tx.AuditChange(r.Type, verb, id, changes)
}
