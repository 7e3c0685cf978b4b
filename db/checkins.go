package db

import (
	"encoding/json"
	"fmt"
	"time"
)

// Checkin is a data point of a key result, as recorded.
type Checkin struct {
	Object        string  `json:"object"`
	ID            string  `json:"id"`
	KeyResultID   string  `json:"key_result_id"`
	KeyResultCode string  `json:"key_result_code"`
	Value         any     `json:"value"`
	PeriodStart   string  `json:"period_start"`
	Source        string  `json:"source"`
	EvidenceRef   *string `json:"evidence_ref"`
	Note          *string `json:"note"`
	CreatedAt     string  `json:"created_at"`
}

// periodJSON is a check-in c as it stands with its key result.
const periodJSON = `json_object('object', 'kpi_checkin', 'id', c.id, 'value', c.value, 'period_start', c.period_start,
	'source', c.source, 'evidence_ref', c.evidence_ref, 'note', c.note, 'created_at', c.created_at, 'updated_at', c.updated_at)`

// CheckinDraft is a data point to record. It names its key result by id, by
// code, or by both.
type CheckinDraft struct {
	KeyResultID   string
	KeyResultCode string
	Value         json.Number
	PeriodStart   string // a date; "" is the current period of the key result
	Source        string
	EvidenceRef   *string
	Note          *string
}

// RecordCheckins records data points in their order: a later one for the same
// period replaces the earlier, and the current value of each key result
// follows its latest period. A point that does not fit refuses them all.
func (tx *Tx) RecordCheckins(drafts []CheckinDraft) ([]Checkin, error) {
	recorded, changes := make([]Checkin, len(drafts)), Changes{}
	results := keyResults{tx: tx, byName: map[string]*keyResult{}, bySeq: map[int64]*keyResult{}}
	var touched []*keyResult
	for i, draft := range drafts {
		kpi, err := results.find(i, draft)
		if err != nil {
			return nil, err
		}
		if !kpi.touched {
			kpi.touched = true
			touched = append(touched, kpi)
		}
		if recorded[i], err = tx.recordCheckin(kpi, draft, changes); err != nil {
			return nil, err
		}
	}
	for _, kpi := range touched {
		if err := tx.followLatestPeriod(kpi.seq, tx.At()); err != nil {
			return nil, err
		}
	}
	action := "kpi_checkin.created"
	if tx.API {
		action = "api.write.kpi_checkin"
	}
	return recorded, tx.Audit(AuditEvent{
		Action: action, Category: DataChange, Severity: SeverityWrite,
		ResourceType: "kpi_checkin", Metadata: Metadata{"accepted": len(recorded), "changes": changes},
	})
}

// keyResult is a KPI that a batch of check-ins names.
type keyResult struct {
	seq                 int64
	id, code, frequency string
	touched             bool
}

// keyResults finds the key results of a batch, each once.
type keyResults struct {
	tx     *Tx
	byName map[string]*keyResult // as named, by id or by code
	bySeq  map[int64]*keyResult
}

func (k keyResults) find(index int, draft CheckinDraft) (*keyResult, error) {
	param, name := "key_result_id", draft.KeyResultID
	if name == "" {
		param, name = "key_result_code", draft.KeyResultCode
	}
	known := k.byName[param+name]
	if known == nil {
		known = new(keyResult)
		column := map[string]string{"key_result_id": "id", "key_result_code": "code"}[param]
		err := k.tx.row("SELECT seq, id, code, measurement_frequency FROM kpis WHERE org_id = ? AND "+column+" = ?", k.tx.Org, name).
			Scan(&known.seq, &known.id, &known.code, &known.frequency)
		at := fmt.Sprintf("checkins[%d].%s", index, param)
		if none, err := absent(err); none {
			return nil, &Error{Code: NotFound, Param: at, Message: at + " names no key result of this organisation"}
		} else if err != nil {
			return nil, storeError(err)
		}
		if other := k.bySeq[known.seq]; other != nil {
			known = other // named by its id here, by its code there
		}
		k.byName[param+name], k.bySeq[known.seq] = known, known
	}
	if draft.KeyResultCode != "" && draft.KeyResultCode != known.code {
		at := fmt.Sprintf("checkins[%d].key_result_code", index)
		return nil, &Error{Code: Invalid, Param: at, Message: at + " is not the code of the key result that key_result_id names"}
	}
	return known, nil
}

// recordCheckin writes one point and notes what it changed.
func (tx *Tx) recordCheckin(kpi *keyResult, draft CheckinDraft, changes Changes) (Checkin, error) {
	c := Checkin{
		Object: "kpi_checkin", KeyResultID: kpi.id, KeyResultCode: kpi.code, PeriodStart: draft.PeriodStart,
		Source: draft.Source, EvidenceRef: draft.EvidenceRef, Note: draft.Note,
	}
	if c.PeriodStart == "" {
		c.PeriodStart = PeriodStart(kpi.frequency, tx.now)
	}
	var err error
	if c.Value, err = number("value", draft.Value); err != nil {
		return c, err
	}
	change := Change{To: c.Value}
	var seq int64
	err = tx.row("SELECT seq, value, id, created_at FROM kpi_checkins WHERE kpi_seq = ? AND period_start = ?", kpi.seq, c.PeriodStart).
		Scan(&seq, &change.From, &c.ID, &c.CreatedAt)
	fresh, err := absent(err)
	if err != nil {
		return c, storeError(err)
	}
	name := kpi.code + " " + c.PeriodStart
	if before, twice := changes[name]; twice {
		change.From = before.From
	}
	changes[name] = change
	if !fresh {
		_, err = tx.exec("UPDATE kpi_checkins SET value = ?, source = ?, evidence_ref = ?, note = ?, updated_at = ? WHERE seq = ?",
			c.Value, c.Source, c.EvidenceRef, c.Note, tx.At(), seq)
		return c, err
	}
	c.ID, c.CreatedAt = tx.newID(), tx.At()
	_, err = tx.exec(`INSERT INTO kpi_checkins (kpi_seq, id, period_start, value, source, evidence_ref, note, created_at, updated_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)`,
		kpi.seq, c.ID, c.PeriodStart, c.Value, c.Source, c.EvidenceRef, c.Note, c.CreatedAt)
	return c, err
}

// PeriodStart is the first day of the period of a frequency that an instant
// lies in: weeks start on Monday, quarters in January, April, July and October.
func PeriodStart(frequency string, at time.Time) string {
	at = at.UTC()
	year, month, day := at.Date()
	switch frequency {
	case "weekly":
		day -= (int(at.Weekday()) + 6) % 7
	case "monthly":
		day = 1
	case "quarterly":
		month, day = month-(month-1)%3, 1
	case "annual":
		month, day = time.January, 1
	}
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
}
