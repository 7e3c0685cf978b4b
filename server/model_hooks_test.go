package server_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

var subscriptionMembers = thing{"event_types": []any{}, "active": true, "created_via": "api"}

func (d deedOf) subscribe() *expectation {
	if d.urls[d.body.text("url")] == "" {
		return refuse(400, "invalid_parameter", "url")
	}
	r := absent(d.body, "description", subscriptionMembers)
	e := d.created("webhook_subscription", r, func() {})
	e.learn = withSecretShown(e.learn)
	return e
}

// withSecretShown: the answer that creates a subscription, and no other, shows
// its secret.
func withSecretShown(learn func(any, string) (any, error)) func(any, string) (any, error) {
	return func(data any, next string) (any, error) {
		want, err := learn(data, next)
		if err != nil {
			return nil, err
		}
		got := data.(map[string]any)
		secret, _ := got["secret"].(string)
		if !strings.HasPrefix(secret, "whsec_") || len(secret) != len("whsec_")+44 {
			return nil, fmt.Errorf("the secret %q is none", secret)
		}
		shown := want.(map[string]any)
		shown["secret"] = secret
		return shown, nil
	}
}

func (d deedOf) resubscribe() *expectation {
	now := d.find("webhook_subscription", d.id)
	if now == nil {
		return refuse(404, "not_found", "")
	}
	if url, given := d.body["url"]; given && d.urls[url.(string)] == "" {
		return refuse(400, "invalid_parameter", "url")
	}
	next := maps.Clone(now)
	maps.Copy(next, d.body)
	return d.updated("webhook_subscription", now, next, nil, func() {})
}

func (d deedOf) unsubscribe() *expectation {
	if d.find("webhook_subscription", d.id) == nil {
		return refuse(404, "not_found", "")
	}
	e := &expectation{status: 200, object: "webhook_subscription_deleted"}
	e.data = map[string]any{"object": "webhook_subscription_deleted", "id": d.id, "deleted": true}
	e.commit = func(request string) {
		if !d.frozen {
			d.things["webhook_subscription"] = slices.DeleteFunc(d.things["webhook_subscription"], func(r thing) bool { return r["id"] == d.id })
			d.deliveries = slices.DeleteFunc(d.deliveries, func(line string) bool { return strings.HasPrefix(line, d.id) })
		}
		d.audited(wrote("webhook_subscription", d.id), request)
	}
	return e
}

// ping is the test operation: a paused subscription is tested too.
func (d deedOf) ping() *expectation {
	to := d.find("webhook_subscription", d.id)
	if to == nil {
		return refuse(404, "not_found", "")
	}
	outcome, status := d.urls[to.text("url")], any(200.0)
	switch {
	case d.frozen:
		outcome = "delivered"
	case outcome == "rejected":
		status = 500.0
	case outcome == "unreachable":
		status = nil
	}
	e := &expectation{status: 200, object: "webhook_test_delivery"}
	e.learn = func(data any, _ string) (any, error) {
		got, _ := data.(map[string]any)
		id, _ := got["id"].(string)
		event, _ := got["event_id"].(string)
		if err := d.fresh(id); err != nil {
			return nil, err
		}
		if !strings.HasPrefix(event, "evt_") || !d.frozen && d.seen[event] {
			return nil, fmt.Errorf("the event's id %q is not a new one", event)
		}
		d.seen[event] = true
		return map[string]any{
			"object": "webhook_test_delivery", "id": id, "event_id": event, "event_type": "ping", "outcome": outcome,
			"delivered": outcome == "delivered", "response_status_code": status,
		}, nil
	}
	e.commit = func(request string) { d.audited(wrote("webhook_test_delivery", d.id), request) }
	return e
}

// checkin records a batch of data points, all or none.
func (d deedOf) checkin() *expectation {
	points, _ := d.body["checkins"].([]any)
	var kpis []thing
	for i, value := range points {
		p := thing(value.(map[string]any))
		member, kpi := "key_result_id", d.find("kpi", strings.ToLower(p.text("key_result_id")))
		if p["key_result_id"] == nil {
			member, kpi = "key_result_code", d.where("kpi", "code", p["key_result_code"])
		}
		if kpi == nil {
			return refuse(404, "not_found", fmt.Sprintf("checkins[%d].%s", i, member))
		}
		if code, given := p["key_result_code"]; given && code != kpi["code"] {
			return refuse(400, "invalid_parameter", fmt.Sprintf("checkins[%d].key_result_code", i))
		}
		kpis = append(kpis, kpi)
	}
	entries := make([]thing, len(points))
	known := slices.Clone(d.checkins)
	for i, value := range points {
		entries[i] = d.entry(thing(value.(map[string]any)), kpis[i], known)
		known = append(known, entries[i])
	}
	e := &expectation{status: 201, object: "kpi_checkin_batch"}
	e.learn = func(data any, _ string) (any, error) { return d.learnEntries(entries, data) }
	e.commit = func(request string) {
		moved := false
		for i, entry := range entries {
			if d.superseded(entries[i+1:], entry) || d.stored(entry) {
				continue
			}
			moved = true
			if !d.frozen {
				d.putPeriod(kpis[i], maps.Clone(entry))
				kpis[i]["updated_at"] = max(kpis[i].text("updated_at"), d.at)
			}
		}
		if moved {
			d.audited(wrote("kpi_checkin_batch", nil), request)
		}
	}
	return e
}

// superseded tells whether a later point of a batch is of the same period.
func (d deedOf) superseded(later []thing, entry thing) bool {
	return slices.ContainsFunc(later, func(other thing) bool {
		return other["key_result_code"] == entry["key_result_code"] && other["period_start"] == entry["period_start"]
	})
}

// stored tells whether a data point repeats what is stored.
func (d deedOf) stored(entry thing) bool {
	return slices.ContainsFunc(d.checkins, func(known thing) bool {
		for _, member := range []string{"key_result_code", "period_start", "value", "source", "evidence_ref", "note"} {
			if known[member] != entry[member] {
				return false
			}
		}
		return true
	})
}

// entry is a data point as it is recorded: under the id that its period has
// already, if it was recorded before.
func (d deedOf) entry(p, kpi thing, known []thing) thing {
	r := absent(p, "evidence_ref note", thing{"source": "api", "created_at": d.at, "updated_at": d.at})
	r["key_result_id"], r["key_result_code"] = kpi["id"], kpi["code"]
	if start, given := p["period_start"].(string); given {
		at, _ := instantOf(start)
		r["period_start"] = at[:len(time.DateOnly)]
	} else {
		at, _ := time.Parse(time.RFC3339, d.at)
		r["period_start"] = periodOf(kpi.text("measurement_frequency"), at).Format(time.DateOnly)
	}
	for _, before := range known {
		if before["key_result_code"] == r["key_result_code"] && before["period_start"] == r["period_start"] {
			r["created_at"], r["same"] = before["created_at"], before
			if first, again := before["same"].(thing); again {
				r["same"] = first
			}
		}
	}
	return r
}

// periodOf is the first day of the period in which an instant lies; weeks begin
// on Monday.
func periodOf(frequency string, at time.Time) time.Time {
	year, month, _ := at.Date()
	switch frequency {
	case "weekly":
		return at.AddDate(0, 0, -(int(at.Weekday())+6)%7)
	case "quarterly":
		month = (month-1)/3*3 + 1
	case "annual":
		month = 1
	}
	return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
}

// learnEntries takes the ids of the points whose period is new.
func (d deedOf) learnEntries(entries []thing, data any) (any, error) {
	got, _ := data.(map[string]any)
	list, _ := got["checkins"].([]any)
	shown := []any{}
	for i, entry := range entries {
		if first, known := entry["same"].(thing); known {
			entry["id"] = first["id"]
		} else if i < len(list) {
			id, _ := list[i].(map[string]any)["id"].(string)
			if err := d.fresh(id); err != nil {
				return nil, err
			}
			entry["id"] = id
		}
		delete(entry, "same")
		shown = append(shown, entry.show("kpi_checkin"))
	}
	return map[string]any{"object": "kpi_checkin_batch", "accepted": float64(len(entries)), "checkins": shown}, nil
}
