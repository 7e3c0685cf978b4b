package server_test

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// deedOf is a write whose caller may do it and whose body is in order.
type deedOf struct {
	*world
	*dataset
	key  *holder
	id   string // of the record in the path
	body thing
	at   string // when it is done
}

var writesOf = map[string]func(deedOf) *expectation{
	"POST /risks": deedOf.createRisk, "PATCH /risks/{id}": deedOf.updateRisk,
	"POST /incidents": deedOf.createIncident, "PATCH /incidents/{id}": deedOf.updateIncident,
	"POST /vendor/inventory": deedOf.createVendor, "PATCH /vendor/inventory/{id}": deedOf.updateVendor,
	"POST /kpis/checkins":          deedOf.checkin,
	"POST /webhooks/subscriptions": deedOf.subscribe, "PATCH /webhooks/subscriptions/{id}": deedOf.resubscribe,
	"DELETE /webhooks/subscriptions/{id}": deedOf.unsubscribe, "POST /webhooks/subscriptions/{id}/test": deedOf.ping,
}

// write is the answer to a write whose caller may do it and whose body is in
// order.
func (w *world) write(d *dataset, k *holder, operation, id string, body map[string]any) *expectation {
	deed := deedOf{w, d, k, id, maps.Clone(body), w.stamp()}
	for member, value := range deed.body { // as they are kept
		if text, isText := value.(string); isText && member == "notification_deadline" {
			at, _ := time.Parse(time.RFC3339, text)
			deed.body[member] = stamp(at)
		}
	}
	if d.frozen {
		deed.at = sandboxNow
	}
	return writesOf[operation](deed)
}

// audited adds who, when and with which request to an event, and logs it.
func (d deedOf) audited(event thing, request string) {
	event["time"], event["actor"], event["request"] = d.at, "key:"+d.key.id, request
	d.note(event)
}

// created is the answer of a POST that makes a record.
func (d deedOf) created(object string, r thing, done func()) *expectation {
	r["created_at"], r["updated_at"] = d.at, d.at
	e := &expectation{status: 201, object: object}
	e.learn = func(data any, _ string) (any, error) {
		got, _ := data.(map[string]any)
		id, _ := got["id"].(string)
		if err := d.fresh(id); err != nil {
			return nil, err
		}
		r["id"] = id
		return r.show(object), nil
	}
	e.commit = func(request string) {
		d.add(object, r)
		done()
		d.audited(wrote(object, r["id"]), request)
	}
	return e
}

// fresh checks an id that the service has made: a UUIDv7 that never was, or
// one of the sandbox's range.
func (d deedOf) fresh(id string) error {
	if d.frozen {
		if !strings.HasPrefix(id, "00000000-0000-0000-0000-") || !uuid.MatchString(id) {
			return fmt.Errorf("the id %q is not of the sandbox's range", id)
		}
		return nil
	}
	if !uuid.MatchString(id) || id[14] != '7' || d.seen[id] {
		return fmt.Errorf("the id %q is not a new UUIDv7", id)
	}
	d.seen[id] = true
	return nil
}

// digested is a value as the audit log stores it: of a text longer than 2 KB its
// length and SHA-256.
func digested(value any) any {
	text, isText := value.(string)
	if !isText || len(text) <= 2048 {
		return value
	}
	return map[string]any{"length": len(text), "sha256": fmt.Sprintf("%x", sha256.Sum256([]byte(text)))}
}

// updated is the answer of a PATCH: next is the record as it will be.
func (d deedOf) updated(object string, now, next thing, changes thing, done func()) *expectation {
	e := &expectation{status: 200, object: object}
	given, changed := thing{}, map[string]any{}
	for member, value := range next {
		if plainJSON(value) != plainJSON(now[member]) {
			given[member], changed[member] = value, map[string]any{"from": digested(now[member]), "to": digested(value)}
		}
	}
	shown := maps.Clone(next)
	if len(given) > 0 {
		shown["updated_at"] = d.at
	}
	maps.Copy(changed, changes)
	e.data = shown.show(object)
	e.commit = func(request string) {
		if !d.frozen {
			now.change(given, d.at)
		}
		if len(changed) > 0 {
			event := wrote(object, d.id)
			event["changes"] = changed
			d.audited(event, request)
		}
		done()
	}
	return e
}

// absent are the members that a new record has though the body gives none.
func absent(body thing, members string, defaults thing) thing {
	r := thing{}
	for _, member := range strings.Fields(members) {
		r[member] = nil
	}
	maps.Copy(r, defaults)
	maps.Copy(r, body)
	return r
}

var ranks = map[string]int{"LOW": 1, "MEDIUM": 2, "HIGH": 3, "CRITICAL": 4, "RARE": 1, "UNLIKELY": 2, "POSSIBLE": 3, "LIKELY": 4, "ALMOST_CERTAIN": 5}

func (d deedOf) createRisk() *expectation {
	r := absent(d.body, "title likelihood mitigation_action residual_gap_reason residual_severity", thing{
		"dimension": "OTHER", "status": "Open", "source": "user_added", "risk_id": fmt.Sprintf("RISK-%04d", d.riskNumber+1),
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
	return d.created("risk", r, func() {
		if !d.frozen {
			d.riskNumber++
		}
		d.raise("risk.created")
	})
}

func (d deedOf) updateRisk() *expectation {
	now := d.find("risk", d.id)
	if now == nil {
		return refuse(404, "not_found", "")
	}
	next := maps.Clone(now)
	maps.Copy(next, d.body)
	delete(next, "severity_change_reason")
	reason := d.body.text("severity_change_reason")
	if reason == "" && graver(now, next) {
		return refuse(400, "invalid_parameter", "severity_change_reason")
	}
	more := thing{}
	if reason != "" {
		more["severity_change_reason"] = map[string]any{"from": nil, "to": digested(reason)}
	}
	rated := now["severity"] != next["severity"] || now["residual_severity"] != next["residual_severity"]
	return d.updated("risk", now, next, more, func() {
		if reason != "" && !d.frozen {
			d.evidence = append(d.evidence, d.id+" "+reason)
		}
		if rated {
			d.raise("risk.severity_changed")
		}
	})
}

// graver tells whether a risk was graver before a change, or is a CRITICAL one
// that the change settles (specification, States, rule 2).
func graver(now, next thing) bool {
	for _, member := range []string{"severity", "residual_severity", "likelihood"} {
		if ranks[now.text(member)] > ranks[next.text(member)] {
			return true
		}
	}
	settled := now["status"] != next["status"] && slices.Contains([]any{"Mitigated", "Accepted", "Closed"}, next["status"])
	return settled && (now["severity"] == "CRITICAL" || next["severity"] == "CRITICAL")
}

func (d deedOf) createIncident() *expectation {
	r := absent(d.body, "description affected_systems jurisdictions owner notification_deadline notified_at", thing{
		"incident_type": "other", "severity": "medium", "status": "open", "notification_required": false,
	})
	if strings.Contains(strings.TrimSpace(r.text("title")), "\n") {
		return refuse(400, "invalid_parameter", "title")
	}
	r.clock(d.at)
	return d.created("incident", r, func() {
		if !d.frozen {
			d.timeline = append(d.timeline, r.text("id")+" "+r.text("status"))
		}
	})
}

// clock sets the deadline of an incident that needs a notification and has
// none, 72 hours after its declaration.
func (r thing) clock(declared string) {
	if r["notification_required"] == true && r["notification_deadline"] == nil {
		at, _ := time.Parse(time.RFC3339, declared)
		r["notification_deadline"] = stamp(at.Add(72 * time.Hour))
	}
}

func (d deedOf) updateIncident() *expectation {
	if strings.Contains(strings.TrimSpace(d.body.text("title")), "\n") {
		return refuse(400, "invalid_parameter", "title")
	}
	now := d.find("incident", d.id)
	if now == nil {
		return refuse(404, "not_found", "")
	}
	next := maps.Clone(now)
	maps.Copy(next, d.body)
	next.clock(now.text("created_at"))
	moved := now["status"] != next["status"] && !d.frozen
	return d.updated("incident", now, next, nil, func() {
		if moved {
			d.timeline = append(d.timeline, d.id+" "+next.text("status"))
		}
	})
}

func (d deedOf) createVendor() *expectation {
	if d.where("vendor", "vendor_key", d.body["vendor_key"]) != nil {
		return refuse(409, "resource_conflict", "vendor_key")
	}
	return d.created("vendor", absent(d.body, "ai_role initial_recommendation contract_start contract_end annual_cost_usd renewal_owner_role notes", thing{
		"status": "active",
	}), func() {})
}

func (d deedOf) updateVendor() *expectation {
	now := d.find("vendor", d.id)
	if now == nil {
		return refuse(404, "not_found", "")
	}
	next := maps.Clone(now)
	maps.Copy(next, d.body)
	return d.updated("vendor", now, next, nil, func() {})
}
