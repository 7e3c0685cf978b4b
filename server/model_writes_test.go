package server_test

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// modelWrite is a valid write of a caller with access.
type modelWrite struct {
	*model
	*dataset
	key  *modelKey
	id   string // of the record in the path
	body modelRecord
	at   string // the time of the write
}

var writesOf = map[string]func(modelWrite) *expectation{
	"POST /risks": modelWrite.createRisk, "PATCH /risks/{id}": modelWrite.updateRisk,
	"POST /incidents": modelWrite.createIncident, "PATCH /incidents/{id}": modelWrite.updateIncident,
	"POST /vendor/inventory": modelWrite.createVendor, "PATCH /vendor/inventory/{id}": modelWrite.updateVendor,
	"POST /kpis/checkins":          modelWrite.checkin,
	"POST /webhooks/subscriptions": modelWrite.subscribe, "PATCH /webhooks/subscriptions/{id}": modelWrite.resubscribe,
	"DELETE /webhooks/subscriptions/{id}": modelWrite.unsubscribe, "POST /webhooks/subscriptions/{id}/test": modelWrite.ping,
}

// write returns the response to a valid write of a caller with access.
func (m *model) write(d *dataset, k *modelKey, operation, id string, body map[string]any) *expectation {
	write := modelWrite{m, d, k, id, maps.Clone(body), m.stamp()}
	for member, value := range write.body { // in the stored form
		if text, isText := value.(string); isText && member == "notification_deadline" {
			at, _ := time.Parse(time.RFC3339, text)
			write.body[member] = stamp(at)
		}
	}
	if d.frozen {
		write.at = sandboxNow
	}
	return writesOf[operation](write)
}

// audited adds the actor, the time and the request to an event, and appends it to the
// log.
func (w modelWrite) audited(event modelRecord, request string) {
	event["time"], event["actor"], event["request"] = w.at, "key:"+w.key.id, request
	w.audit(event)
}

// created returns the response of a POST that creates a record.
func (w modelWrite) created(object string, r modelRecord, done func()) *expectation {
	r["created_at"], r["updated_at"] = w.at, w.at
	e := &expectation{status: 201, object: object}
	e.learn = func(data any, _ string) (any, error) {
		got, _ := data.(map[string]any)
		id, _ := got["id"].(string)
		if err := w.checkNewID(id); err != nil {
			return nil, err
		}
		r["id"] = id
		return r.show(object), nil
	}
	e.commit = func(request string) {
		w.add(object, r)
		done()
		w.audited(wrote(object, r["id"]), request)
	}
	return e
}

// checkNewID checks an id that the service generated: a UUIDv7 that was not used
// before, or an id of the sandbox's range.
func (w modelWrite) checkNewID(id string) error {
	if w.frozen {
		if !strings.HasPrefix(id, "00000000-0000-0000-0000-") || !uuid.MatchString(id) {
			return fmt.Errorf("the id %q is not of the sandbox's range", id)
		}
		return nil
	}
	if !uuid.MatchString(id) || id[14] != '7' || w.seen[id] {
		return fmt.Errorf("the id %q is not a new UUIDv7", id)
	}
	w.seen[id] = true
	return nil
}

// digested returns a value as the audit log stores it. A text longer than 2 KB is
// stored as its length and SHA-256.
func digested(value any) any {
	text, isText := value.(string)
	if !isText || len(text) <= 2048 {
		return value
	}
	return map[string]any{"length": len(text), "sha256": fmt.Sprintf("%x", sha256.Sum256([]byte(text)))}
}

// updated returns the response of a PATCH. next is the record after the change.
func (w modelWrite) updated(object string, now, next modelRecord, changes modelRecord, done func()) *expectation {
	e := &expectation{status: 200, object: object}
	given, changed := modelRecord{}, map[string]any{}
	for member, value := range next {
		if plainJSON(value) != plainJSON(now[member]) {
			given[member], changed[member] = value, map[string]any{"from": digested(now[member]), "to": digested(value)}
		}
	}
	shown := maps.Clone(next)
	if len(given) > 0 {
		shown["updated_at"] = w.at
	}
	maps.Copy(changed, changes)
	e.data = shown.show(object)
	e.commit = func(request string) {
		if !w.frozen {
			now.change(given, w.at)
		}
		if len(changed) > 0 {
			event := wrote(object, w.id)
			event["changes"] = changed
			w.audited(event, request)
		}
		done()
	}
	return e
}

// absent returns the members that a new record has although the body does not contain
// them.
func absent(body modelRecord, members string, defaults modelRecord) modelRecord {
	r := modelRecord{}
	for _, member := range strings.Fields(members) {
		r[member] = nil
	}
	maps.Copy(r, defaults)
	maps.Copy(r, body)
	return r
}

var ranks = map[string]int{"LOW": 1, "MEDIUM": 2, "HIGH": 3, "CRITICAL": 4, "RARE": 1, "UNLIKELY": 2, "POSSIBLE": 3, "LIKELY": 4, "ALMOST_CERTAIN": 5}

func (w modelWrite) createRisk() *expectation {
	r := absent(w.body, "title likelihood mitigation_action residual_gap_reason residual_severity", modelRecord{
		"dimension": "OTHER", "status": "Open", "source": "user_added", "risk_id": fmt.Sprintf("RISK-%04d", w.riskNumber+1),
	})
	r["untreated_baseline"] = "LOW"
	product := ranks[r.text("severity")] * ranks[r.text("likelihood")]
	for _, band := range []struct {
		from int
		name string
	}{{4, "MEDIUM"}, {8, "HIGH"}, {15, "CRITICAL"}} {
		if product >= band.from {
			r["untreated_baseline"] = band.name
		}
	}
	return w.created("risk", r, func() {
		if !w.frozen {
			w.riskNumber++
		}
		w.enqueue("risk.created")
	})
}

// change returns the record before and after the change, or nil if it does not exist.
func (w modelWrite) change(resource string) (now, next modelRecord) {
	now = w.find(resource, w.id)
	if now == nil {
		return nil, nil
	}
	next = maps.Clone(now)
	maps.Copy(next, w.body)
	return now, next
}

func (w modelWrite) updateRisk() *expectation {
	now, next := w.change("risk")
	if now == nil {
		return refuse(404, "not_found", "")
	}
	delete(next, "severity_change_reason")
	reason := w.body.text("severity_change_reason")
	if reason == "" && isLower(now, next) {
		return refuse(400, "invalid_parameter", "severity_change_reason")
	}
	more := modelRecord{}
	if reason != "" {
		more["severity_change_reason"] = map[string]any{"from": nil, "to": digested(reason)}
	}
	rated := now["severity"] != next["severity"] || now["residual_severity"] != next["residual_severity"]
	return w.updated("risk", now, next, more, func() {
		if reason != "" && !w.frozen {
			w.evidence = append(w.evidence, w.id+" "+reason)
		}
		if rated {
			w.enqueue("risk.severity_changed")
		}
	})
}

// isLower reports whether a change lowers the rating of a risk, or settles a CRITICAL
// risk (specification, States, rule 2).
func isLower(now, next modelRecord) bool {
	for _, member := range []string{"severity", "residual_severity", "likelihood"} {
		if ranks[now.text(member)] > ranks[next.text(member)] {
			return true
		}
	}
	settled := now["status"] != next["status"] && slices.Contains([]any{"Mitigated", "Accepted", "Closed"}, next["status"])
	return settled && (now["severity"] == "CRITICAL" || next["severity"] == "CRITICAL")
}

func (w modelWrite) createIncident() *expectation {
	r := absent(w.body, "description affected_systems jurisdictions owner notification_deadline notified_at", modelRecord{
		"incident_type": "other", "severity": "medium", "status": "open", "notification_required": false,
	})
	r.clock(w.at)
	return w.created("incident", r, func() {
		if !w.frozen {
			w.timeline = append(w.timeline, r.text("id")+" "+r.text("status"))
		}
	})
}

// clock sets the deadline of an incident that requires a notification and has no
// deadline: 72 hours after its declaration.
func (r modelRecord) clock(declared string) {
	if r["notification_required"] == true && r["notification_deadline"] == nil {
		at, _ := time.Parse(time.RFC3339, declared)
		r["notification_deadline"] = stamp(at.Add(72 * time.Hour))
	}
}

func (w modelWrite) updateIncident() *expectation {
	now, next := w.change("incident")
	if now == nil {
		return refuse(404, "not_found", "")
	}
	next.clock(now.text("created_at"))
	moved := now["status"] != next["status"] && !w.frozen
	return w.updated("incident", now, next, nil, func() {
		if moved {
			w.timeline = append(w.timeline, w.id+" "+next.text("status"))
		}
	})
}

func (w modelWrite) createVendor() *expectation {
	if w.where("vendor", "vendor_key", w.body["vendor_key"]) != nil {
		return refuse(409, "resource_conflict", "vendor_key")
	}
	return w.created("vendor", absent(w.body, "ai_role initial_recommendation contract_start contract_end annual_cost_usd renewal_owner_role notes", modelRecord{
		"status": "active",
	}), func() {})
}

func (w modelWrite) updateVendor() *expectation {
	now, next := w.change("vendor")
	if now == nil {
		return refuse(404, "not_found", "")
	}
	return w.updated("vendor", now, next, nil, func() {})
}
