package db

import (
	"maps"
	"strings"
	"time"
)

// Save makes a record (id is "") or changes the members given of the one with
// the id, with all that follows when an import writes it, and tells the audit
// log of each member. A record that is there already is a Conflict; the members
// that it is found again by can't be changed. It returns the record's id.
func (tx *Tx) Save(object, id string, record Record) (string, error) {
	r, err := findResource(object)
	switch {
	case err != nil:
		return "", err
	case r == signals:
		return tx.saveSignal(id, record)
	case id != "":
		return id, tx.saveChange(r, id, record)
	}
	if r.normalize != nil {
		if err := r.normalize(tx, record); err != nil {
			return "", err
		}
	}
	made, fresh, err := tx.create(r, record)
	if err == nil && !fresh {
		key := r.Key[len(r.Key)-1]
		err = &Error{Code: Conflict, Param: key, Message: words(object) + " with this " + key + " is there already"}
	}
	return made.id, err
}

// words is an object's name with its article.
func words(object string) string {
	article := "a "
	if strings.ContainsAny(object[:1], "aeio") {
		article = "an "
	}
	return article + strings.ReplaceAll(object, "_", " ")
}

func (tx *Tx) saveChange(r *storedResource, id string, record Record) error {
	before, err := tx.savedMembers(r, id)
	if err != nil {
		return err
	}
	for _, member := range r.Key {
		if err := keepMember(record, before, member); err != nil {
			return err
		}
		record[member] = before[member] // what follows a change looks for it
	}
	_, err = tx.update(r, id, record, nil)
	return err
}

// savedMembers reads a record that is to be changed.
func (tx *Tx) savedMembers(r *storedResource, id string) (map[string]any, error) {
	if _, err := tx.byID(r, id); err != nil {
		return nil, err
	}
	return tx.members(r, id)
}

func keepMember(record, before Record, member string) error {
	if value, given := record[member]; given && value != before[member] {
		return &Error{Code: Invalid, Param: member, Message: member + " can't be changed: the record is found again by it; make a new one instead"}
	}
	return nil
}

// saveSignal adds a value of a signal, which supersedes the type's present one,
// or corrects that one where it is of the same instant. What a change does not
// give stays as it is.
func (tx *Tx) saveSignal(id string, record Record) (string, error) {
	before, err := tx.presentSignal(id, record)
	if err != nil {
		return "", err
	}
	verb := "created"
	if before != nil {
		verb = "updated"
		if err := laterThan(before, record); err != nil {
			return "", err
		}
	}
	done, err := putSignal(tx, signals, record)
	if err != nil {
		return "", err
	}
	now, err := tx.find(signals, record)
	if err != nil || done.Outcome == Unchanged {
		return now.id, err
	}
	return now.id, tx.auditDifference(signals, verb, now.id, before, nil)
}

// presentSignal is the present value of the signal with the id, or of the
// record's type; nil if there is none. It completes the record of a change.
func (tx *Tx) presentSignal(id string, record Record) (map[string]any, error) {
	if id == "" {
		err := tx.Row("SELECT id FROM signals WHERE org_id = ? AND signal_type = ? AND current = 1", tx.Org, record["signal_type"]).Scan(&id)
		if none, err := absent(err); none || err != nil {
			return nil, storeError(err)
		}
		return tx.members(signals, id)
	}
	known, err := tx.byID(signals, id)
	if err != nil {
		return nil, err
	}
	var current bool
	if err := tx.Row("SELECT current FROM signals WHERE seq = ?", known.seq).Scan(&current); err != nil {
		return nil, storeError(err)
	}
	if !current {
		return nil, &Error{Code: Conflict, Message: "this value was superseded meanwhile; look at the present one"}
	}
	before, err := tx.members(signals, id)
	if err != nil {
		return nil, err
	}
	if err := keepMember(record, before, "signal_type"); err != nil {
		return nil, err
	}
	whole := maps.Clone(before)
	maps.Copy(whole, record)
	for _, member := range []string{"object", "id", "created_at", "updated_at"} {
		delete(whole, member)
	}
	maps.Copy(record, whole)
	return before, nil
}

// laterThan refuses a value from before the present one: it would become part
// of the history unseen.
func laterThan(before, record Record) error {
	asOf, err := signals.columnValue("as_of", record["as_of"])
	if err != nil {
		return err
	}
	if present, _ := before["as_of"].(string); asOf.(string) < present {
		return &Error{Code: Invalid, Param: "as_of", Message: "as_of must not be before that of the present value, " + present}
	}
	return nil
}

// Notification is word to an authority about an incident.
type Notification struct {
	At        time.Time
	To        string
	Reference string // the authority's; "" if it gave none
}

// minute is how much of a timestamp tells the minute.
const minute = len("2006-01-02T15:04")

// NotifyIncident notes that an authority was told of an incident, with an entry
// on its timeline. The latest notification counts, the timeline keeps all.
func (tx *Tx) NotifyIncident(id string, n Notification) error {
	known, err := tx.byID(incidents, id)
	if err != nil {
		return err
	}
	var declared, status string
	var before *string
	if err := tx.Row("SELECT created_at, status, notified_at FROM incidents WHERE seq = ?", known.seq).Scan(&declared, &status, &before); err != nil {
		return storeError(err)
	}
	at := Timestamp(n.At)
	switch {
	case at > tx.At():
		return &Error{Code: Invalid, Param: "at", Message: "at must not be in the future"}
	case at[:minute] < declared[:minute]: // people tell minutes
		return &Error{Code: Invalid, Param: "at", Message: "at must not be before the incident was declared, " + declared}
	}
	note := "Notified " + n.To + " on " + at
	if n.Reference != "" {
		note += ", reference " + n.Reference
	}
	if repeated, err := tx.notifiedBefore(known.seq, at, note); repeated || err != nil {
		return err
	}
	if _, err := tx.Exec("UPDATE incidents SET notified_at = ?, updated_at = ? WHERE seq = ?", at, tx.At(), known.seq); err != nil {
		return err
	}
	changes := Changes{"notified_at": {From: before, To: at}, "notified": {To: n.To}}
	if n.Reference != "" {
		changes["reference"] = Change{To: n.Reference}
	}
	if _, err := tx.Exec("INSERT INTO incident_timeline (incident_seq, at, status, note, actor) VALUES (?, ?, ?, ?, ?)",
		known.seq, tx.At(), status, note, tx.ID); err != nil {
		return err
	}
	return tx.AuditChange("incident", "notified", id, changes)
}

// notifiedBefore tells whether the latest notification of an incident is the same.
func (tx *Tx) notifiedBefore(incident int64, at, note string) (same bool, err error) {
	err = tx.Row(`SELECT EXISTS (SELECT 1 FROM incidents i WHERE i.seq = ?1 AND i.notified_at = ?2 AND ?3 = (
		SELECT note FROM incident_timeline t WHERE t.incident_seq = i.seq AND t.note LIKE 'Notified %' ORDER BY t.seq DESC LIMIT 1))`,
		incident, at, note).Scan(&same)
	return same, storeError(err)
}
