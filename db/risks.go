package db

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"govsvc/db/audit"
	"govsvc/db/resource"
)

// The events of risks.
const (
	EventRiskCreated         = "risk.created"
	EventRiskSeverityChanged = "risk.severity_changed"
)

var risks = stored(resource.Risk)

func init() {
	declareEvents(EventRiskCreated, EventRiskSeverityChanged)
	risks.hooks = hooks{
		onInsert: func(_ string, record Record) Record {
			severity, _ := record["severity"].(string)
			likelihood, _ := record["likelihood"].(string)
			return Record{"untreated_baseline": orNull(UntreatedBaseline(severity, likelihood))}
		},
		beforeUpdate: importedReason,
		afterWrite:   riskWritten,
		create:       createRisk,
		update:       updateRisk,
	}
}

// rank numbers the severities and the likelihoods from 1, least first. An unknown
// one is 0 (contract, section 4).
var rank = ranks(resource.Severities, resource.Likelihoods)

func ranks(scales ...[]string) map[string]int {
	places := map[string]int{}
	for _, scale := range scales {
		for i, value := range scale {
			places[value] = i + 1
		}
	}
	return places
}

// UntreatedBaseline returns the severity of a risk before any treatment: the band
// of the product of the ranks of severity and likelihood. It is "" if one of them
// is not known.
func UntreatedBaseline(severity, likelihood string) string {
	switch product := rank[severity] * rank[likelihood]; {
	case product >= 15:
		return "CRITICAL"
	case product >= 8:
		return "HIGH"
	case product >= 4:
		return "MEDIUM"
	case product >= 1:
		return "LOW"
	}
	return ""
}

// riskWritten enqueues risk.created and risk.severity_changed.
func riskWritten(tx *Tx, w writtenRecord) error {
	if w.outcome == Created {
		return riskCreated(tx, w)
	}
	before := w.before.rating()
	after := before.With(w.record)
	if before.Severity == after.Severity && before.ResidualSeverity == after.ResidualSeverity {
		return nil
	}
	if set, err := receiverSet(tx, EventRiskSeverityChanged); err != nil || set == 0 {
		return err // without receivers, the record is not read
	}
	object, err := readObject(tx, w)
	if err != nil {
		return err
	}
	reason, _ := w.record[reasonMember].(string)
	previous := ratings{orNull(before.Severity), orNull(before.ResidualSeverity)}
	return tx.Enqueue(EventRiskSeverityChanged, severityData{riskData{Risk: object}, previous, orNull(reason)})
}

func riskCreated(tx *Tx, w writtenRecord) error {
	if digits, ok := strings.CutPrefix(w.record["risk_id"].(string), "RISK-"); ok {
		if n, err := strconv.Atoi(digits); err == nil && len(digits) <= 9 {
			tx.riskNumber = max(tx.riskNumber, n)
		}
	}
	if set, err := receiverSet(tx, EventRiskCreated); err != nil || set == 0 {
		return err // without receivers, the record is not read
	}
	object, err := readObject(tx, w)
	if err != nil {
		return err
	}
	return tx.Enqueue(EventRiskCreated, riskData{Risk: object})
}

// ratings are a risk's inherent and residual severity.
type ratings struct {
	Severity         *string `json:"severity"`
	ResidualSeverity *string `json:"residual_severity"`
}

type riskData struct {
	Risk json.RawMessage `json:"risk"`
}

type severityData struct {
	riskData
	Previous ratings `json:"previous"`
	Reason   *string `json:"reason"`
}

// countRisks continues the numbering after the greatest imported number.
func countRisks(tx *Tx) error {
	if tx.riskNumber == 0 {
		return nil
	}
	_, err := tx.Exec("UPDATE organisations SET last_risk_number = ?1 WHERE seq = ?2 AND last_risk_number < ?1", tx.riskNumber, tx.Org)
	return err
}

// createRisk adds an open risk to the register with the next reference.
func createRisk(tx *Tx, r *storedResource, record Record) (storedRow, error) {
	if _, given := record["dimension"]; !given {
		record["dimension"] = "OTHER"
	}
	record["status"], record["source"] = "Open", "user_added"
	for {
		n, err := nextRiskNumber(tx)
		if err != nil {
			return storedRow{}, err
		}
		record["risk_id"] = fmt.Sprintf("RISK-%04d", n)
		made, isNew, err := createUnless(tx, r, record, r.Key)
		if err != nil || isNew {
			return made, err
		}
	}
}

// nextRiskNumber takes the next number for a reference. RETURNING would take twice as
// long as these two statements.
func nextRiskNumber(tx *Tx) (n int, err error) {
	if _, err := tx.Exec("UPDATE organisations SET last_risk_number = last_risk_number + 1 WHERE seq = ?", tx.Org); err != nil {
		return 0, StoreError(err)
	}
	err = tx.Row("SELECT last_risk_number FROM organisations WHERE seq = ?", tx.Org).Scan(&n)
	return n, StoreError(err)
}

// updateRisk changes a risk. A change that needs a reason and has none is
// refused (specification, States, rule 2). The reason is kept as evidence.
func updateRisk(tx *Tx, r *storedResource, id string, record Record) (storedRow, error) {
	reason, _ := record[reasonMember].(string)
	var further audit.Changes
	if reason != "" {
		further = audit.Changes{reasonMember: {To: reason}}
	}
	var before, after Rating
	changed, err := updateWith(tx, r, id, further, func(row storedRow) (Record, error) {
		before = row.rating()
		after = before.With(record)
		if reason == "" && NeedsReason(before, after) {
			return nil, errLacksReason
		}
		return record, nil
	})
	if err != nil || reason == "" {
		return changed, err
	}
	return changed, recordReason(tx, changed.seq, reason, before, after)
}

// Rating has the members that say how severe a risk is; "" if it is not rated.
type Rating struct {
	Severity         string `json:"severity"`
	ResidualSeverity string `json:"residual_severity"`
	Likelihood       string `json:"likelihood"`
	Status           string `json:"status"`
}

// Severer reports whether severity or likelihood a ranks above b. "" ranks below all.
func Severer(a, b string) bool { return rank[a] > rank[b] }

// With returns the rating after a change of a risk's members. null is "".
func (r Rating) With(change map[string]any) Rating {
	for member, field := range map[string]*string{
		"severity": &r.Severity, "residual_severity": &r.ResidualSeverity, "likelihood": &r.Likelihood, "status": &r.Status,
	} {
		if value, given := change[member]; given {
			*field, _ = value.(string)
		}
	}
	return r
}

// NeedsReason reports whether a change of a risk's rating needs a reason
// (specification, States, rule 2). That is a change that lowers or clears a severity
// or the likelihood. It is also one that closes, accepts or mitigates a risk whose
// inherent severity is CRITICAL before or after it.
func NeedsReason(before, after Rating) bool {
	if Severer(before.Severity, after.Severity) ||
		Severer(before.ResidualSeverity, after.ResidualSeverity) ||
		Severer(before.Likelihood, after.Likelihood) {
		return true
	}
	settles := before.Status != after.Status &&
		(after.Status == "Mitigated" || after.Status == "Accepted" || after.Status == "Closed")
	return settles && (before.Severity == "CRITICAL" || after.Severity == "CRITICAL")
}

// rating returns the rating of a risk.
func (s *storedRow) rating() Rating {
	return Rating{
		Severity: s.text("severity"), ResidualSeverity: s.text("residual_severity"),
		Likelihood: s.text("likelihood"), Status: s.text("status"),
	}
}

// recordReason stores the reason for a change of a risk's rating as evidence, with
// the actor, the time and the ratings before and after.
func recordReason(tx *Tx, risk int64, reason string, before, after Rating) error {
	_, err := tx.Exec("INSERT INTO severity_evidence (risk_seq, id, at, actor, reason, before, after) VALUES (?, ?, ?, ?, ?, ?, ?)",
		risk, tx.NewID(), tx.At(), tx.ID, reason, compact(before), compact(after))
	return err
}

// importedReason applies the rule of severity_change_reason to a risk that an
// import changes, and stores the reason as evidence. The record's reason has
// precedence over that of the import.
func importedReason(tx *Tx, row storedRow, record Record, changes audit.Changes) error {
	im := tx.importing
	if im == nil {
		return nil
	}
	before := row.rating()
	after := before.With(record)
	reason, _ := record[reasonMember].(string)
	if reason == "" {
		needed := NeedsReason(before, after)
		rated := before.Severity != after.Severity || before.ResidualSeverity != after.ResidualSeverity
		switch {
		case needed && im.rules.Reason == "" && im.rules.RequireReasons:
			im.lacksReason = true
			return nil
		case needed || rated && !im.rules.RequireReasons:
			reason = im.rules.Reason
		}
	}
	if reason == "" {
		return nil
	}
	record[reasonMember] = reason // for the event
	changes[reasonMember] = audit.Change{To: reason}
	return recordReason(tx, row.seq, reason, before, after)
}

// reasonMember is a member of changes of risks. It is not a column.
const reasonMember = "severity_change_reason"
