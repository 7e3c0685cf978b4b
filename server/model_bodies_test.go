package server_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"govsvc/db"
)

// rule describes the valid values of a member of a body: one of words, or a kind.
type rule struct {
	kind     string // "words", "text", "key", "date" and so on; see holds
	words    string
	least    int  // characters, without white space at the ends
	most     int  // characters
	line     bool // without a line break
	required bool
	null     bool
}

// words returns the rule of an enumeration. The functions text, need and orNull return
// other rules.
func words(list string) rule        { return rule{kind: "words", words: list} }
func texts(least, most int) rule    { return rule{kind: "text", least: least, most: most} }
func kindOf(kind string) rule       { return rule{kind: kind, most: 20_000} }
func need(r rule) rule              { r.required = true; return r }
func orNull(r rule) rule            { r.null = true; return r }
func oneLine(r rule) rule           { r.line = true; return r }
func name() rule                    { return texts(1, 2000) }
func prose() rule                   { return texts(0, 20_000) }
func (r rule) fits(value any) bool  { return value == nil && r.null || value != nil && r.holds(value) }
func trimmedLength(text string) int { return utf8.RuneCountInString(strings.TrimSpace(text)) }
func isKind[T any](value any) bool  { _, ok := value.(T); return ok }
func dateOf(text string) (string, bool) {
	at, err := time.Parse(time.DateOnly, text)
	return at.Format(time.DateOnly), err == nil
}

const likelihoodLevels = "RARE UNLIKELY POSSIBLE LIKELY ALMOST_CERTAIN"

const incidentTypes = "model_failure bias_harm data_exposure agent_failure regulatory_inquiry shadow_ai_breach other"

// eventTypes are the types that a subscription can name: all but ping.
var eventTypes = strings.Join(slices.DeleteFunc(db.EventTypes(), func(kind string) bool { return kind == db.EventPing }), " ")

// bodyForms are the bodies of the writes (specification, Endpoints).
var bodyForms = map[string]map[string]rule{
	"POST /risks": {
		"title": need(name()), "description": need(texts(20, 20_000)), "severity": need(words(riskLevels)),
		"likelihood": need(words(likelihoodLevels)), "dimension": kindOf("key"), "mitigation_action": prose(),
		"owner_name": texts(0, 2000), "target_date": kindOf("date"),
	},
	"PATCH /risks/{id}": {
		"title": orNull(texts(0, 2000)), "severity": words(riskLevels), "residual_severity": orNull(words(riskLevels)),
		"likelihood": words(likelihoodLevels), "status": words(riskStatuses), "owner_name": orNull(texts(0, 2000)),
		"mitigation_action": orNull(prose()), "target_date": orNull(kindOf("date")),
		"residual_gap_reason": orNull(prose()), "severity_change_reason": orNull(texts(20, 20_000)),
	},
	"POST /incidents": {
		"title": oneLine(need(name())), "description": prose(), "incident_type": words(incidentTypes), "severity": words(incidentLevels),
		"status": words(incidentStatuses), "affected_systems": prose(), "jurisdictions": prose(), "owner": texts(0, 2000),
		"notification_required": kindOf("flag"), "notification_deadline": orNull(kindOf("instant")),
	},
	"PATCH /incidents/{id}": {
		"title": oneLine(name()), "description": orNull(prose()), "incident_type": words(incidentTypes), "severity": words(incidentLevels),
		"status": words(incidentStatuses), "affected_systems": orNull(prose()), "jurisdictions": orNull(prose()), "owner": orNull(texts(0, 2000)),
		"notification_required": kindOf("flag"), "notification_deadline": orNull(kindOf("instant")),
	},
	"POST /kpis/checkins": {"checkins": need(kindOf("points"))},
	"POST /vendor/inventory": {
		"vendor_key": need(kindOf("key")), "vendor_name": need(name()), "category": need(texts(1, 20_000)),
		"initial_risk_band": need(words(riskLevels)), "ai_role": orNull(prose()),
		"initial_recommendation": orNull(words("consolidate negotiate maintain exit onboard")), "status": words(reviewStates),
		"contract_start": orNull(kindOf("date")), "contract_end": orNull(kindOf("date")), "annual_cost_usd": orNull(kindOf("cost")),
		"renewal_owner_role": orNull(prose()), "notes": orNull(prose()),
	},
	"PATCH /vendor/inventory/{id}": {
		"status": words(reviewStates), "contract_start": orNull(kindOf("date")), "contract_end": orNull(kindOf("date")),
		"renewal_owner_role": orNull(prose()), "annual_cost_usd": orNull(kindOf("cost")), "notes": orNull(prose()),
	},
	"POST /webhooks/subscriptions": {
		"url": need(kindOf("url")), "event_types": kindOf("types"), "description": orNull(prose()), "active": kindOf("flag"),
	},
	"PATCH /webhooks/subscriptions/{id}": {
		"url": kindOf("url"), "event_types": kindOf("types"), "description": orNull(prose()), "active": kindOf("flag"),
	},
	"POST /webhooks/subscriptions/{id}/test": {},
	"DELETE /webhooks/subscriptions/{id}":    {},
}

// point is a data point of a batch of check-ins.
var point = map[string]rule{
	"key_result_id": kindOf("uuid"), "key_result_code": kindOf("key"), "value": need(kindOf("value")),
	"period_start": kindOf("period"), "source": texts(1, 100), "evidence_ref": texts(0, 2000), "note": texts(0, 2000),
}

var uuid = regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)

// holds reports whether a value other than null obeys the rule.
func (r rule) holds(value any) bool {
	text, isText := value.(string)
	switch r.kind {
	case "words":
		return isText && slices.Contains(strings.Fields(r.words), text)
	case "text":
		return isText && trimmedLength(text) >= r.least && utf8.RuneCountInString(text) <= r.most &&
			(!r.line || !strings.Contains(strings.TrimSpace(text), "\n"))
	case "key":
		return isText && text != "" && strings.TrimSpace(text) == text && utf8.RuneCountInString(text) <= 200
	case "date":
		_, ok := dateOf(text)
		return ok
	case "instant":
		_, err := time.Parse(time.RFC3339, text)
		return err == nil
	case "period":
		_, ok := instantOf(text)
		return ok
	case "uuid":
		return uuid.MatchString(text)
	case "url":
		return len(text) > 8 && strings.EqualFold(text[:8], "https://")
	case "flag":
		return isKind[bool](value)
	case "cost", "value":
		n, isNumber := value.(float64)
		return isNumber && (r.kind == "value" || n >= 0)
	}
	return false
}

// wrong lists the paths of the members of a body that its form refuses.
func wrong(form map[string]rule, body map[string]any, at string) []string {
	var faults []string
	for member, r := range form {
		if _, given := body[member]; r.required && !given {
			faults = append(faults, at+member)
		}
	}
	for member, value := range body {
		r, known := form[member]
		switch list, isList := value.([]any); {
		case known && r.kind == "points" && isList:
			faults = append(faults, wrongPoints(list)...)
		case known && r.kind == "types" && isList:
			faults = append(faults, wrongTypes(list)...)
		case !known || !r.fits(value):
			faults = append(faults, at+member)
		}
	}
	return faults
}

func wrongPoints(list []any) []string {
	if len(list) < 1 || len(list) > 500 {
		return []string{"checkins"}
	}
	var faults []string
	for i, value := range list {
		at := fmt.Sprintf("checkins[%d]", i)
		p, isPoint := value.(map[string]any)
		_, byID := p["key_result_id"]
		_, byCode := p["key_result_code"]
		if !isPoint || !byID && !byCode {
			faults = append(faults, at)
		}
		if !isPoint {
			continue
		}
		faults = append(faults, wrong(point, p, at+".")...)
	}
	return faults
}

func wrongTypes(list []any) []string {
	var faults []string
	for i, value := range list {
		if !words(eventTypes).holds(value) {
			faults = append(faults, fmt.Sprintf("event_types[%d]", i))
		} else if slices.Contains(list[:i], value) {
			faults = append(faults, fmt.Sprintf("event_types[%d]", i))
		}
	}
	return faults
}
