package server_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"govsvc/internal/testkit"
	"govsvc/server/openapi"
)

// row is one test: a request and the expected response.
type row struct {
	name   string
	method string            // GET by default
	path   string            // below the base of the API, with its query
	key    string            // sent as a bearer token; "" sends none
	header map[string]string // further headers

	status int      // 200 by default
	code   string   // of the error
	param  string   // the parameter that the error names
	has    []string // texts that the body or a header must contain
	not    []string // texts that neither may contain
}

// answer is a response that was checked against the document.
type answer struct {
	status int
	header http.Header
	body   []byte // decompressed
	sent   []byte // the bytes on the wire
}

// transport leaves compression to the tests.
var transport = &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 8}

// requestIDs are the request ids of all tests. None may be used twice.
var requestIDs sync.Map

// get reads a path with a key and requires a 200.
func (s *service) get(t testing.TB, path, key string) answer {
	t.Helper()
	return s.ask(t, row{path: path, key: key})
}

// ask sends the request of a row and checks the response.
func (s *service) ask(t testing.TB, r row) answer {
	t.Helper()
	a := s.send(t, r)
	if want := max(r.status, 200); a.status != want {
		t.Errorf("%s: status %d, want %d: %.300s", r.about(), a.status, want, a.body)
		return a
	}
	if code, param := a.fault(); code != r.code || param != r.param {
		t.Errorf("%s: code %q of param %q, want %q of %q: %.300s", r.about(), code, param, r.code, r.param, a.body)
	}
	shown := a.text()
	for _, text := range r.has {
		if !strings.Contains(shown, text) {
			t.Errorf("%s: %q is missing in\n%.2000s", r.about(), text, shown)
		}
	}
	for _, text := range r.not {
		if a.shows(text) {
			t.Errorf("%s: %q must not appear in\n%.2000s", r.about(), text, shown)
		}
	}
	return a
}

// run checks each row, in order.
func (s *service) run(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		s.ask(t, r)
	}
}

func (r row) about() string {
	if r.name != "" {
		return r.name
	}
	return r.verb() + " " + r.path
}

func (r row) verb() string {
	if r.method == "" {
		return http.MethodGet
	}
	return r.method
}

// send sends the request of a row. It makes the checks that apply to every response.
func (s *service) send(t testing.TB, r row) answer {
	t.Helper()
	request := s.request(t, r.verb(), r.path, r.key, "")
	for name, value := range r.header {
		request.Header.Set(name, value)
	}
	a := exchange(t, request)
	for _, fault := range a.faults(t, r) {
		t.Errorf("%s: %s\n%v\n%.300s", r.about(), fault, a.header, a.body)
	}
	return a
}

// request returns a request to the API, without a credential if the key is empty.
func (s *service) request(t testing.TB, method, path, key, body string) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	return request
}

// exchange sends a request and reads the answer.
func exchange(t testing.TB, request *http.Request) answer {
	t.Helper()
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	a := answer{status: response.StatusCode, header: response.Header}
	if a.sent, err = io.ReadAll(response.Body); err != nil {
		t.Fatal(err)
	}
	a.body = a.sent
	if a.header.Get("Content-Encoding") == "gzip" && len(a.sent) > 0 {
		a.body = unzip(t, a.sent)
	}
	return a
}

func unzip(t testing.TB, sent []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(sent))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// text returns the complete response: headers and body.
func (a answer) text() string {
	var b strings.Builder
	_ = a.header.Write(&b)
	b.WriteString("\n")
	b.Write(a.body)
	return b.String()
}

// shows reports whether a text appears in the response outside the request id, whose
// random letters can spell any short word.
func (a answer) shows(text string) bool {
	shown := a.text()
	if id := a.header.Get("X-Request-Id"); id != "" {
		shown = strings.ReplaceAll(shown, id, "")
	}
	return strings.Contains(shown, text)
}

// faults lists the rules of the contract for all responses that a response breaks.
func (a answer) faults(t testing.TB, r row) []string {
	t.Helper()
	faults := a.headerFaults()
	switch {
	case r.verb() == http.MethodHead || a.status == http.StatusNotModified:
		if len(a.sent) > 0 {
			faults = append(faults, "has a body")
		}
	case a.status >= 400:
		faults = append(faults, a.errorFaults(t)...)
	default:
		faults = append(faults, a.successFaults(t, operation(t, r))...)
	}
	return faults
}

func (a answer) headerFaults() []string {
	var faults []string
	must := func(ok bool, fault string) {
		if !ok {
			faults = append(faults, fault)
		}
	}
	number := func(name string) bool {
		n, err := strconv.Atoi(a.header.Get(name))
		return err == nil && n >= 0 && len(a.header.Values(name)) == 1
	}
	for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Limit-Day"} {
		must(number(name), "no number in "+name)
	}
	id := a.header.Get("X-Request-Id")
	_, seen := requestIDs.LoadOrStore(id, true)
	must(id != "" && !seen, "X-Request-Id is missing or was seen before")
	must(a.header.Get("Service-Version") == "2026-09-12", "no Service-Version")
	must(slices.Contains([]string{"live", "test"}, a.header.Get("Service-Environment")), "no Service-Environment")
	must(a.header.Get("X-Content-Type-Options") == "nosniff", "no nosniff")
	must(number("Retry-After") == (a.status == 429 || a.status == 503), "Retry-After belongs to 429 and 503, and to no other")
	must((a.header.Get("WWW-Authenticate") == "Bearer") == (a.status == 401), "WWW-Authenticate belongs to 401")
	must((a.header.Get("Allow") != "") == (a.status == 405), "Allow belongs to 405")
	must(len(a.body) == 0 || a.header.Get("Content-Type") != "application/json" || a.body[len(a.body)-1] == '\n', "the body does not end with a line feed")
	return faults
}

// kinds are the error types of the contract, section 2, with their status.
var kinds = map[string]string{
	"400 invalid_parameter": "invalid_request_error", "400 invalid_cursor": "invalid_request_error",
	"400 unsupported_version": "invalid_request_error",
	"401 missing_credential":  "authentication_error", "401 invalid_api_key": "authentication_error",
	"403 tier_required": "permission_error", "403 subscription_inactive": "permission_error",
	"403 insufficient_scope": "permission_error",
	"404 not_found":          "not_found_error", "405 method_not_allowed": "invalid_request_error",
	"409 idempotency_key_reused": "idempotency_error", "409 idempotency_in_flight": "idempotency_error",
	"409 resource_conflict": "conflict_error", "413 payload_too_large": "invalid_request_error",
	"415 unsupported_media_type": "invalid_request_error", "429 rate_limit_exceeded": "rate_limit_error",
	"500 internal_error": "api_error", "503 service_unavailable": "api_error",
}

type refusal struct {
	Error struct {
		Type, Code, Message, Param string
		RequestID                  string `json:"request_id"`
	}
}

// fault returns the code and the parameter of an error response. Both are "" for other
// responses.
func (a answer) fault() (code, param string) {
	var r refusal
	if a.status < 400 || json.Unmarshal(a.body, &r) != nil {
		return "", ""
	}
	return r.Error.Code, r.Error.Param
}

func (a answer) errorFaults(t testing.TB) []string {
	t.Helper()
	var faults []string
	if kind := a.header.Get("Content-Type"); kind != "application/json" {
		faults = append(faults, "Content-Type "+kind)
	}
	_, broken := testkit.Document(t).Schema("Error").Decode(a.body)
	for _, b := range broken {
		faults = append(faults, "error envelope: "+b.Message)
	}
	var r refusal
	_ = json.Unmarshal(a.body, &r)
	if kinds[strconv.Itoa(a.status)+" "+r.Error.Code] != r.Error.Type {
		faults = append(faults, "status, code and type do not belong together")
	}
	if r.Error.RequestID != a.header.Get("X-Request-Id") || r.Error.Message == "" {
		faults = append(faults, "request_id is not that of the header, or there is no message")
	}
	return faults
}

// operation returns the operation of a row's request, or nil.
func operation(t testing.TB, r row) *openapi.Operation {
	t.Helper()
	path, _, _ := strings.Cut(r.path, "?")
	if path == "" {
		path = "/"
	}
	for _, op := range testkit.Document(t).Operations {
		if op.Path == path && op.Method == r.verb() {
			return op
		}
	}
	return nil
}

func (a answer) successFaults(t testing.TB, op *openapi.Operation) []string {
	t.Helper()
	if op == nil {
		return []string{"the document has no such operation"}
	}
	var faults []string
	if a.header.Get("Etag") == "" {
		faults = append(faults, "no ETag")
	}
	if a.header.Get("Content-Type") == "application/x-ndjson" {
		for line := range bytes.Lines(a.body) {
			_, broken := testkit.Document(t).Schema("AuditEvent").Decode(line)
			for _, b := range broken {
				faults = append(faults, "line: "+b.Message)
			}
		}
		return faults
	}
	value, broken := op.Response.Decode(a.body)
	for _, b := range broken {
		faults = append(faults, "response schema: "+b.Message)
	}
	if value != nil && a.header.Get("Content-Type") != "application/json" {
		faults = append(faults, "Content-Type "+a.header.Get("Content-Type"))
	}
	return append(faults, extraMembers(t, op, value)...)
}

// extraMembers lists members of records that the document does not name. Schemas of
// responses are open, so validation does not find them.
func extraMembers(t testing.TB, op *openapi.Operation, value any) []string {
	t.Helper()
	name := op.Returns.List + op.Returns.One + op.Returns.Current
	if op.ID == "listAuditEvents" {
		name = "AuditEvent"
	}
	envelope, _ := value.(map[string]any)
	if name == "" || envelope == nil {
		return nil
	}
	var faults []string
	records, _ := envelope["data"].([]any)
	if one, ok := envelope["data"].(map[string]any); ok {
		records = []any{one}
	}
	for _, record := range records {
		for member := range record.(map[string]any) {
			if !slices.Contains(testkit.Document(t).Schema(name).Members(), member) {
				faults = append(faults, "a "+name+" has the member "+member)
			}
		}
	}
	if len(envelope) != 5 {
		faults = append(faults, "the envelope has other members than five")
	}
	return faults
}
