package db

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"govsvc/db/audit"
	"govsvc/db/resource"
	"govsvc/db/sqlite"
)

var links = stored(resource.Link)

func init() { links.hooks = hooks{normalize: findLinked, create: createLink} }

// MaxLinks is how many links a record may have when a person adds one.
const MaxLinks = 200

// findLinked sets the ids of the two records of a link from their keys, and puts the two
// into their order: by type and by id, so that a link has no direction.
func findLinked(tx *Tx, record Record) error {
	var err error
	if record["record_id"], err = linkedID(tx, record, "record"); err != nil {
		return err
	}
	if record["other_id"], err = linkedID(tx, record, "other"); err != nil {
		return err
	}
	type end struct {
		order     int
		kind, key any
		id        string
	}
	endOf := func(name string) end {
		kind, id := record[name+"_type"].(string), record[name+"_id"].(string)
		return end{resource.Find(kind).ImportOrder, kind, record[name+"_key"], id}
	}
	one, other := endOf("record"), endOf("other")
	switch order := cmp.Or(cmp.Compare(one.order, other.order), strings.Compare(one.id, other.id)); {
	case order == 0:
		return &Error{Code: Invalid, Param: "other_key", Message: "other_key names the same record as record_key: a link needs two records"}
	case order > 0:
		record["record_type"], record["record_key"], record["record_id"] = other.kind, other.key, other.id
		record["other_type"], record["other_key"], record["other_id"] = one.kind, one.key, one.id
	}
	return nil
}

// linkedID finds the id of an end of a link by the type and the key of the record.
func linkedID(tx *Tx, record Record, end string) (string, error) {
	kind, _ := record[end+"_type"].(string)
	key, _ := record[end+"_key"].(string)
	r := resource.Find(kind)
	if r == nil || !r.Linked {
		return "", &Error{Code: Invalid, Param: end + "_type", Message: fmt.Sprintf("records of type %.50q can't be linked", kind)}
	}
	id, err := idOfKey(tx, r, key)
	if none, err := Absent(err); err != nil {
		return "", StoreError(err)
	} else if none {
		return "", &Error{Code: Invalid, Param: end + "_key", Message: fmt.Sprintf("there is no %s with the key %.200q; import it first", r.Singular, key)}
	}
	return id, nil
}

// idOfKey finds a record by its key, as the view record_names shows it.
func idOfKey(tx *Tx, r *resource.Resource, key string) (id string, err error) {
	switch r {
	case resource.Incident: // by its key, or by its id if it has none
		err = tx.Row("SELECT id FROM incidents WHERE org_id = ? AND incident_key = ?", tx.Org, key).Scan(&id)
		if none, _ := Absent(err); none {
			err = tx.Row("SELECT id FROM incidents WHERE org_id = ? AND id = ?", tx.Org, strings.ToLower(key)).Scan(&id)
		}
	case resource.Milestone: // by the version of its roadmap, a slash and its key
		number, milestone, _ := strings.Cut(key, "/")
		version, malformed := strconv.ParseInt(number, 10, 64)
		if malformed != nil {
			return "", sqlite.ErrNoRows
		}
		err = tx.Row(`SELECT m.id FROM roadmaps v JOIN milestones m ON m.org_id = v.org_id AND m.roadmap_id = v.id
			WHERE v.org_id = ? AND v.version_number = ? AND m.milestone_key = ?`, tx.Org, version, milestone).Scan(&id)
	default:
		err = tx.Row("SELECT id FROM "+r.Table+" WHERE org_id = ? AND "+r.Key[0]+" = ?", tx.Org, key).Scan(&id)
	}
	return id, err
}

// createLink adds a link between two records that have room for it.
func createLink(tx *Tx, r *storedResource, record Record) (storedRow, error) {
	if err := findLinked(tx, record); err != nil {
		return storedRow{}, err
	}
	for _, end := range []string{"record", "other"} {
		var n int
		err := tx.Row(countLinks, tx.Org, record[end+"_type"], record[end+"_id"]).Scan(&n)
		if err != nil {
			return storedRow{}, StoreError(err)
		}
		if n >= MaxLinks {
			return storedRow{}, &Error{Code: Conflict, Param: "other_key", Message: fmt.Sprintf("the record %v already has %d links, which is the most", record[end+"_key"], n)}
		}
	}
	made, isNew, err := createUnless(tx, r, record, r.Key)
	if err == nil && !isNew {
		err = &Error{Code: Conflict, Param: "other_key", Message: "these two records are already linked"}
	}
	return made, err
}

const countLinks = `SELECT (SELECT count(*) FROM links WHERE org_id = ?1 AND record_type = ?2 AND record_id = ?3) +
	(SELECT count(*) FROM links WHERE org_id = ?1 AND other_type = ?2 AND other_id = ?3)`

// RemoveLink removes a link and audits what it joined. NotFound if the organisation has
// no link with this id.
func (tx *Tx) RemoveLink(id string) error {
	before, err := readByID(tx, links, id)
	if err != nil {
		return err
	}
	if _, err := tx.Exec("DELETE FROM links WHERE seq = ?", before.seq); err != nil {
		return err
	}
	changes := audit.Changes{}
	for _, member := range []string{"record_type", "record_key", "other_type", "other_key"} {
		changes[member] = audit.Change{From: before.members[member]}
	}
	return tx.AuditChange(links.Type, "removed", id, changes)
}
