package db

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

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
		beforeUpdate: riskChanging,
		afterWrite:   riskWritten,
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

// riskWritten raises risk.created and risk.severity_changed.
func riskWritten(tx *Tx, w writtenRecord) error {
	if w.outcome == Created {
		return tx.riskCreated(w)
	}
	before := tx.ratingOf(w.before)
	after := before.With(w.record)
	if before.Severity == after.Severity && before.ResidualSeverity == after.ResidualSeverity {
		return nil
	}
	const kind = EventRiskSeverityChanged
	if set, err := tx.receiverSet(kind); err != nil || set == 0 {
		return err
	}
	text, err := tx.resource(w.resource, w.seq)
	if err != nil {
		return err
	}
	reason, _ := w.record["severity_change_reason"].(string)
	previous := ratings{orNull(before.Severity), orNull(before.ResidualSeverity)}
	return tx.Enqueue(kind, severityData{riskData{Risk: text}, previous, orNull(reason)})
}

func (tx *Tx) riskCreated(w writtenRecord) error {
	if digits, ok := strings.CutPrefix(w.record["risk_id"].(string), "RISK-"); ok {
		if n, err := strconv.Atoi(digits); err == nil && len(digits) <= 9 {
			tx.riskNumber = max(tx.riskNumber, n)
		}
	}
	const kind = EventRiskCreated
	if set, err := tx.receiverSet(kind); err != nil || set == 0 {
		return err // an import of many reads none of them back
	}
	text, err := tx.resource(w.resource, w.seq)
	if err != nil {
		return err
	}
	return tx.Enqueue(kind, riskData{Risk: text})
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
func (tx *Tx) countRisks() error {
	if tx.riskNumber == 0 {
		return nil
	}
	_, err := tx.Exec("UPDATE organisations SET last_risk_number = ?1 WHERE seq = ?2 AND last_risk_number < ?1", tx.riskNumber, tx.Org)
	return err
}

// CreateRisk adds an open risk to the register under the next reference.
func (tx *Tx) CreateRisk(record Record) ([]byte, error) {
	for {
		var n int
		err := tx.Returning("UPDATE organisations SET last_risk_number = last_risk_number + 1 WHERE seq = ? RETURNING last_risk_number", tx.Org).Scan(&n)
		if err != nil {
			return nil, storeError(err)
		}
		record["risk_id"] = fmt.Sprintf("RISK-%04d", n)
		made, fresh, err := tx.create(risks, record)
		if err != nil || fresh {
			return made.resource, err
		}
	}
}

// RiskRating reads how a risk is rated now.
func (tx *Tx) RiskRating(id string) (Rating, error) {
	var r Rating
	err := tx.Row(`SELECT coalesce(severity, ''), coalesce(residual_severity, ''), coalesce(likelihood, ''), status
		FROM risks WHERE org_id = ? AND id = ?`, tx.Org, id).Scan(&r.Severity, &r.ResidualSeverity, &r.Likelihood, &r.Status)
	if none, err := absent(err); none || err != nil {
		if none {
			return r, &Error{Code: NotFound, Message: "no risk with this id in this organisation"}
		}
		return r, storeError(err)
	}
	return r, nil
}

// UpdateRisk changes a risk. Its severity_change_reason, where the record gives
// one, is kept as evidence with who, when, before and after.
func (tx *Tx) UpdateRisk(id string, record Record) ([]byte, error) {
	before, err := tx.RiskRating(id)
	if err != nil {
		return nil, err
	}
	reason, _ := record["severity_change_reason"].(string)
	if reason == "" {
		changed, err := tx.update(risks, id, record, nil)
		return changed.resource, err
	}
	changed, err := tx.update(risks, id, record, Changes{"severity_change_reason": {To: reason}})
	if err != nil {
		return nil, err
	}
	after, err := tx.RiskRating(id)
	if err != nil {
		return nil, err
	}
	return changed.resource, tx.recordReason(changed.seq, reason, before, after)
}
