package server_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// run is a service and its model. Both execute the same steps.
type run struct {
	*service
	t         *testing.T
	model     *model
	file      *sql.DB // the data file of the service
	keyPrefix string  // makes the Idempotency-Keys of the run unique
	records   map[string][]made
	answers   map[int]int // by status
	imported  int
}

// made is a record that the service has returned, of any dataset.
type made struct{ id, set string }

// do runs one step on the service and on the model. The error describes a difference.
func (r *run) do(s step) error {
	switch verb, rest, _ := strings.Cut(s.Do, " "); verb {
	case "clock":
		r.clock.Advance(time.Duration(s.N) * time.Millisecond)
		r.model.now = r.clock.Now()
		return nil
	case "import":
		return r.put(s)
	case "entitlements":
		return r.setTerms(s)
	case "revoke":
		return r.revoke(r.model.keys[s.Who])
	case "restart":
		r.restart(r.t)
		for _, k := range r.model.keys {
			k.level, k.at = int64(k.perMinute)*int64(time.Minute), r.model.now
		}
		return nil
	case "check":
		return r.check(s)
	case "tool":
		return r.tool(s, rest)
	case "message":
		return r.message(s)
	}
	if err := r.ask(s); err != nil {
		return err
	}
	return r.after(s)
}

// shownIn has the list that shows the changes of a write, by the first part of its path.
var shownIn = map[string]string{
	"risks": "/risks", "incidents": "/incidents", "vendor": "/vendor/inventory", "kpis": "/kpis", "webhooks": "/webhooks/subscriptions",
}

// after compares the list that a write can change, as its organisation sees it. It does
// so for successful and refused writes.
func (r *run) after(s step) error {
	method, path, _ := strings.Cut(s.Do, " ")
	list := shownIn[strings.Split(path, "/")[1]]
	if method == http.MethodGet || list == "" {
		return nil
	}
	who := ofDefault
	if s.Who >= 0 {
		switch k := r.model.keys[s.Who]; {
		case k.test:
			who = ofSandbox
		case k.org == r.model.keys[ofAcme].org:
			who = ofAcme
		}
	}
	if err := r.walk(step{Do: "GET " + list, Who: who, Query: map[string]string{"limit": "100"}}, list); err != nil {
		return fmt.Errorf("%s of key %d afterwards: %w", list, who, err)
	}
	return nil
}

// request resolves a step to its record, its cursor and its URL.
func (r *run) request(s step) modelRequest {
	q := modelRequest{operation: s.Do, flaw: s.Flaw, query: url.Values{}, body: s.Raw}
	if s.Once != "" {
		q.once = r.keyPrefix + s.Once
	}
	if s.Who >= 0 {
		q.key = r.model.keys[s.Who]
	}
	if s.Who == mistyped {
		q.key, q.mistyped = r.model.keys[0], true
	}
	for name, value := range s.Query {
		if resolved := r.cursor(q, s, value); resolved != "" || value == "" {
			q.query.Set(name, resolved)
		}
	}
	if strings.Contains(s.Do, "{id}") {
		q.id = r.record(resourceOfPath(s.Do), q.key, s.Pick)
	}
	if s.Body != nil {
		q.body = r.body(s, q.key)
	}
	if s.Pad > 0 && len(q.body) < s.Pad {
		q.body += strings.Repeat(" ", s.Pad-len(q.body))
	}
	return q
}

func resourceOfPath(operation string) string {
	return map[string]string{"risks": "risk", "incidents": "incident", "vendor": "vendor", "webhooks": "webhook_subscription"}[strings.Split(operation, "/")[1]]
}

// cursor resolves a cursor of a step: "@n" is the n-th last cursor of this list and
// dataset, "^n" one of this list and another dataset, "!n" one of any list.
func (r *run) cursor(q modelRequest, s step, value string) string {
	if !strings.HasPrefix(value, "@") && !strings.HasPrefix(value, "^") && !strings.HasPrefix(value, "!") {
		return value
	}
	var n int
	_, _ = fmt.Sscan(value[1:], &n)
	list := q.path()
	if tool, called := strings.CutPrefix(s.Do, "tool "); called {
		list = modelRequest{operation: toolReads[tool]}.path()
	}
	var tokens []string
	for _, m := range r.model.cursors {
		if value[0] == '!' || q.key != nil && m.list == list && (m.set == r.model.set(q.key).name) == (value[0] == '@') {
			tokens = append(tokens, m.token)
		}
	}
	if len(tokens) == 0 {
		return ""
	}
	return tokens[len(tokens)-1-n%len(tokens)]
}

// unknownRecordID is an id that no record has.
const unknownRecordID = "01990000-0000-7000-8000-00000000dead"

// record returns the id of a record: usually of the key's dataset, sometimes of another
// one, of no record, or invalid.
func (r *run) record(object string, k *modelKey, pick int) string {
	list := r.records[object]
	switch {
	case pick < 0 && pick%3 == 0:
		return "nonsense"
	case pick < 0 && pick%3 == -1:
		return unknownRecordID
	case k != nil && pick >= 0:
		own := r.model.set(k).name
		list = slices.DeleteFunc(slices.Clone(list), func(m made) bool { return m.set != own })
	}
	if len(list) == 0 {
		return unknownRecordID
	}
	return list[max(pick, -pick)%len(list)].id
}

// body returns a step's body with the URLs of its receivers and the ids of its key
// results.
func (r *run) body(s step, k *modelKey) string {
	text := plainJSON(s.Body)
	for place, address := range r.model.named() {
		text = strings.ReplaceAll(text, `"`+place+`"`, `"`+address+`"`)
	}
	for n := range 4 {
		text = strings.ReplaceAll(text, fmt.Sprintf(`"@kpi %d"`, n), `"`+r.record("kpi", k, n)+`"`)
	}
	return text
}

// named returns the URLs of the receivers by name, such as "@good".
func (m *model) named() map[string]string {
	names := map[string]string{}
	for address, outcome := range m.urls {
		names["@"+outcome] = address
	}
	return names
}

// ask sends the request of a step and compares the response with that of the model.
func (r *run) ask(s step) error {
	q := r.request(s)
	header := map[string]string{}
	tag := ""
	place := fmt.Sprint(s.Who, q.operation, q.query.Encode())
	if s.Tag && q.key != nil && strings.HasPrefix(q.operation, "GET ") && q.operation != "GET /audit" {
		tag = r.model.tags[place].tag
		header["If-None-Match"] = tag
	}
	a, err := r.send(q, s, header)
	if err != nil {
		return err
	}
	e := r.model.answer(q)
	content := plainJSON([]any{e.data, e.more})
	if e.status == 200 && tag != "" && r.model.tags[place].content == content {
		e = &expectation{status: 304}
	}
	if err := r.compare(q, e, a, s); err != nil {
		return err
	}
	if a.status == 200 && !permissions[q.operation].public {
		r.model.tags[place] = issuedTag{a.header.Get("Etag"), content}
	}
	return nil
}

// compare compares a response with that of the model, and then commits the step in the
// model.
func (r *run) compare(q modelRequest, e *expectation, a answer, s step) error {
	code, param := a.fault()
	if a.status != e.status || code != e.code || param != e.param && e.param != anyParam {
		return fmt.Errorf("%d %s of %q, want %d %s of %q: %.400s", a.status, code, param, e.status, e.code, e.param, a.body)
	}
	if faults := r.headers(q, e, a, s); len(faults) > 0 {
		return fmt.Errorf("%s: %v", strings.Join(faults, "; "), a.header)
	}
	if e.status < 300 && !permissions[q.operation].public {
		if err := r.compareData(q, e, a.body, a.header.Get("X-Next-Cursor")); err != nil {
			return err
		}
	}
	if e.replayed {
		r.answers[replays]++
	}
	if e.commit != nil && !e.replayed {
		e.commit(a.header.Get("X-Request-Id"))
	}
	return nil
}

// replays is the key under which statuses counts the replayed answers.
const replays = 0

// anyParam is an error that may name any parameter.
const anyParam = "*"

func (r *run) headers(q modelRequest, e *expectation, a answer, s step) []string {
	faults := a.headerFaults()
	must := func(ok bool, fault string) {
		if !ok {
			faults = append(faults, fault)
		}
	}
	must((a.header.Get("Idempotency-Replayed") == "true") == e.replayed, fmt.Sprintf("replayed: want %v", e.replayed))
	if q.key == nil || e.status == 401 || permissions[q.operation].public {
		return faults
	}
	must(a.header.Get("X-Ratelimit-Limit") == fmt.Sprint(q.key.perMinute), "another limit")
	must(a.header.Get("X-Ratelimit-Remaining") == fmt.Sprint(q.key.remaining()), fmt.Sprintf("want %d requests remaining", q.key.remaining()))
	must((a.header.Get("Service-Environment") == "test") == q.key.test, "another environment")
	must((a.header.Get("Deprecation") != "") == s.Legacy, "Deprecation belongs to x-api-key")
	return faults
}

// compareData compares the envelope of a successful response with that of the model.
func (r *run) compareData(q modelRequest, e *expectation, body []byte, nextHeader string) error {
	got, err := envelopeOf(e, body, nextHeader)
	if err != nil {
		return err
	}
	next, _ := got["next_cursor"].(string)
	want := map[string]any{"object": e.object, "api_version": "2026-09-12", "data": e.data, "has_more": e.more, "next_cursor": got["next_cursor"]}
	if e.object == "list" && q.operation != "GET /audit" && e.more != (next != "") {
		return fmt.Errorf("more is %v, the cursor %q", e.more, next)
	}
	if e.object != "list" && e.object != "ndjson" && next != "" {
		return errors.New("an object with a cursor")
	}
	if e.learn != nil && !e.replayed {
		if want["data"], err = e.learn(got["data"], next); err != nil {
			return fmt.Errorf("%w: %.400s", err, body)
		}
		e.data = want["data"]
	}
	want = plain[map[string]any](want)
	if q.key.test {
		unmark(want)
		unmark(got)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("(-want +got):\n%.3000s", diff)
	}
	r.remember(q, e)
	return nil
}

// envelopeOf returns the envelope of a response. It builds an envelope for NDJSON.
func envelopeOf(e *expectation, body []byte, nextHeader string) (map[string]any, error) {
	var got map[string]any
	if e.object != "ndjson" {
		err := json.Unmarshal(body, &got)
		return got, err
	}
	rows := []any{}
	for line := range bytes.Lines(body) {
		var event map[string]any
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, err
		}
		rows = append(rows, event)
	}
	got = map[string]any{"object": "ndjson", "api_version": "2026-09-12", "data": rows, "has_more": e.more, "next_cursor": nil}
	if nextHeader != "" {
		got["next_cursor"] = nextHeader
	}
	return got, nil
}

// unmark removes the marker of the sandbox from every text.
func unmark(value any) any {
	switch value := value.(type) {
	case string:
		return strings.TrimPrefix(value, "[SANDBOX] ")
	case []any:
		for i := range value {
			value[i] = unmark(value[i])
		}
	case map[string]any:
		for member := range value {
			value[member] = unmark(value[member])
		}
	}
	return value
}

// remember stores a record that was created, so that later steps can use it.
func (r *run) remember(q modelRequest, e *expectation) {
	if e.status == 201 && !e.replayed && !q.key.test && e.object != "kpi_checkin_batch" {
		id := e.data.(map[string]any)["id"].(string)
		r.records[e.object] = append(r.records[e.object], made{id, r.model.set(q.key).name})
	}
}

// send sends a request.
func (r *run) send(q modelRequest, s step, header map[string]string) (answer, error) {
	target := r.url + q.path()
	if len(q.query) > 0 {
		target += "?" + q.query.Encode()
	}
	request, err := http.NewRequestWithContext(r.t.Context(), q.method(), target, strings.NewReader(q.body))
	if err != nil {
		return answer{}, err
	}
	if q.key != nil {
		credential := q.key.plain
		if q.mistyped {
			credential += "x"
		}
		request.Header.Set("Authorization", "Bearer "+credential)
		if s.Legacy {
			request.Header.Del("Authorization")
			request.Header.Set("X-Api-Key", credential)
		}
	}
	if q.body != "" {
		request.Header.Set("Content-Type", map[bool]string{true: "text/plain", false: "application/json"}[q.flaw == "media"])
	}
	if q.once != "" {
		request.Header.Set("Idempotency-Key", q.once)
	}
	if q.flaw == "version" {
		request.Header.Set("Service-Version", "2025-01-01")
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	a := answer{status: response.StatusCode, header: response.Header}
	a.body, err = io.ReadAll(response.Body)
	r.answers[a.status]++
	return a, err
}

// tool calls an MCP tool with the query of a step.
func (r *run) tool(s step, tool string) error {
	q := r.request(s)
	q.operation = "POST /mcp"
	arguments := q.query
	q.body, q.query = toolCall(tool, argumentsOf(arguments)), nil
	a, err := r.send(q, s, nil)
	if err != nil {
		return err
	}
	q.query = arguments
	refusal, e := r.model.tool(q, tool)
	if refusal != nil {
		return r.compare(q, refusal, a, s)
	}
	structured, err := e.structured(a)
	if err != nil || e.read == nil {
		return err
	}
	q.operation = toolReads[tool]
	return r.compareData(q, e.read, structured, "")
}

// message sends one of the other MCP messages.
func (r *run) message(s step) error {
	m := rpcMessages[int(s.N)%len(rpcMessages)]
	q := r.request(s)
	q.operation, q.body = "POST /mcp", m.body
	a, err := r.send(q, s, nil)
	if err != nil {
		return err
	}
	if refusal := r.model.admit(q); refusal != nil {
		return r.compare(q, refusal, a, s)
	}
	_, err = (&rpcExpectation{status: m.status, code: m.code}).structured(a)
	return err
}
