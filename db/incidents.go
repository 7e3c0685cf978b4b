package db

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"govsvc/db/audit"
	"govsvc/db/resource"
	"govsvc/db/sqlite"
)

var incidents = stored(resource.Incident)

func init() {
	incidents.hooks = hooks{
		onInsert: startClock, put: putIncident, find: findIncident, afterWrite: incidentWritten,
		create: createIncident, update: updateIncident,
	}
}

// notificationPeriod is the time from the declaration of an incident to the deadline
// of its notification, if the record has no deadline.
const notificationPeriod = 72 * time.Hour

// putIncident finds an incident by its id or its key, and writes it with its
// timeline.
func putIncident(tx *Tx, r *storedResource, record Record) (PutResult, error) {
	existing, err := findIncident(tx, r, record)
	if err != nil {
		return PutResult{}, err
	}
	if existing.seq == 0 {
		return importIncident(tx, r, record)
	}
	if !isFirstPut(tx, r, existing.seq) {
		return PutResult{Outcome: Repeated, ID: existing.id}, nil
	}
	if record["incident_key"] == nil { // a reference is never cleared
		delete(record, "incident_key")
	}
	completeDeadline(existing, record, true)
	done, err := putMembers(tx, r, existing, record)
	timeline, given := record["timeline"].([]any)
	if err != nil || !given {
		return done, err
	}
	change, moved, err := setTimeline(tx, existing.seq, timeline)
	if err != nil || !moved {
		return done, err
	}
	if done.Outcome == Unchanged {
		done.Outcome, done.Changes = Updated, audit.Changes{}
		if _, err := tx.Exec("UPDATE incidents SET updated_at = iif(?2 > updated_at, ?2, ?3) WHERE seq = ?1 AND org_id = ?4", existing.seq, stampOf(tx.At(), record, "updated_at"), tx.At(), tx.Org); err != nil {
			return done, err
		}
	}
	done.Changes["timeline"] = change
	return done, nil
}

// importIncident creates an incident with the timeline of its record or, without
// one, a timeline that starts with the declaration.
func importIncident(tx *Tx, r *storedResource, record Record) (PutResult, error) {
	made, _, err := insertRow(tx, r, record, nil)
	if err != nil {
		return PutResult{}, err
	}
	isFirstPut(tx, r, made.seq)
	if record["incident_key"] == nil {
		tx.unnumbered = append(tx.unnumbered, made)
	}
	done := PutResult{Outcome: Created, ID: made.id, Changes: made.changes}
	if timeline, given := record["timeline"].([]any); given {
		var change audit.Change
		var moved bool
		change, moved, err = setTimeline(tx, made.seq, timeline)
		if done.Changes != nil && moved {
			done.Changes["timeline"] = change
		}
	} else {
		err = startTimeline(tx, made.seq)
	}
	return done, err
}

// nextReference takes the next number for a reference. A number that a person or an import
// has given is not used again.
func nextReference(tx *Tx) (string, error) {
	var n int
	err := tx.Row("SELECT last_incident_number + 1 FROM organisations WHERE seq = ?", tx.Org).Scan(&n)
	if err != nil {
		return "", StoreError(err)
	}
	taken := func() (taken bool, err error) {
		err = tx.Row("SELECT EXISTS (SELECT 1 FROM incidents WHERE org_id = ? AND incident_key = ?)", tx.Org, reference(n)).Scan(&taken)
		return taken, err
	}
	used, err := taken()
	if err == nil && used {
		err = tx.Row(`SELECT max(CAST(substr(incident_key, 5) AS INTEGER)) + 1 FROM incidents
			WHERE org_id = ? AND incident_key GLOB 'INC-[0-9]*' AND substr(incident_key, 5) NOT GLOB '*[^0-9]*' AND length(incident_key) <= 13`,
			tx.Org).Scan(&n)
		for used = true; err == nil && used; { // a longer key may have the next number
			if used, err = taken(); used {
				n++
			}
		}
	}
	if err != nil {
		return "", StoreError(err)
	}
	_, err = tx.Exec("UPDATE organisations SET last_incident_number = ? WHERE seq = ?", n, tx.Org)
	return reference(n), StoreError(err)
}

func reference(number int) string { return fmt.Sprintf("INC-%04d", number) }

// numberIncidents gives imported incidents without a key their references. It does so at
// the end of the transaction, because a later record of the import can have the same key.
func numberIncidents(tx *Tx) error {
	for _, row := range tx.unnumbered {
		key, err := nextReference(tx)
		if err != nil {
			return err
		}
		if _, err := tx.Exec("UPDATE incidents SET incident_key = ? WHERE seq = ? AND org_id = ?", key, row.seq, tx.Org); err != nil {
			return err
		}
		if err := tx.AuditChange(incidents.Type, "updated", row.id, audit.Changes{"incident_key": {To: key}}); err != nil {
			return err
		}
	}
	return nil
}

// startClock gives a new incident that needs a notification its deadline, if the
// record has none: 72 hours after the declaration (contract, section 4).
func startClock(at string, record Record) Record {
	if record["notification_required"] != true || record["notification_deadline"] != nil {
		return nil
	}
	return Record{"notification_deadline": deadlineAfter(stampOf(at, record, "created_at"))}
}

// completeDeadline does the same for a change of an incident. An empty deadline in
// the record becomes 72 hours after the declaration or, with keep, leaves a stored
// deadline unchanged.
func completeDeadline(before storedRow, record Record, keep bool) {
	required, given := record["notification_required"].(bool)
	if !given {
		required = before.flag("notification_required")
	}
	deadline, given := record["notification_deadline"]
	switch {
	case !required || deadline != nil:
	case before.text("notification_deadline") != "" && (keep || !given):
		delete(record, "notification_deadline")
	default:
		record["notification_deadline"] = deadlineAfter(before.text("created_at"))
	}
}

// deadlineAfter returns the deadline of an incident by the stored instant of its
// declaration.
func deadlineAfter(declared string) string {
	at, _ := ParseTimestamp(declared) // the store wrote it
	return Timestamp(at.Add(notificationPeriod))
}

func findIncident(tx *Tx, r *storedResource, record Record) (storedRow, error) {
	var found []storedRow
	id, key := record["id"], record["incident_key"]
	if id == nil && key == nil {
		return storedRow{}, &Error{Code: Invalid, Param: "incident_key", Message: "incident_key or id is required: without one the incident can't be found again"}
	}
	columns := selectRow(tx.db, r)
	err := tx.Each(func(row Scanner) error {
		s := storedRow{columns: tx.db.columns[r.Table], values: slices.Clone(row.(sqlite.Values)[2:])}
		err := row.(sqlite.Values)[:2].Scan(&s.seq, &s.id)
		found = append(found, s)
		return err
	}, columns+" WHERE org_id = ?1 AND id = ?2 UNION "+columns+" WHERE org_id = ?1 AND incident_key = ?3", tx.Org, id, key)
	switch {
	case err != nil || len(found) == 0:
		return storedRow{}, err
	case len(found) > 1:
		return storedRow{}, &Error{Code: Invalid, Param: "incident_key", Message: "id and incident_key are those of two different incidents"}
	}
	if own, given := id.(string); given && !strings.EqualFold(found[0].id, own) && isReference(key) {
		return storedRow{}, &Error{
			Code: Invalid, Param: "incident_key",
			Message: "this reference belongs to another incident here; leave incident_key out to get a new reference",
		}
	}
	return found[0], nil
}

// isReference reports whether a key has the form of a generated reference. Two files give
// the same reference to different incidents.
func isReference(key any) bool {
	text, _ := key.(string)
	digits, ok := strings.CutPrefix(text, "INC-")
	return ok && len(digits) >= 4 && strings.Trim(digits, "0123456789") == ""
}

// incidentWritten adds a change of status to the timeline, unless the record
// contains a timeline.
func incidentWritten(tx *Tx, w writtenRecord) error {
	before := w.before.text("status")
	_, own := w.record["timeline"]
	if after, given := w.record["status"]; given && !own && before != after {
		if _, err := tx.Exec("INSERT INTO incident_timeline (incident_seq, at, status, actor) VALUES (?, ?, ?, ?)",
			w.row.seq, tx.At(), after, tx.ID); err != nil {
			return err
		}
	}
	return nil
}

// startTimeline adds the declaration to the timeline.
func startTimeline(tx *Tx, incident int64) error {
	_, err := tx.Exec(`INSERT INTO incident_timeline (incident_seq, at, status, note, actor)
		SELECT seq, created_at, status, 'Incident declared', ? FROM incidents WHERE seq = ?`, tx.ID, incident)
	return err
}

// setTimeline replaces the timeline of an incident if it differs, and returns the
// change.
func setTimeline(tx *Tx, incident int64, timeline []any) (change audit.Change, moved bool, err error) {
	entries := make([][4]any, len(timeline))
	for i, value := range timeline {
		entry := value.(map[string]any)
		at, err := time.Parse(time.RFC3339, entry["at"].(string))
		if err != nil {
			return change, false, &Error{Code: Invalid, Param: "timeline", Message: "timeline's instants must be RFC 3339 timestamps"}
		}
		entries[i] = [4]any{Timestamp(at), entry["status"], entry["note"], entry["actor"]}
	}
	var before [][4]any
	err = tx.Each(func(row Scanner) error {
		var e [4]any
		err := row.Scan(&e[0], &e[1], &e[2], &e[3])
		before = append(before, e)
		return err
	}, "SELECT at, status, note, actor FROM incident_timeline WHERE incident_seq = ? ORDER BY seq", incident)
	if err != nil || equalRows(before, entries) {
		return change, false, err
	}
	if _, err := tx.Exec("DELETE FROM incident_timeline WHERE incident_seq = ?", incident); err != nil {
		return change, false, err
	}
	for _, e := range entries {
		if _, err := tx.Exec("INSERT INTO incident_timeline (incident_seq, at, status, note, actor) VALUES (?, ?, ?, ?, ?)",
			incident, e[0], e[1], e[2], e[3]); err != nil {
			return change, false, err
		}
	}
	return audit.Change{From: timelineSteps(before), To: timelineSteps(entries)}, true, nil
}

// timelineSteps returns the entries of a timeline as members of a record, or nil for
// none.
func timelineSteps(entries [][4]any) any {
	if len(entries) == 0 {
		return nil
	}
	steps := make([]any, len(entries))
	for i, e := range entries {
		steps[i] = map[string]any{"at": e[0], "status": e[1], "note": e[2], "actor": e[3]}
	}
	return steps
}

func equalRows(a, b [][4]any) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// createIncident declares an incident with the next reference, and starts its timeline.
func createIncident(tx *Tx, r *storedResource, record Record) (storedRow, error) {
	key, err := nextReference(tx)
	if err != nil {
		return storedRow{}, err
	}
	record["incident_key"] = key
	made, _, err := insertRow(tx, r, record, nil)
	if err != nil {
		return made, err
	}
	if err := startTimeline(tx, made.seq); err != nil {
		return made, err
	}
	if made.object, err = objectBySeq(tx, r, made.seq); err != nil {
		return made, err
	}
	return made, auditCreated(tx, r, record, made)
}

// updateIncident changes an incident. A change of its status goes on its
// timeline.
func updateIncident(tx *Tx, r *storedResource, id string, record Record) (storedRow, error) {
	return updateWith(tx, r, id, nil, func(before storedRow) (Record, error) {
		if key, given := record["incident_key"]; given && key == nil {
			return nil, &Error{Code: Invalid, Param: "incident_key", Message: "incident_key is required"}
		}
		completeDeadline(before, record, false)
		return record, nil
	})
}

// IncidentNote is an entry of the timeline that a person adds.
type IncidentNote struct {
	Status string // from now on
	Text   string
}

// NoteIncident adds a note to the timeline of an incident, with a change of its status if
// the status differs.
func (tx *Tx) NoteIncident(id string, n IncidentNote) error {
	before, err := readByID(tx, incidents, id)
	if err != nil {
		return err
	}
	changes := audit.Changes{"note": {To: n.Text}}
	if was := before.text("status"); was != n.Status {
		changes["status"] = audit.Change{From: was, To: n.Status}
	}
	if _, err := tx.Exec("UPDATE incidents SET status = ?1, updated_at = max(updated_at, ?2) WHERE seq = ?3 AND org_id = ?4", n.Status, tx.At(), before.seq, tx.Org); err != nil {
		return err
	}
	if _, err := tx.Exec("INSERT INTO incident_timeline (incident_seq, at, status, note, actor) VALUES (?, ?, ?, ?, ?)",
		before.seq, tx.At(), n.Status, n.Text, tx.ID); err != nil {
		return err
	}
	return tx.AuditChange(incidents.Type, "noted", id, changes)
}

// Notification is a report of an incident to an authority.
type Notification struct {
	At        time.Time
	To        string
	Reference string // the authority's; "" if it gave none
}

// minute is the length of a timestamp up to the minute.
const minute = len("2006-01-02T15:04")

// NotifyIncident records that an authority was notified of an incident, with an
// entry on its timeline. The latest notification counts, the timeline keeps all.
func (tx *Tx) NotifyIncident(id string, n Notification) error {
	before, err := readByID(tx, incidents, id)
	if err != nil {
		return err
	}
	at, declared := Timestamp(n.At), before.text("created_at")
	switch {
	case at > tx.At():
		return &Error{Code: Invalid, Param: "at", Message: "at must not be in the future"}
	case at[:minute] < declared[:minute]: // forms have minutes
		return &Error{Code: Invalid, Param: "at", Message: "at must not be before the incident was declared, " + declared}
	}
	note := "Notified " + n.To + " on " + at
	if n.Reference != "" {
		note += ", reference " + n.Reference
	}
	if repeated, err := notifiedBefore(tx, before.seq, at, note); repeated || err != nil {
		return err
	}
	if _, err := tx.Exec("UPDATE incidents SET notified_at = ?, updated_at = ? WHERE seq = ? AND org_id = ?", at, tx.At(), before.seq, tx.Org); err != nil {
		return err
	}
	changes := audit.Changes{"notified_at": {From: before.value("notified_at"), To: at}, "notified": {To: n.To}}
	if n.Reference != "" {
		changes["reference"] = audit.Change{To: n.Reference}
	}
	if _, err := tx.Exec("INSERT INTO incident_timeline (incident_seq, at, status, note, actor) VALUES (?, ?, ?, ?, ?)",
		before.seq, tx.At(), before.text("status"), note, tx.ID); err != nil {
		return err
	}
	return tx.AuditChange(incidents.Type, "notified", id, changes)
}

// notifiedBefore reports whether the latest notification of an incident is the same.
func notifiedBefore(tx *Tx, incident int64, at, note string) (same bool, err error) {
	err = tx.Row(`SELECT EXISTS (SELECT 1 FROM incidents i WHERE i.seq = ?1 AND i.notified_at = ?2 AND ?3 = (
		SELECT note FROM incident_timeline t WHERE t.incident_seq = i.seq AND t.note LIKE 'Notified %' ORDER BY t.seq DESC LIMIT 1))`,
		incident, at, note).Scan(&same)
	return same, StoreError(err)
}
