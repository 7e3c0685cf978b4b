package server_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

var subscriptionMembers = modelRecord{"event_types": []any{}, "active": true, "created_via": "api"}

func (w modelWrite) subscribe() *expectation {
	if w.urls[w.body.text("url")] == "" {
		return refuse(400, "invalid_parameter", "url")
	}
	r := absent(w.body, "description", subscriptionMembers)
	e := w.created("webhook_subscription", r, func() {})
	e.learn = withSecretShown(e.learn)
	return e
}

// withSecretShown adds the secret to the response that creates a subscription. No other
// response has it.
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

func (w modelWrite) resubscribe() *expectation {
	now := w.find("webhook_subscription", w.id)
	if now == nil {
		return refuse(404, "not_found", "")
	}
	if url, given := w.body["url"]; given && w.urls[url.(string)] == "" {
		return refuse(400, "invalid_parameter", "url")
	}
	next := maps.Clone(now)
	maps.Copy(next, w.body)
	return w.updated("webhook_subscription", now, next, nil, func() {})
}

func (w modelWrite) unsubscribe() *expectation {
	if w.find("webhook_subscription", w.id) == nil {
		return refuse(404, "not_found", "")
	}
	e := &expectation{status: 200, object: "webhook_subscription_deleted"}
	e.data = map[string]any{"object": "webhook_subscription_deleted", "id": w.id, "deleted": true}
	e.commit = func(request string) {
		if !w.frozen {
			w.records["webhook_subscription"] = slices.DeleteFunc(w.records["webhook_subscription"], func(r modelRecord) bool { return r["id"] == w.id })
			w.deliveries = slices.DeleteFunc(w.deliveries, func(line string) bool { return strings.HasPrefix(line, w.id) })
		}
		w.audited(wrote("webhook_subscription", w.id), request)
	}
	return e
}

// ping returns the response of the test operation, which also tests a paused
// subscription.
func (w modelWrite) ping() *expectation {
	to := w.find("webhook_subscription", w.id)
	if to == nil {
		return refuse(404, "not_found", "")
	}
	outcome, status := w.urls[to.text("url")], any(200.0)
	switch {
	case w.frozen:
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
		if err := w.checkNewID(id); err != nil {
			return nil, err
		}
		if !strings.HasPrefix(event, "evt_") || !w.frozen && w.seen[event] {
			return nil, fmt.Errorf("the event's id %q is not a new one", event)
		}
		w.seen[event] = true
		return map[string]any{
			"object": "webhook_test_delivery", "id": id, "event_id": event, "event_type": "ping", "outcome": outcome,
			"delivered": outcome == "delivered", "response_status_code": status,
		}, nil
	}
	e.commit = func(request string) { w.audited(wrote("webhook_test_delivery", w.id), request) }
	return e
}

// checkin stores all data points of a batch or none.
func (w modelWrite) checkin() *expectation {
	points, _ := w.body["checkins"].([]any)
	var kpis []modelRecord
	for i, value := range points {
		p := modelRecord(value.(map[string]any))
		member, kpi := "key_result_id", w.find("kpi", strings.ToLower(p.text("key_result_id")))
		if p["key_result_id"] == nil {
			member, kpi = "key_result_code", w.where("kpi", "code", p["key_result_code"])
		}
		if kpi == nil {
			return refuse(404, "not_found", fmt.Sprintf("checkins[%d].%s", i, member))
		}
		if code, given := p["key_result_code"]; given && code != kpi["code"] {
			return refuse(400, "invalid_parameter", fmt.Sprintf("checkins[%d].key_result_code", i))
		}
		kpis = append(kpis, kpi)
	}
	entries := make([]modelRecord, len(points))
	known := slices.Clone(w.checkins)
	for i, value := range points {
		entries[i] = w.entry(modelRecord(value.(map[string]any)), kpis[i], known)
		known = append(known, entries[i])
	}
	e := &expectation{status: 201, object: "kpi_checkin_batch"}
	e.learn = func(data any, _ string) (any, error) { return w.learnEntries(entries, data) }
	e.commit = func(request string) {
		moved := false
		for i, entry := range entries {
			if w.superseded(entries[i+1:], entry) || w.stored(entry) {
				continue
			}
			moved = true
			if !w.frozen {
				w.putPeriod(kpis[i], maps.Clone(entry))
				kpis[i]["updated_at"] = max(kpis[i].text("updated_at"), w.at)
			}
		}
		if moved {
			w.audited(wrote("kpi_checkin_batch", nil), request)
		}
	}
	return e
}

// superseded reports whether a later point of the batch has the same period.
func (w modelWrite) superseded(later []modelRecord, entry modelRecord) bool {
	return slices.ContainsFunc(later, func(other modelRecord) bool {
		return other["key_result_code"] == entry["key_result_code"] && other["period_start"] == entry["period_start"]
	})
}

// stored reports whether a data point equals what is stored.
func (w modelWrite) stored(entry modelRecord) bool {
	return slices.ContainsFunc(w.checkins, func(known modelRecord) bool {
		for _, member := range []string{"key_result_code", "period_start", "value", "source", "evidence_ref", "note"} {
			if known[member] != entry[member] {
				return false
			}
		}
		return true
	})
}

// entry returns a data point as it is stored. If its period has a point already, it has
// the id of that point.
func (w modelWrite) entry(p, kpi modelRecord, known []modelRecord) modelRecord {
	r := absent(p, "evidence_ref note", modelRecord{"source": "api", "created_at": w.at, "updated_at": w.at})
	r["key_result_id"], r["key_result_code"] = kpi["id"], kpi["code"]
	if start, given := p["period_start"].(string); given {
		at, _ := instantOf(start)
		r["period_start"] = at[:len(time.DateOnly)]
	} else {
		at, _ := time.Parse(time.RFC3339, w.at)
		r["period_start"] = periodOf(kpi.text("measurement_frequency"), at).Format(time.DateOnly)
	}
	for _, before := range known {
		if before["key_result_code"] == r["key_result_code"] && before["period_start"] == r["period_start"] {
			r["created_at"], r["same"] = before["created_at"], before
			if first, again := before["same"].(modelRecord); again {
				r["same"] = first
			}
		}
	}
	return r
}

// periodOf returns the first day of the period that contains an instant. Weeks begin on
// Monday.
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

// learnEntries stores the ids of the points whose period is new in the model.
func (w modelWrite) learnEntries(entries []modelRecord, data any) (any, error) {
	got, _ := data.(map[string]any)
	list, _ := got["checkins"].([]any)
	shown := []any{}
	for i, entry := range entries {
		if first, known := entry["same"].(modelRecord); known {
			entry["id"] = first["id"]
		} else if i < len(list) {
			id, _ := list[i].(map[string]any)["id"].(string)
			if err := w.checkNewID(id); err != nil {
				return nil, err
			}
			entry["id"] = id
		}
		delete(entry, "same")
		shown = append(shown, entry.show("kpi_checkin"))
	}
	return map[string]any{"object": "kpi_checkin_batch", "accepted": float64(len(entries)), "checkins": shown}, nil
}
