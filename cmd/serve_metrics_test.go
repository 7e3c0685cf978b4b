package cmd_test

import (
	"encoding/json"
	"math"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"govsvc/internal/testkit"
)

// serveMetrics starts a server with metrics and returns their URL.
func serveMetrics(c *cli, flags ...string) (s *server, metricsURL string) {
	c.t.Helper()
	s = c.serve(append([]string{"--metrics-addr", "127.0.0.1:0", "--log-format", "json"}, flags...)...)
	at := regexp.MustCompile(`"msg":"serving metrics","address":"([^"]+)"`).FindStringSubmatch(s.stderr.String())
	if at == nil {
		c.t.Fatalf("no address of metrics in\n%s", s.stderr)
	}
	return s, at[1]
}

// series are samples by name and labels.
type series map[string]float64

// readMetrics reads the metrics.
func readMetrics(c *cli, url string) series {
	c.t.Helper()
	status, text := c.get(url, "")
	if status != 200 {
		c.t.Fatalf("metrics: %d %s", status, text)
	}
	all := series{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		line = strings.TrimSpace(line)
		at := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			c.t.Fatalf("%q: %v", line, err)
		}
		all[line[:at]] = value
	}
	return all
}

func TestMetrics_CountRequestsAndDeliveries(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	s, url := serveMetrics(c, "--anonymous-rpm", "3", "--webhook-allow", "127.0.0.0/8", "--webhook-schedule", "1h")
	key := c.key("read:all,write:risks,manage:webhooks")
	few := c.must("keys", "mint", "--name", "few", "--scope", "read:risks", "--rpm", "1")
	risks := s.url + "/api/v1/risks"
	c.post(s.url+"/api/v1/webhooks/subscriptions", key, "a", `{"url":"https://127.0.0.1:1/hook","event_types":["risk.created"]}`)
	c.post(risks, key, "b", `{"title":"A risk","description":"It must reach the receiver.","severity":"LOW","likelihood":"RARE"}`)
	for _, k := range []string{key, key, few, few, "", "", "", ""} {
		c.get(risks, k)
	}
	c.get(s.url+"/api/v1/nothing", key)
	c.get(s.url+"/healthz", "")
	c.get(s.url+"/favicon.ico", key)

	var got series
	testkit.Eventually(t, func() bool {
		got = readMetrics(c, url)
		return got[`govsvc_webhook_attempts_total{outcome="failed"}`] > 0 && got[`govsvc_webhook_queue{state="later"}`] > 0
	}, "an attempt of the delivery loop")
	for name, want := range map[string]float64{
		`govsvc_http_requests_total{operation="listRisks",status="200"}`:               3,
		`govsvc_http_requests_total{operation="listRisks",status="401"}`:               3,
		`govsvc_http_requests_total{operation="listRisks",status="429"}`:               2,
		`govsvc_http_requests_total{operation="createRisk",status="201"}`:              1,
		`govsvc_http_requests_total{operation="none",status="404"}`:                    1,
		`govsvc_http_requests_total{operation="health",status="200"}`:                  1,
		`govsvc_http_requests_total{operation="page",status="404"}`:                    1,
		`govsvc_http_request_duration_seconds_count{operation="listRisks"}`:            8,
		`govsvc_http_request_duration_seconds_bucket{operation="listRisks",le="+Inf"}`: 8,
		`govsvc_rate_limited_total{subject="key"}`:                                     1,
		`govsvc_rate_limited_total{subject="address"}`:                                 1,
		`govsvc_webhook_queue{state="due"}`:                                            0,
		`govsvc_webhook_queue{state="later"}`:                                          1,
		`govsvc_webhook_queue{state="paused"}`:                                         0,
		`govsvc_webhook_dead_letters`:                                                  0,
		`govsvc_webhook_oldest_due_seconds`:                                            0,
		`govsvc_webhook_attempts_total{outcome="failed"}`:                              1,
		`govsvc_webhook_attempts_total{outcome="delivered"}`:                           0,
		`govsvc_write_transactions_failed_total`:                                       0,
		`govsvc_data_file_up`:                                                          1,
		`govsvc_connections_closed_total{reason="refused"}`:                            0,
	} {
		if value, ok := got[name]; !ok || value != want {
			t.Errorf("%s is %v (%v), want %v", name, value, ok, want)
		}
	}
	for name, least := range map[string]float64{
		`govsvc_connections`:                                              1,
		`govsvc_write_transaction_changes_count`:                          2,
		`govsvc_write_transaction_changes_bucket{le="1"}`:                 1,
		`govsvc_write_transaction_seconds_sum`:                            math.SmallestNonzeroFloat64,
		`govsvc_write_transaction_seconds_bucket{le="+Inf"}`:              2,
		`govsvc_data_file_bytes`:                                          4096,
		`govsvc_wal_bytes`:                                                4096,
		`go_goroutines`:                                                   1,
		`process_start_time_seconds`:                                      1,
		`go_gc_gomemlimit_bytes`:                                          1,
		`govsvc_http_request_duration_seconds_sum{operation="listRisks"}`: math.SmallestNonzeroFloat64,
	} {
		if got[name] < least {
			t.Errorf("%s is %v, want %v at least", name, got[name], least)
		}
	}
	s.end()
	if _, err := http.Get(url); err == nil { //nolint:noctx,bodyclose // refused at once
		t.Error("metrics outlive the server")
	}
}

// TestMetrics_AreNamed checks that the dashboard and the alert rules only use
// existing metrics.
func TestMetrics_AreNamed(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	certFile, keyFile, certificate := newKeyPair(c, "served", 1)
	s, url := serveMetrics(c, "--tls-cert", certFile, "--tls-key", keyFile)
	c.ask(trusting(certificate), s.url+"/healthz", "")
	known := map[string]bool{"up": true} // a metric of Prometheus itself
	for name := range readMetrics(c, url) {
		name, _, _ = strings.Cut(name, "{")
		known[name] = true
	}
	s.end()
	named := regexp.MustCompile(`\b(?:govsvc|go|process)_[a-z_]+[a-z]\b|\bup\b`)
	for _, file := range []string{"alerts.yaml", "alerts_test.yaml", "dashboard.json"} {
		asked := map[string]bool{}
		for _, expression := range expressions(t, "../doc/deploy/"+file) {
			for _, name := range named.FindAllString(expression, -1) {
				asked[name] = true
			}
		}
		if len(asked) < 15 {
			t.Errorf("%s asks for %d metrics alone", file, len(asked))
		}
		for name := range asked {
			if !known[name] {
				t.Errorf("%s asks for %s, which there is not", file, name)
			}
		}
	}
}

// expressions returns the lines of a file that query metrics.
func expressions(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	if strings.HasSuffix(path, ".json") && !json.Valid(text) {
		t.Errorf("%s is no JSON", path)
	}
	lines := strings.Split(string(text), "\n")
	return slices.DeleteFunc(lines, func(line string) bool {
		return strings.Contains(line, `"title`) || strings.Contains(line, "summary:") || strings.Contains(line, `"description"`)
	})
}

// TestAlerts_AreExplained checks that doc/monitoring.md has a section for each
// alert, and that the alert's runbook links to it.
func TestAlerts_AreExplained(t *testing.T) {
	t.Parallel()
	rules, err := os.ReadFile("../doc/deploy/alerts.yaml")
	must(t, err)
	guide, err := os.ReadFile("../doc/monitoring.md")
	must(t, err)
	alerts := regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(string(rules), -1)
	if len(alerts) < 10 {
		t.Fatalf("found %d alerts", len(alerts))
	}
	for _, alert := range alerts {
		if !strings.Contains(string(guide), "\n### "+alert[1]+"\n") {
			t.Errorf("doc/monitoring.md has no section ### %s", alert[1])
		}
		if !strings.Contains(string(rules), "runbook: doc/monitoring.md#"+strings.ToLower(alert[1])+"\n") {
			t.Errorf("the runbook of %s does not lead to its section", alert[1])
		}
	}
}

func TestMetrics_RefusePublicAddress(t *testing.T) {
	t.Parallel()
	c := newCLIWithoutFile(t)
	if got := c.refused(2, "serve", "--addr", "127.0.0.1:0", "--metrics-addr", ":9090"); !strings.Contains(got, "--metrics-addr :9090 can be reached from other machines") ||
		!strings.Contains(got, "--insecure") || exists(c.env["GOVSVC_DB"]) {
		t.Error(got)
	}
	if got := c.refused(1, "serve", "--addr", "127.0.0.1:0", "--metrics-addr", "no..name:9090"); !strings.Contains(got, "no such host; choose another address with --metrics-addr") {
		t.Error(got)
	}
	s, url := serveMetrics(c, "--insecure")
	taken := []string{"serve", "--addr", "127.0.0.1:0", "--metrics-addr", strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/metrics")}
	if got := c.refused(1, taken...); !strings.Contains(got, "choose another address with --metrics-addr") {
		t.Error(got)
	}
	if got := c.refused(1, append(taken, "--backup-dir", c.file("file", ""))...); !strings.Contains(got, "--backup-dir: ") {
		t.Errorf("it listened for metrics before a later step failed: %s", got)
	}
	if status, _ := c.get(s.url+"/metrics", ""); status != 404 {
		t.Errorf("metrics on the service's own address: %d", status)
	}
	s.end()
}

// TestAccessLog_HidesSecrets checks that each request has a line without secrets.
func TestAccessLog_HidesSecrets(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	s := c.serve("--access-log", "--log-format", "json")
	key := c.key("read:risks")
	c.get(s.url+"/api/v1/risks?status=Open", key)
	c.get(s.url+"/api/v1/risks?api_key="+key, "")
	c.get(s.url+"/"+strings.Repeat("long", 100)+"?token=secret", key)
	c.get(s.url+"/api/v1/risks/"+key, "")
	c.get(s.url+"/%0a/whsec_c2VjcmV0%0a/secret", "")
	s.end()
	type line struct {
		Msg, Method, Path, Operation, Address string
		Status, Bytes                         int
		Duration                              int64
		RequestID                             string `json:"request_id"`
		KeyID                                 string `json:"key_id"`
	}
	var lines []line
	for text := range strings.Lines(s.stderr.String()) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if l.Msg == "request" {
			lines = append(lines, l)
		}
	}
	if len(lines) != 5 {
		t.Fatalf("%d lines in\n%s", len(lines), s.stderr)
	}
	keyID := lines[0].KeyID
	for i, want := range []line{
		{Path: "/api/v1/risks", Operation: "listRisks", Status: 200, KeyID: keyID},
		{Path: "/api/v1/risks", Operation: "listRisks", Status: 401},
		{Path: "/" + strings.Repeat("long", 100)[:199] + "…", Status: 404, KeyID: keyID},
		{Path: "/api/v1/risks/gds_live_…", Status: 405},
		{Path: "/\n/whsec_…", Status: 404},
	} {
		got := lines[i]
		if got.Bytes == 0 || got.Duration <= 0 || got.Address != "127.0.0.1" || !strings.HasPrefix(got.RequestID, "req_") {
			t.Errorf("line %d: %+v", i, got)
		}
		want.Msg, want.Method, want.Address = "request", "GET", got.Address
		want.Bytes, want.Duration, want.RequestID = got.Bytes, got.Duration, got.RequestID
		if got != want {
			t.Errorf("line %d: got %+v, want %+v", i, got, want)
		}
	}
	if log := s.stderr.String(); keyID == "" || strings.Contains(log, key) || strings.Contains(log, "secret") || strings.Contains(log, "status=Open") {
		t.Errorf("the log has a query, a secret, or no key id:\n%s", log)
	}
}
