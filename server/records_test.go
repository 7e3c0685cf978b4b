package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"govsvc/db"
)

// fixtures returns the records of the sandbox, in the order of the file.
func fixtures(t testing.TB) []db.Record {
	t.Helper()
	records, err := readFixtures()
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func readFixtures() ([]db.Record, error) {
	file, err := os.Open("../sandbox/fixtures.ndjson")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	decoder := json.NewDecoder(file)
	decoder.UseNumber()
	var records []db.Record
	for {
		var record db.Record
		if err := decoder.Decode(&record); errors.Is(err, io.EOF) {
			return records, nil
		} else if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
}

// load stores records of an organisation in one transaction.
func load(t testing.TB, store *db.DB, org string, records []db.Record) {
	t.Helper()
	if err := put(t.Context(), store, by(t, store, org), records); err != nil {
		t.Fatal(err)
	}
}

func put(ctx context.Context, store *db.DB, by db.Actor, records []db.Record) error {
	return audited(ctx, store, by, func(tx *db.Tx) error {
		for _, record := range records {
			if _, err := tx.Put(record["object"].(string), record); err != nil {
				return fmt.Errorf("%v: %w", record, err)
			}
		}
		return nil
	})
}

// list describes a list of the API for the tests.
type list struct {
	path   string
	scope  string
	object string              // the type in the data format
	newest string              // the member that orders it
	key    string              // the member of its natural key
	filter map[string][]string // parameter → its member and the values to test
}

// lists are the lists of the specification, except the audit log.
var lists = []list{
	{"/scores", "read:scores", "assessment", "completed_at", "completed_at", nil},
	{"/risks", "read:risks", "risk", "created_at", "risk_id", map[string][]string{
		"severity": {"severity", "CRITICAL", "HIGH", "MEDIUM", "LOW"},
		"status":   {"status", "Open", "InProgress", "Mitigated", "Accepted", "Closed"},
	}},
	{"/signals", "read:signals", "signal", "as_of", "signal_type", map[string][]string{
		"type": {"signal_type", "shadow_ai_uploads", "no_such_type", "100% ☂"},
	}},
	{"/roadmap/milestones", "read:roadmap", "milestone", "created_at", "milestone_key", map[string][]string{
		"status": {"status", "not_started", "in_progress", "blocked", "completed", "cancelled"},
	}},
	{"/compliance/obligations", "read:compliance", "obligation", "created_at", "obligation_key", map[string][]string{
		"regime_id": {"regime_id", "eu-ai-act", "gdpr", "no-such-regime"},
		"status":    {"status", "not_started", "in_progress", "compliant", "at_risk", "non_compliant", "not_applicable"},
	}},
	{"/vendor/inventory", "read:vendor", "vendor", "created_at", "vendor_key", map[string][]string{
		"status": {"status", "active", "under_review", "negotiating", "sunsetting", "exited", "blocked"},
	}},
	{"/talent/gaps", "read:talent", "talent_gap", "created_at", "gap_key", map[string][]string{
		"status": {"status", "open", "in_progress", "filled", "deferred", "closed"},
	}},
	{"/incidents", "read:incidents", "incident", "created_at", "title", map[string][]string{
		"severity": {"severity", "low", "medium", "high", "critical"},
		"status":   {"status", "open", "investigating", "contained", "resolved", "post_review", "closed"},
	}},
	{"/kpis", "read:kpis", "kpi", "created_at", "code", map[string][]string{
		"code":   {"code", "KR-1.1", "kr-1.1", "KR-9.9"},
		"status": {"status", "draft", "active", "achieved", "missed", "retired"},
	}},
}

// currents are the reads of one current object.
var currents = []struct{ path, scope, object, resource string }{
	{"/scorecard", "read:scorecard", "assessment", "scorecard"},
	{"/roadmap", "read:roadmap", "roadmap", "roadmap"},
	{"/compliance", "read:compliance", "compliance_posture", "compliance_posture"},
	{"/vendor", "read:vendor", "vendor_portfolio", "vendor_portfolio"},
	{"/talent", "read:talent", "talent_readiness", "talent_readiness"},
}

// sample returns a small record of a type, with a number and an instant. Its texts
// contain mark.
func sample(object, mark string, n int, at time.Time) db.Record {
	text, stamp := fmt.Sprintf("%s %s %d", mark, object, n), at.Format(time.RFC3339Nano)
	r := db.Record{"object": object, "created_at": stamp, "updated_at": stamp}
	set := func(more db.Record) db.Record {
		for member, value := range more {
			r[member] = value
		}
		return r
	}
	version := json.Number(fmt.Sprint(n))
	switch object {
	case "assessment":
		return set(db.Record{"methodology_version": text, "completed_at": stamp, "verdict": "CRISIS", "overall_score": json.Number("41.5")})
	case "risk":
		return set(db.Record{"risk_id": text, "title": text, "description": text, "severity": "HIGH", "likelihood": "LIKELY", "status": "Open"})
	case "signal":
		return set(db.Record{"signal_type": text, "module_id": text, "as_of": stamp, "rag": "RED"})
	case "roadmap":
		return set(db.Record{"version_number": version, "executive_summary": text, "generated_at": stamp})
	case "milestone":
		return set(db.Record{"milestone_key": text, "title": text, "phase": text, "sequence": version, "status": "blocked", "rag_status": "RED", "owner_role": text})
	case "compliance_posture":
		return set(db.Record{"version_number": version, "overall_posture": "COMPLIANT", "executive_summary": text, "generated_at": stamp})
	case "obligation":
		return set(db.Record{"obligation_key": text, "regime_id": "eu-ai-act", "regime_name": text, "jurisdiction": text, "title": text, "priority_band": "LOW", "status": "at_risk"})
	case "vendor_portfolio":
		return set(db.Record{"version_number": version, "portfolio_posture": "WATCH", "executive_summary": text, "generated_at": stamp})
	case "vendor":
		return set(db.Record{"vendor_key": text, "vendor_name": text, "category": text, "initial_risk_band": "LOW", "status": "active"})
	case "talent_readiness":
		return set(db.Record{"version_number": version, "overall_readiness": "READY", "executive_summary": text, "generated_at": stamp, "build_buy_borrow": map[string]any{"build": version, "buy": version, "borrow": version}})
	case "talent_gap":
		return set(db.Record{"gap_key": text, "role_title": text, "function_area": text, "headcount_needed": version, "priority_band": "LOW", "recommended_path": "buy", "status": "open"})
	case "incident":
		return set(db.Record{"incident_key": text, "title": text, "severity": "low", "status": "open", "incident_type": "other"})
	case "kpi":
		return set(db.Record{"code": text, "statement": text, "metric_name": text, "unit": text, "direction": "increase", "target_value": version, "measurement_frequency": "weekly", "status": "active"})
	}
	panic("no sample of " + object)
}

// sampleOfEachType returns one record of each type that a read returns.
func sampleOfEachType(mark string, at time.Time) []db.Record {
	var records []db.Record
	for _, object := range []string{
		"assessment", "risk", "signal", "roadmap", "milestone", "compliance_posture", "obligation",
		"vendor_portfolio", "vendor", "talent_readiness", "talent_gap", "incident", "kpi",
	} {
		records = append(records, sample(object, mark, 1, at))
	}
	return records
}

// page is a list's envelope.
type page struct {
	Object     string           `json:"object"`
	Data       []map[string]any `json:"data"`
	HasMore    bool             `json:"has_more"`
	NextCursor *string          `json:"next_cursor"`
}

func (a answer) page(t testing.TB) page {
	t.Helper()
	var p page
	decoder := json.NewDecoder(bytes.NewReader(a.body))
	decoder.UseNumber()
	if err := decoder.Decode(&p); err != nil {
		t.Fatalf("%v: %.300s", err, a.body)
	}
	return p
}

// next returns the cursor of the next page, or "" if there is none.
func (p page) next() string {
	if p.NextCursor == nil {
		return ""
	}
	return *p.NextCursor
}

// values returns the values of a member, in the order of the rows.
func (p page) values(member string) []string {
	values := make([]string, len(p.Data))
	for i, record := range p.Data {
		values[i] = fmt.Sprint(record[member])
	}
	return values
}

// stored formats an instant in the form of queries and responses.
func stored(at time.Time) string { return db.Timestamp(at) }
