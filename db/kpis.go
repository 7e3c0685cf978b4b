package db

import (
	"crypto/sha256"

	"govsvc/db/audit"
	"govsvc/db/resource"
)

var kpis = stored(resource.KPI)

func init() {
	kpis.hooks = hooks{
		normalize: keepLatestPeriod,
		onInsert: func(_ *Tx, record Record) Record {
			if record["objective_id"] != nil {
				return nil
			}
			return Record{"objective_id": objectiveOf(record["code"].(string))}
		},
	}
}

var kpiCheckins = stored(resource.KPICheckin)

func init() {
	kpiCheckins.hooks = hooks{put: putCheckin, find: findCheckin}
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
	source, _ := record["source"].(string)
	if source == "" {
		source = "import"
	}
	done := PutResult{Outcome: Updated, ID: at.id, Changes: audit.Changes{}}
	point := map[string]any{"value": value, "source": source, "evidence_ref": record["evidence_ref"], "note": record["note"]}
	if at.seq == 0 {
		done.Outcome = Created
		if done.ID, _ = record["id"].(string); done.ID == "" {
			done.ID = tx.NewID()
		}
		done.Changes["key_result_id"], done.Changes["key_result_code"] = audit.Change{To: at.kpiID}, audit.Change{To: record["key_result_code"]}
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
	var seq int64
	updated := stampOf(tx, record, "updated_at")
	err = tx.Returning(`INSERT INTO kpi_checkins (kpi_seq, id, period_start, value, source, evidence_ref, note, created_at, updated_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
		ON CONFLICT (kpi_seq, period_start) DO UPDATE
		SET value = ?4, source = ?5, evidence_ref = ?6, note = ?7, updated_at = iif(?9 > updated_at, ?9, ?10)
		RETURNING seq, updated_at`, at.kpi, done.ID, record["period_start"], value, source, record["evidence_ref"], record["note"],
		stampOf(tx, record, "created_at"), updated, tx.At()).Scan(&seq, &updated)
	if err != nil {
		return PutResult{}, StoreError(err)
	}
	isFirstPut(tx, r, seq)
	return done, followLatestPeriod(tx, at.kpi, updated)
}

// period is the key result of a check-in and its value of the period, if it has one.
type period struct {
	kpi   int64
	kpiID string
	seq   int64 // of the check-in; 0 if there is none
	id    string
	point map[string]any // its members that may change
}

// findPeriod finds the key result of a check-in and its value of the period.
func findPeriod(tx *Tx, record Record) (period, error) {
	row, err := tx.First(`SELECT k.seq, k.id, coalesce(c.seq, 0), coalesce(c.id, ''), c.value, c.source, c.evidence_ref, c.note
		FROM kpis k LEFT JOIN kpi_checkins c ON c.kpi_seq = k.seq AND c.period_start = ?3
		WHERE k.org_id = ?1 AND k.code = ?2`, tx.Org, record["key_result_code"], record["period_start"])
	if none, err := Absent(err); err != nil {
		return period{}, StoreError(err)
	} else if none {
		return period{}, &Error{Code: Invalid, Param: "key_result_code", Message: "no key result has this code; import the kpi first"}
	}
	at := period{point: map[string]any{"value": row[4], "source": row[5], "evidence_ref": row[6], "note": row[7]}}
	return at, row[:4].Scan(&at.kpi, &at.kpiID, &at.seq, &at.id)
}

func findCheckin(tx *Tx, _ *storedResource, record Record) (storedRow, error) {
	at, err := findPeriod(tx, record)
	return storedRow{seq: at.seq, id: at.id}, err
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
