package db

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"govsvc/db/audit"
)

// TestImport_PutAll writes the same records one after the other and, where an import
// can, many with one statement. The outcomes, the rows and the events are the same: also
// if some of the records exist, are repeated or are invalid.
func TestImport_PutAll(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		first, then []importedRecord
		statements  int // that write many of the second records, or fail to
	}{
		"new":              {then: manyRecords(0, 200), statements: 3 + 3},
		"known":            {first: manyRecords(0, 200), then: manyRecords(0, 200), statements: 1 + 0},
		"one known":        {first: manyRecords(70, 71), then: manyRecords(0, 200), statements: 3 + 3},
		"the last known":   {first: manyRecords(199, 200), then: manyRecords(0, 200), statements: 3 + 3},
		"the first known":  {first: manyRecords(0, 100), then: manyRecords(0, 300), statements: 4 + 4},
		"repeated at once": {then: slices.Concat(manyRecords(0, 10), manyRecords(5, 100)), statements: 1 + 1},
		"repeated later":   {then: slices.Concat(manyRecords(0, 70), manyRecords(0, 70)), statements: 1 + 1 + 1},
		"another's id": {
			first: []importedRecord{{"risk", Record{"id": "risk-3", "risk_id": "other", "description": "d"}}},
			then:  manyRecords(0, 130), statements: 2 + 2,
		},
		"invalid": {
			then: slices.Concat(manyRecords(0, 10), []importedRecord{
				{"kpi_checkin", Record{"key_result_code": "none", "period_start": "2026-01-01", "value": json.Number("1")}},
				{"risk", Record{"id": "invalid", "risk_id": "invalid", "description": "d", "financial_exposure_min": json.Number("1e999")}},
			}, manyRecords(10, 130)),
			statements: 1 + 1,
		},
		"refused by the table": {
			then: slices.Concat(manyRecords(0, 10), []importedRecord{
				{"risk", Record{"id": "refused", "risk_id": "refused", "description": "d", "title": nil, "severity": "NONE", "likelihood": "LIKELY", "financial_exposure_max": json.Number("1")}},
			}, manyRecords(10, 130)),
			statements: 1 + 1,
		},
		"a key result after its check-ins": {
			then:       slices.Concat(manyRecords(0, 100), []importedRecord{{"kpi", Record{"code": "K-1", "current_value": json.Number("7"), "current_as_of": "2001-01-01T00:00:00.000Z"}}}),
			statements: 1 + 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			single, _ := importBoth(t, row.first, row.then, false)
			many, statements := importBoth(t, row.first, row.then, true)
			if !slices.Equal(single, many) {
				for i := range min(len(single), len(many)) {
					if single[i] != many[i] {
						t.Fatalf("line %d:\n got %s\nwant %s", i, many[i], single[i])
					}
				}
				t.Fatalf("got %d lines, want %d", len(many), len(single))
			}
			if statements != row.statements {
				t.Errorf("got %d statements that wrote many records, want %d", statements, row.statements)
			}
		})
	}
}

type importedRecord struct {
	object string
	record Record
}

// manyRecords returns risks and then check-ins, each with a number.
func manyRecords(from, to int) []importedRecord {
	var all []importedRecord
	for i := from; i < to; i++ {
		all = append(all, importedRecord{"risk", Record{
			"id": fmt.Sprint("risk-", i), "risk_id": fmt.Sprintf("RISK-%04d", i), "description": "It drifts.", "title": nil,
			"severity": "HIGH", "likelihood": "LIKELY", "financial_exposure_max": json.Number("2.5"),
		}})
	}
	for i := from; i < to; i++ {
		day := time.Date(2026, 1, 1+i/2, 0, 0, 0, 0, time.UTC)
		all = append(all, importedRecord{"kpi_checkin", Record{
			"id": fmt.Sprint("checkin-", i), "key_result_code": fmt.Sprint("K-", i%2), "period_start": day.Format(time.DateOnly),
			"value": json.Number(fmt.Sprint(i)), "note": "as measured", "updated_at": day.Format(time.RFC3339),
		}})
	}
	return all
}

// importBoth imports some records and then others, and returns the outcomes of the
// others and the content of the file. With together, it also returns how many statements
// were to write many of them.
func importBoth(t *testing.T, first, then []importedRecord, together bool) (found []string, statements int) {
	t.Helper()
	d, org := opened(t)
	by := Actor{Org: org.Org, ID: "system", OSUser: "ada"}
	run := func(records []importedRecord) {
		err := d.Write(t.Context(), by, func(tx *Tx) error {
			im := tx.NewImport(ImportRules{Reason: "The yearly review of all risks"})
			preparer, err := im.Preparer()
			if err != nil {
				return err
			}
			var prepared []Prepared
			for _, one := range records {
				next := Prepared{object: one.object, record: maps.Clone(one.record)}
				if together {
					next = preparer.Prepare(next.object, next.record)
				}
				prepared = append(prepared, next)
			}
			found = nil
			err = im.PutAll(prepared, func(i int, done PutResult, err error) error {
				found = append(found, fmt.Sprintln(i, done.Outcome, done.ID, err))
				return nil
			})
			if err != nil {
				return err
			}
			return im.Complete(audit.Metadata{})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	run([]importedRecord{{"kpi", newKeyResult("K-0")}, {"kpi", newKeyResult("K-1")}})
	run(first)
	d.engine.TraceWrites(func(query string) {
		if len(query) > 1000 && query[:18] != insertEvents[:18] {
			statements++
		}
	})
	run(then)
	for _, query := range []string{
		"SELECT json_array(seq, resource, title, created_at, updated_at, untreated_baseline) FROM risks ORDER BY seq",
		"SELECT json_array(seq, kpi_seq, id, period_start, value, source, note, created_at, updated_at) FROM kpi_checkins ORDER BY seq",
		"SELECT json_remove(resource, '$.id') FROM kpis ORDER BY seq",
		"SELECT json_remove(event, '$.id', '$.metadata.import_id', iif(event ->> 'action' LIKE '%completed' OR event ->> 'resource_type' = 'kpi', '$.resource_id', '$.none'), '$.metadata.changes.key_result_id') FROM audit_events ORDER BY seq",
		"SELECT json_array(last_risk_number) FROM organisations",
	} {
		err := d.Each(t.Context(), func(row Scanner) error {
			found = append(found, "")
			return row.Scan(&found[len(found)-1])
		}, query)
		if err != nil {
			t.Fatal(err)
		}
	}
	return found, statements
}

func newKeyResult(code string) Record {
	return Record{
		"code": code, "statement": "s", "metric_name": "m", "unit": "u", "direction": "increase", "target_value": json.Number("1"),
		"measurement_frequency": "weekly", "status": "active",
	}
}
