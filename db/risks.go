package db

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"govsvc/db/audit"
	"govsvc/db/resource"
)

var risks = stored(resource.Risk)

func init() {
	risks.hooks = hooks{
		onInsert: func(_ *Tx, record Record) Record {
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

// rank is the place of a severity or a likelihood in its order, from 1; 0 is
// none (contract, section 4).
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

// UntreatedBaseline is the severity of a risk before any treatment: the
// product of the ranks of severity and likelihood, banded; "" where one of
// them is not known.
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

// countRisks lets the numbering go on behind the greatest imported number.
func countRisks(tx *Tx) error {
	if tx.riskNumber == 0 {
		return nil
	}
	_, err := tx.Exec("UPDATE organisations SET last_risk_number = ?1 WHERE seq = ?2 AND last_risk_number < ?1", tx.riskNumber, tx.Org)
	return err
}

// createRisk adds an open risk to the register under the next reference.
func createRisk(tx *Tx, r *storedResource, record Record) (storedRow, error) {
	if _, given := record["dimension"]; !given {
		record["dimension"] = "OTHER"
	}
	record["status"], record["source"] = "Open", "user_added"
	for {
		var n int
		err := tx.Returning("UPDATE organisations SET last_risk_number = last_risk_number + 1 WHERE seq = ? RETURNING last_risk_number", tx.Org).Scan(&n)
		if err != nil {
			return storedRow{}, StoreError(err)
		}
		record["risk_id"] = fmt.Sprintf("RISK-%04d", n)
		made, isNew, err := createUnless(tx, r, record, r.Key)
		if err != nil || isNew {
			return made, err
		}
	}
}

// updateRisk changes a risk. A change that needs a reason and has none is
// refused (specification, States, rule 2). The reason is kept as evidence.
func updateRisk(tx *Tx, r *storedResource, id string, record Record) (storedRow, error) {
	reason, _ := record[reasonMember].(string)
	var further audit.Changes
	if reason != "" {
		further = audit.Changes{reasonMember: {To: reason}}
	}
	var before Rating
	after, err := updateWith(tx, r, id, further, func(row storedRow) (Record, error) {
		before = row.rating()
		if reason == "" && NeedsReason(before, before.With(record)) {
			return nil, errLacksReason
		}
		return record, nil
	})
	if err != nil || reason == "" {
		return after, err
	}
	return after, recordReason(tx, after.seq, reason, before, after.rating())
}
