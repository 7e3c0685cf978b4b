package db

import (
	"crypto/sha256"
	"maps"
	"slices"
	"strings"

	"govsvc/db/audit"
	"govsvc/db/resource"
)

var kpis = stored(resource.KPI)

func init() {
	kpis.hooks = hooks{
		normalize: keepLatestPeriod,
		onInsert: func(_ string, record Record) Record {
			if record["objective_id"] != nil {
				return nil
			}
			return Record{"objective_id": objectiveOf(record["code"].(string))}
		},
		update: updateKPI,
	}
}

// objectiveOf derives the id of an objective from the code of a key result: a
// UUIDv8 (RFC 9562, section 5.8) of its hash.
func objectiveOf(code string) string {
	sum := sha256.Sum256([]byte("govsvc objective " + code))
	b := [16]byte(sum[:16])
	b[6] = 0x80 | b[6]&0x0f
	b[8] = 0x80 | b[8]&0x3f
	return formatUUID(b)
}

// keepLatestPeriod removes the current value from a record if the latest check-in
// already determines it.
func keepLatestPeriod(tx *Tx, record Record) error {
	if err := followCheckins(tx); err != nil {
		return err
	}
	var latest *string
	err := tx.Row(`SELECT max(c.period_start) FROM kpi_checkins c JOIN kpis k ON k.seq = c.kpi_seq
		WHERE k.org_id = ? AND k.code = ?`, tx.Org, record["code"]).Scan(&latest)
	if err != nil || latest == nil {
		return StoreError(err)
	}
	value, err := kpis.columnValue("current_as_of", record["current_as_of"])
	if err != nil {
		return err
	}
	asOf, _ := value.(string)
	if asOf == "" || asOf[:len(*latest)] <= *latest {
		delete(record, "current_value")
		delete(record, "current_as_of")
	}
	return nil
}

// updateKPI changes a key result. As in an import, its check-ins determine its current
// value.
func updateKPI(tx *Tx, r *storedResource, id string, record Record) (storedRow, error) {
	return updateWith(tx, r, id, nil, func(before storedRow) (Record, error) {
		if err := keepMember(record, before, "code"); err != nil {
			return nil, err
		}
		record["code"] = before.value("code")
		return record, keepLatestPeriod(tx, record)
	})
}

var kpiCheckins = stored(resource.KPICheckin)

func init() {
	kpiCheckins.hooks = hooks{put: putCheckin, find: findCheckin, prepareNew: prepareCheckin, insertNew: insertCheckins}
	checkinChanges.resource = kpiCheckins
	for i, name := range checkinChanges.names {
		checkinChanges.members = append(checkinChanges.members, columnMember(name, i))
	}
}

const (
	insertCheckin = `INSERT INTO kpi_checkins (kpi_seq, id, period_start, value, source, evidence_ref, note, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
	updateCheckin = `UPDATE kpi_checkins SET value = ?, source = ?, evidence_ref = ?, note = ?, updated_at = ? WHERE seq = ?`
)

// putCheckin records a value for a period of a key result.
func putCheckin(tx *Tx, r *storedResource, record Record) (PutResult, error) {
	at, err := findPeriod(tx, record)
	if err != nil {
		return PutResult{}, err
	}
	if at.seq != 0 && !isFirstPut(tx, r, at.seq) {
		return PutResult{Outcome: Repeated, ID: at.id}, nil
	}
	value, err := r.columnValue("value", record["value"])
	if err != nil {
		return PutResult{}, err
	}
	done := PutResult{Outcome: Updated, ID: at.id, Changes: audit.Changes{}}
	source := sourceOf(record)
	point := map[string]any{"value": value, "source": source, "evidence_ref": record["evidence_ref"], "note": record["note"]}
	if at.seq == 0 {
		done.Outcome, done.ID = Created, idOf(tx, record)
		done.Changes["key_result_id"], done.Changes["key_result_code"] = audit.Change{To: at.kpi.id}, audit.Change{To: record["key_result_code"]}
		done.Changes["period_start"] = audit.Change{To: record["period_start"]}
	}
	for member, given := range point {
		if !sameValue(given, at.point[member]) {
			done.Changes[member] = audit.Change{From: at.point[member], To: given}
		}
	}
	if len(done.Changes) == 0 {
		return PutResult{ID: at.id}, nil
	}
	updated := stampOf(tx.At(), record, "updated_at")
	if at.seq == 0 {
		at.seq, err = tx.Insert(insertCheckin, at.kpi.seq, done.ID, record["period_start"], value, source,
			record["evidence_ref"], record["note"], stampOf(tx.At(), record, "created_at"), updated)
		isFirstPut(tx, r, at.seq)
	} else {
		if updated <= at.updated { // see replaceMembers
			updated = tx.At()
		}
		_, err = tx.Exec(updateCheckin, value, source, record["evidence_ref"], record["note"], updated, at.seq)
	}
	noteCheckin(tx, at.kpi.seq, updated)
	return done, StoreError(err)
}

// sourceOf returns the source of an imported check-in.
func sourceOf(record Record) string {
	if source, _ := record["source"].(string); source != "" {
		return source
	}
	return "import"
}

// checkinChanges are the members of a new check-in that its audit event lists.
var checkinChanges = columnSet{names: []string{"evidence_ref", "key_result_code", "key_result_id", "note", "period_start", "source", "value"}}

// checkinRows writes new check-ins together.
var checkinRows = &columnSet{insertRows: insertCheckin + strings.Repeat(", (?, ?, ?, ?, ?, ?, ?, ?, ?)", rowsAtOnce-1)}

// prepareCheckin prepares the row of a new check-in. Its key result follows.
func prepareCheckin(p *Preparer, one *Prepared) error {
	record := one.record
	value, err := kpiCheckins.columnValue("value", record["value"])
	if err != nil {
		return err
	}
	one.id, one.set = idOf(p.tx, record), checkinRows
	one.row = []any{
		nil, one.id, record["period_start"], value, sourceOf(record), record["evidence_ref"], record["note"],
		stampOf(p.tx.At(), record, "created_at"), stampOf(p.tx.At(), record, "updated_at"),
	}
	return nil
}

// insertCheckins writes new check-ins with one statement, and their events. It writes
// nothing if one of them exists, is invalid or has no key result.
func insertCheckins(im *Import, records []Prepared) (inserted bool, err error) {
	tx := im.tx
	ids := make([]string, len(records)) // of the key results
	for i := range records {
		kpi, err := findKeyResult(tx, records[i].record["key_result_code"])
		if Is(err, Invalid) {
			return false, nil
		} else if err != nil {
			return false, err
		}
		records[i].row[0], ids[i] = kpi.seq, kpi.id
	}
	last, err := im.insertTogether(records)
	if last == 0 || err != nil {
		return false, err
	}
	for i := range records {
		one := &records[i]
		isFirstPut(tx, kpiCheckins, last-int64(len(records)-1-i))
		noteCheckin(tx, one.row[0].(int64), one.row[8].(string))
		values := [...]any{one.row[5], one.record["key_result_code"], ids[i], one.row[6], one.row[2], one.row[4], one.row[3]}
		tx.changesText = checkinChanges.appendChanges(tx.changesText[:0], nil, values[:])
		if err := im.auditNew(one.object, one.id); err != nil {
			return false, err
		}
	}
	return true, nil
}

// keyResultRef is the key result of a check-in.
type keyResultRef struct {
	seq int64
	id  string
}

// maxKeyResults bounds the key results that a transaction remembers.
const maxKeyResults = 10_000

// findKeyResult finds the key result with a code. A transaction reads each once, because
// an import does not change their ids and codes.
func findKeyResult(tx *Tx, code any) (keyResultRef, error) {
	name, _ := code.(string)
	if known, ok := tx.keyResults[name]; ok {
		return known, nil
	}
	var found keyResultRef
	err := tx.Row("SELECT seq, id FROM kpis WHERE org_id = ? AND code = ?", tx.Org, name).Scan(&found.seq, &found.id)
	if none, err := Absent(err); err != nil {
		return found, StoreError(err)
	} else if none {
		return found, &Error{Code: Invalid, Param: "key_result_code", Message: "no key result has this code; import the kpi first"}
	}
	if tx.keyResults == nil || len(tx.keyResults) >= maxKeyResults {
		tx.keyResults = map[string]keyResultRef{}
	}
	tx.keyResults[name] = found
	return found, nil
}

// period is the key result of a check-in and its value of the period, if it has one.
type period struct {
	kpi     keyResultRef
	seq     int64 // of the check-in; 0 if there is none
	id      string
	updated string
	point   map[string]any // its members that may change
}

// findPeriod finds the key result of a check-in and its value of the period.
func findPeriod(tx *Tx, record Record) (at period, err error) {
	if at.kpi, err = findKeyResult(tx, record["key_result_code"]); err != nil {
		return at, err
	}
	row, err := tx.First(`SELECT seq, id, updated_at, value, source, evidence_ref, note FROM kpi_checkins
		WHERE kpi_seq = ? AND period_start = ?`, at.kpi.seq, record["period_start"])
	if none, err := Absent(err); none || err != nil {
		return at, StoreError(err)
	}
	at.point = map[string]any{"value": row[3], "source": row[4], "evidence_ref": row[5], "note": row[6]}
	return at, row[:3].Scan(&at.seq, &at.id, &at.updated)
}

func findCheckin(tx *Tx, _ *storedResource, record Record) (storedRow, error) {
	at, err := findPeriod(tx, record)
	return storedRow{seq: at.seq, id: at.id}, err
}

// noteCheckin remembers a key result that has a new value. followCheckins follows it.
func noteCheckin(tx *Tx, kpi int64, at string) {
	if tx.checkedIn == nil {
		tx.checkedIn = map[int64]string{}
	}
	tx.checkedIn[kpi] = max(tx.checkedIn[kpi], at)
}

// followCheckins sets the current values of the key results that got check-ins, each
// once. It runs before a key result is put and at the end of the change.
func followCheckins(tx *Tx) error {
	for _, kpi := range slices.Sorted(maps.Keys(tx.checkedIn)) {
		if err := followLatestPeriod(tx, kpi, tx.checkedIn[kpi]); err != nil {
			return err
		}
	}
	clear(tx.checkedIn)
	return nil
}

// followLatestPeriod sets the current value of a key result to that of the latest period
// with a check-in, and the time of the change. A current value of a later period stays.
func followLatestPeriod(tx *Tx, kpi int64, at string) error {
	_, err := tx.Exec(`UPDATE kpis SET
			(current_value, current_as_of) = (SELECT c.value, c.as_of FROM (
				SELECT value, period_start || 'T00:00:00.000Z' AS as_of FROM kpi_checkins
				WHERE kpi_seq = kpis.seq ORDER BY period_start DESC LIMIT 1) c
				WHERE c.as_of >= coalesce(kpis.current_as_of, '')
				UNION ALL SELECT current_value, current_as_of LIMIT 1),
			updated_at = max(updated_at, ?2)
		WHERE seq = ?1 AND org_id = ?3`, kpi, at, tx.Org)
	return err
}
