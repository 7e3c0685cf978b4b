package db

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"govsvc/db/audit"
	"govsvc/db/resource"
)

// storedResource is a resource with the functions that the store calls when its records
// are read and written.
type storedResource struct {
	*resource.Resource
	hooks
	selectCurrent string // the statement of Current; "" without one
	selectRecord  string // the start of the statement of readRecord
	selectObject  string // the statement of objectBySeq
}

// hooks has the functions of one resource. Each can be nil.
type hooks struct {
	// normalize completes a record before it is looked for.
	normalize func(*Tx, Record) error
	// onInsert returns members that are set only when the record is new. It is called with
	// the instant of the change.
	onInsert func(at string, record Record) Record
	// beforeUpdate is called before an import changes a stored record, with the
	// members that differ. It may add to them.
	beforeUpdate func(*Tx, storedRow, Record, audit.Changes) error
	// afterWrite is called after a record was created or updated.
	afterWrite func(*Tx, writtenRecord) error
	// readsOthers says that afterWrite reads other records of the resource. So an import
	// calls it before it inserts the next record.
	readsOthers bool
	// create and update replace createRecord and updateRecord.
	create func(*Tx, *storedResource, Record) (storedRow, error)
	update func(tx *Tx, r *storedResource, id string, record Record) (storedRow, error)
	// put and find replace the functions that import other resources.
	put  func(*Tx, *storedResource, Record) (PutResult, error)
	find func(*Tx, *storedResource, Record) (storedRow, error)
	// prepareNew and insertNew replace what an import does with several new records.
	prepareNew func(*Preparer, *Prepared) error
	insertNew  func(*Import, []Prepared) (inserted bool, err error)
}

// storedResources are all resources by type. The file of a resource sets its
// hooks; a resource without hooks needs no such file.
var storedResources = newStoredResources()

func newStoredResources() map[string]*storedResource {
	all := map[string]*storedResource{}
	for _, r := range resource.All() {
		s := &storedResource{Resource: r}
		if r.Current.Operation != "" {
			s.selectCurrent = "SELECT " + r.Current.Column + " FROM " + r.Table + " WHERE org_id = ? ORDER BY " + r.List.OrderBy + " DESC LIMIT 1"
		}
		members := "resource"
		if r.ImportOrder > 0 {
			members = "(SELECT record FROM " + r.Type + "_records r WHERE r.org_id = t.org_id AND r.id = t.id)"
		}
		s.selectRecord = "SELECT seq, id, resource, " + members + " FROM " + r.Table + " t WHERE "
		s.selectObject = "SELECT resource FROM " + r.Table + " WHERE seq = ?"
		all[r.Type] = s
	}
	return all
}

func stored(r *resource.Resource) *storedResource { return storedResources[r.Type] }

// findResource finds a resource of the data format.
func findResource(object string) (*storedResource, error) {
	s := storedResources[object]
	if s == nil || s.ImportOrder == 0 {
		return nil, fmt.Errorf("no record type %q", object)
	}
	return s, nil
}

// RecordMembers lists the members of a resource that are columns.
func (d *DB) RecordMembers(r *resource.Resource) []string {
	members := slices.DeleteFunc(slices.Clone(d.columns[r.Table]), func(c string) bool {
		return c == "seq" || c == "org_id" || strings.HasSuffix(c, "_seq")
	})
	slices.Sort(members)
	return members
}

// Current reads what a resource's Current describes, as JSON; nil if there is no
// record.
func (d *DB) Current(ctx context.Context, org Organisation, r *resource.Resource) ([]byte, error) {
	var text []byte
	if _, err := Absent(d.Row(ctx, stored(r).selectCurrent, org.Org).Scan(&text)); err != nil {
		return nil, StoreError(err)
	}
	return text, nil
}

func (r *storedResource) runAfterWrite(tx *Tx, w writtenRecord) error {
	if r.afterWrite == nil {
		return nil
	}
	return r.afterWrite(tx, w)
}

// Record is a record of the data format (contract, section 5) that was checked
// against its schema. Numbers are json.Number.
type Record map[string]any

// writtenRecord is a record that was created or updated.
type writtenRecord struct {
	resource *storedResource
	outcome  Outcome
	record   Record    // what was written
	before   storedRow // zero if the record was created
	row      storedRow // the row after the change; after an import, only its seq and id
}

// Record reads a record with all of its members, as JSON; NotFound if the
// organisation has none with this id.
func (d *DB) Record(ctx context.Context, org Org, object, id string) ([]byte, error) {
	if _, err := findResource(object); err != nil {
		return nil, err
	}
	var record []byte
	err := d.Row(ctx, "SELECT record FROM "+object+"_records WHERE org_id = ? AND id = ?", org, id).Scan(&record)
	if none, err := Absent(err); none {
		return nil, &Error{Code: NotFound, Message: "no " + object + " with this id in this organisation"}
	} else if err != nil {
		return nil, StoreError(err)
	}
	return record, nil
}
