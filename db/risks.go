package db

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Risks are the risk register, newest first (GET /risks).
var Risks = Collection{
	Name: "risks", table: "risks", newest: "created_at", Since: true,
	Filters: map[string]string{"severity": "severity", "status": "status"},
}

var risks = noun{
	object: "risk", table: "risks", key: []string{"risk_id"},
	birth: func(_ *Tx, record Record) Record {
		severity, _ := record["severity"].(string)
		likelihood, _ := record["likelihood"].(string)
		return Record{"untreated_baseline": orNull(UntreatedBaseline(severity, likelihood))}
	},
	written: riskWritten,
}

// rank is the place of a severity or a likelihood in its order, from 1; 0 is
// none (contract, section 4).
var rank = map[string]int{
	"LOW": 1, "MEDIUM": 2, "HIGH": 3, "CRITICAL": 4,
	"RARE": 1, "UNLIKELY": 2, "POSSIBLE": 3, "LIKELY": 4, "ALMOST_CERTAIN": 5,
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
func riskWritten(tx *Tx, w written) error {
	if w.outcome == Created {
		if digits, ok := strings.CutPrefix(w.record["risk_id"].(string), "RISK-"); ok {
			if n, err := strconv.Atoi(digits); err == nil && len(digits) <= 9 {
				tx.riskNumber = max(tx.riskNumber, n)
			}
		}
		return tx.Raise("risk.created", riskData{Risk: w.after})
	}
	var before, after ratings
	if err := json.Unmarshal(w.before, &before); err != nil {
		return err
	}
	if err := json.Unmarshal(w.after, &after); err != nil {
		return err
	}
	return tx.raiseSeverityChange(w.after, before, after, nil)
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

func (tx *Tx) raiseSeverityChange(risk []byte, before, after ratings, reason *string) error {
	if equal(before.Severity, after.Severity) && equal(before.ResidualSeverity, after.ResidualSeverity) {
		return nil
	}
	return tx.Raise("risk.severity_changed", severityData{riskData{Risk: risk}, before, reason})
}

// countRisks lets the numbering go on behind the greatest imported number.
func (tx *Tx) countRisks() error {
	if tx.riskNumber == 0 {
		return nil
	}
	_, err := tx.exec("UPDATE organisations SET last_risk_number = ?1 WHERE seq = ?2 AND last_risk_number < ?1", tx.riskNumber, tx.Org)
	return err
}
