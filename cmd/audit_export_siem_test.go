package cmd_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestAuditExport_DistinguishesWrites creates, changes and deletes records
// through the API and reads the log as a SIEM does. Each event names the
// client's address, and the three writes are different activities.
func TestAuditExport_DistinguishesWrites(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	s := c.serve("--webhook-allow", "127.0.0.0/8")
	key := c.key("write:risks,manage:webhooks")
	send := func(method, path, body string) string {
		t.Helper()
		request := c.request(method, s.url+"/api/v1"+path, key, strings.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Idempotency-Key", method+path)
		r := c.do(http.DefaultClient, request)
		if r.status/100 != 2 {
			t.Fatalf("%s %s: %d %s", method, path, r.status, r.body)
		}
		return decode[struct{ Data struct{ ID string } }](t, r.body).Data.ID
	}
	risk := send("POST", "/risks", `{"title":"T","description":"A description of enough length.","severity":"HIGH","likelihood":"LIKELY"}`)
	send("PATCH", "/risks/"+risk, `{"title":"Another"}`)
	hook := send("POST", "/webhooks/subscriptions", `{"url":"https://127.0.0.1:1/"}`)
	send("DELETE", "/webhooks/subscriptions/"+hook, ``)
	s.end()

	want := []struct {
		action   string
		activity int
	}{{"api.write.risk", 1}, {"api.write.risk", 3}, {"api.write.webhook_subscription", 1}, {"api.write.webhook_subscription", 4}}
	var events []map[string]any
	for line := range strings.Lines(c.must("audit", "export", "--format", "ocsf")) {
		var event map[string]any
		must(t, json.Unmarshal([]byte(line), &event))
		if strings.HasPrefix(event["metadata"].(map[string]any)["event_code"].(string), "api.write.") {
			events = append(events, event)
		}
	}
	if len(events) != len(want) {
		t.Fatalf("got %d events of writes, want %d", len(events), len(want))
	}
	for i, event := range events {
		if event["metadata"].(map[string]any)["event_code"] != want[i].action || event["activity_id"] != float64(want[i].activity) {
			t.Errorf("event %d: got %v with activity %v, want %v with %d", i, event["api"], event["activity_id"], want[i].action, want[i].activity)
		}
		if ip := event["src_endpoint"].(map[string]any)["ip"]; ip != "127.0.0.1" {
			t.Errorf("event %d: src_endpoint has the address %v, want 127.0.0.1", i, ip)
		}
	}
	if got := strings.Count(c.must("audit", "export", "--format", "cef"), " src=127.0.0.1 "); got != len(want) {
		t.Errorf("%d CEF lines have src, want %d", got, len(want))
	}
}
