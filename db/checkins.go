package db

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"govsvc/db/audit"
	"govsvc/db/resource"
)

// Checkin is a recorded data point of a key result.
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

// CheckinJSON is the JSON of a check-in c on the page of its key result.
const CheckinJSON = `json_object('object', 'kpi_checkin', 'id', c.id, 'value', c.value, 'period_start', c.period_start,
	'source', c.source, 'evidence_ref', c.evidence_ref, 'note', c.note, 'created_at', c.created_at, 'updated_at', c.updated_at)`

// CheckinDraft is a data point to record. It identifies its key result by id, by
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

// RecordCheckins records data points in their order. A later one for the same
// period replaces the earlier one. The current value of each key result is that of
// its latest period. If one point is invalid, none is recorded.
func (tx *Tx) RecordCheckins(drafts []CheckinDraft) ([]Checkin, error) {
	recorded, of := make([]Checkin, len(drafts)), make([]*keyResult, len(drafts))
	results := keyResults{tx: tx, byName: map[string]*keyResult{}, bySeq: map[int64]*keyResult{}}
	for i, draft := range drafts {
		var err error
		if of[i], err = results.find(i, draft); err != nil {
			return nil, err
		}
		if recorded[i], err = draft.of(of[i], tx.now); err != nil {
			return nil, err
		}
	}
	changes, moved, err := replaceCheckins(tx, recorded, of)
	if err != nil || len(changes) == 0 {
		return recorded, err
	}
	for _, seq := range slices.Sorted(maps.Keys(moved)) {
		if err := followLatestPeriod(tx, seq, tx.At()); err != nil {
			return nil, err
		}
	}
	action, metadata := writeAction(tx, "kpi_checkin", "created", audit.Metadata{"accepted": len(recorded), "changes": changes})
	return recorded, tx.Audit(audit.Event{
		Action: action, Category: audit.DataChange, Severity: audit.SeverityWrite,
		ResourceType: "kpi_checkin", Metadata: metadata,
	})
}

// of returns the draft as a point of its key result.
func (draft CheckinDraft) of(kpi *keyResult, now time.Time) (Checkin, error) {
	c := Checkin{
		Object: "kpi_checkin", KeyResultID: kpi.id, KeyResultCode: kpi.code, PeriodStart: draft.PeriodStart,
		Source: draft.Source, EvidenceRef: draft.EvidenceRef, Note: draft.Note,
	}
	if c.PeriodStart == "" {
		c.PeriodStart = resource.PeriodStart(kpi.frequency, now).Format(time.DateOnly)
	}
	var err error
	c.Value, err = columnNumber("value", draft.Value)
	return c, err
}

// keyResult is a KPI that a batch of check-ins refers to.
type keyResult struct {
	seq                 int64
	id, code, frequency string
}

// keyResults finds the key results of a batch, each once.
type keyResults struct {
	tx     *Tx
	byName map[string]*keyResult // by id or by code, as in the batch
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
		err := k.tx.Row("SELECT seq, id, code, measurement_frequency FROM kpis WHERE org_id = ? AND "+column+" = ?", k.tx.Org, name).
			Scan(&known.seq, &known.id, &known.code, &known.frequency)
		at := fmt.Sprintf("checkins[%d].%s", index, param)
		if none, err := Absent(err); none {
			return nil, &Error{Code: NotFound, Param: at, Message: at + " names no key result of this organisation"}
		} else if err != nil {
			return nil, StoreError(err)
		}
		if other := k.bySeq[known.seq]; other != nil {
			known = other // the batch has its id and its code
		}
		k.byName[param+name], k.bySeq[known.seq] = known, known
	}
	if draft.KeyResultCode != "" && draft.KeyResultCode != known.code {
		at := fmt.Sprintf("checkins[%d].key_result_code", index)
		return nil, &Error{Code: Invalid, Param: at, Message: at + " is not the code of the key result that key_result_id names"}
	}
	return known, nil
}

// checkinPlace identifies one value: a later point for the same place replaces it.
type checkinPlace struct {
	kpi    int64
	period string
}

// replaceCheckins writes the last point of each place, gives every point the id and
// the creation time of its place, and returns the changes by place. One statement
// reads all places, and one writes many, because a batch of 500 would spend most of
// its time between statements.
//
// A point that equals the stored one is not written; moved are the key results of
// the others.
func replaceCheckins(tx *Tx, points []Checkin, of []*keyResult) (changes audit.Changes, moved map[int64]bool, err error) {
	last := make(map[checkinPlace]int, len(points))
	for i := range points {
		last[checkinPlace{of[i].seq, points[i].PeriodStart}] = i
	}
	known, err := readCheckinsAt(tx, last)
	if err != nil {
		return nil, nil, err
	}
	changes, moved = make(audit.Changes, len(last)), map[int64]bool{}
	const columns = 9
	args := make([]any, 0, columns*len(last))
	for i := range points {
		c, place := &points[i], checkinPlace{of[i].seq, points[i].PeriodStart}
		before, there := known[place]
		if !there {
			before = Checkin{ID: tx.NewID(), CreatedAt: tx.At()}
			known[place] = before
		}
		c.ID, c.CreatedAt = before.ID, before.CreatedAt
		if last[place] == i && !c.repeats(before) {
			moved[place.kpi] = true
			changes[c.KeyResultCode+" "+c.PeriodStart] = audit.Change{From: before.Value, To: c.Value}
			args = append(args, place.kpi, c.ID, place.period, c.Value, c.Source, c.EvidenceRef, c.Note, c.CreatedAt, tx.At())
		}
	}
	for _, write := range upsertCheckins {
		for n := columns * write.rows; len(args) >= n; args = args[n:] {
			if _, err := tx.Exec(write.statement, args[:n]...); err != nil {
				return nil, nil, err
			}
		}
	}
	return changes, moved, nil
}

// repeats reports whether a point equals the stored one. A new one has no value
// before.
func (c *Checkin) repeats(before Checkin) bool {
	return c.Value == before.Value && c.Source == before.Source && equal(c.EvidenceRef, before.EvidenceRef) && equal(c.Note, before.Note)
}

// upsertCheckins are the statements by the number of points that they write, largest
// first.
var upsertCheckins = []struct {
	rows      int
	statement string
}{{125, upsertCheckin(125)}, {25, upsertCheckin(25)}, {1, upsertCheckin(1)}}

func upsertCheckin(rows int) string {
	return `INSERT INTO kpi_checkins (kpi_seq, id, period_start, value, source, evidence_ref, note, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)` + strings.Repeat(", (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows-1) + `
		ON CONFLICT (kpi_seq, period_start) DO UPDATE SET value = excluded.value, source = excluded.source,
			evidence_ref = excluded.evidence_ref, note = excluded.note, updated_at = excluded.updated_at`
}

// readCheckinsAt reads the points of the places that have one. The query has one text
// for each key result, which SQLite parses faster than one for each place.
func readCheckinsAt(tx *Tx, places map[checkinPlace]int) (map[checkinPlace]Checkin, error) {
	asked := map[int64][]string{}
	for place := range places {
		asked[place.kpi] = append(asked[place.kpi], place.period)
	}
	known := make(map[checkinPlace]Checkin, len(places))
	err := tx.Each(func(row Scanner) error {
		var place checkinPlace
		var c Checkin
		err := row.Scan(&place.kpi, &place.period, &c.Value, &c.ID, &c.CreatedAt, &c.Source, &c.EvidenceRef, &c.Note)
		known[place] = c
		return err
	}, `SELECT c.kpi_seq, c.period_start, c.value, c.id, c.created_at, c.source, c.evidence_ref, c.note FROM json_each(?) kpi
		CROSS JOIN json_each(kpi.value) period
		CROSS JOIN kpi_checkins c ON c.kpi_seq = kpi.key AND c.period_start = period.value`, compact(asked))
	return known, err
}
