package cmd_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"govsvc/db"
)

var newSecret = regexp.MustCompile(`^whsec_[0-9A-Za-z+/]{43}=\n$`)

// TestWebhooks_ArriveAndRotate follows the first steps of an integrator: a subscription
// through the API, an event that arrives, and the rotation of the secret.
func TestWebhooks_ArriveAndRotate(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	first, url, ca := c.listen("--ca", c.dir+"/ca.pem")
	first.end()
	s := c.deliverable(ca)
	key := c.key("manage:webhooks,write:risks")
	subscription := decode[struct{ Data struct{ ID, Secret string } }](t,
		c.post(s.url+"/api/v1/webhooks/subscriptions", key, "1", `{"url":"`+url+`/hooks"}`)).Data

	addr := strings.TrimPrefix(url, "https://")
	former, _, _ := c.listen("--addr", addr, "--ca", ca, "--secret", subscription.Secret)
	c.post(s.url+"/api/v1/risks", key, "2", `{"title":"One","description":"It must reach the receiver.","severity":"LOW","likelihood":"RARE"}`)
	former.has(" risk.created verified\n", 1)
	awaitAcknowledged(c)
	if got := onlySubscription(c); got.ID != subscription.ID || got.URL != url+"/hooks" {
		t.Errorf("webhooks list: %+v", got)
	}

	rotated := c.run("webhooks", "rotate-secret", subscription.ID, "--overlap", "1h")
	if !newSecret.MatchString(rotated.stdout) || !strings.Contains(rotated.stderr, "; the former secret is also valid until 2") {
		t.Errorf("rotated: %+v", rotated)
	}
	c.must("import", c.file("risk.ndjson", `{"object":"risk","risk_id":"R-2","dimension":"DATA","description":"It is imported beside the server.",`+
		`"severity":"LOW","likelihood":"RARE","status":"Open","source":"user_added","title":"Two"}`))
	former.has(" risk.created verified\n", 2)
	awaitAcknowledged(c)
	former.end()
	latter, _, _ := c.listen("--addr", addr, "--ca", ca, "--secret", strings.TrimSpace(rotated.stdout))
	c.enqueue(1)
	latter.has(" risk.created verified\n", 1)
	awaitAcknowledged(c)

	again := decode[struct {
		ID, Secret  string
		FormerUntil *string `json:"former_until"`
	}](t, c.must("webhooks", "rotate-secret", subscription.ID, "--overlap", "0s", "--json"))
	if again.ID != subscription.ID || !newSecret.MatchString(again.Secret+"\n") || again.FormerUntil != nil {
		t.Errorf("rotated without an overlap: %+v", again)
	}
	c.enqueue(1)
	latter.has(" risk.created BAD SIGNATURE: X-Service-Signature does not match", 1)
	latter.end()
	s.end()

	printed := s.stderr.String() + c.must("webhooks", "list") + c.must("webhooks", "list", "--json") + c.must("export") + latter.stderr.String()
	for _, secret := range []string{subscription.Secret, strings.TrimSpace(rotated.stdout), again.Secret} {
		if strings.Contains(printed, secret) {
			t.Errorf("%s is shown in %s", secret, printed)
		}
	}
}

func TestWebhooksList_HidesSecrets(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("orgs", "create", "acme")
	id, _ := c.subscribe("https://hooks.example.com/in\x1b[31m")
	golden(t, "webhooks_list.json", c.must("webhooks", "list", "--json"))
	golden(t, "webhooks_list.txt", squeezed(c.must("webhooks", "list")))
	if got := c.must("webhooks", "list", "--json", "--org", "acme"); got != "[]\n" {
		t.Errorf("another organisation: %q", got)
	}
	for _, args := range [][]string{
		{"webhooks", "rotate-secret", "nothing"},
		{"webhooks", "rotate-secret", id, "--org", "acme"},
	} {
		if got := c.refused(1, args...); !strings.Contains(got, "in this organisation; `govsvc webhooks list` shows them") {
			t.Errorf("%q: %s", args, got)
		}
	}
}

// line is a webhook as `webhooks listen --json` prints it.
type line struct {
	Type, Signature, Problem string
	EventID                  string `json:"event_id"`
	DeliveryID               string `json:"delivery_id"`
	ForwardedTo              string `json:"forwarded_to"`
	Seen, Status             int
	Body                     json.RawMessage
}

// lines returns the lines printed so far, except the first.
func (s *background) lines() []line {
	s.t.Helper()
	var list []line
	_, text, _ := strings.Cut(s.stdout.String(), "\n")
	for one := range strings.Lines(text) {
		list = append(list, decode[line](s.t, one))
	}
	return list
}

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// TestWebhooksTrigger_SendsEachType sends a sample of each type to a receiver.
func TestWebhooksTrigger_SendsEachType(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	s := c.begin("webhooks", "listen", "--json", "--secret", secret)
	s.has("\n", 1)
	at := decode[struct {
		Message, URL string
		CAFile       string `json:"ca_file"`
	}](t, s.stdout.String())
	if at.Message != "listening on "+at.URL || !strings.HasPrefix(at.URL, "https://127.0.0.1:") || s.stderr.String() != at.Message+"\n" {
		t.Errorf("the first line: %+v, stderr %s", at, s.stderr)
	}
	types := db.EventTypes()
	for _, kind := range types {
		got := decode[struct {
			Outcome   string
			Delivered bool
			Status    int `json:"response_status_code"`
			Answer    string
		}](t, c.must("webhooks", "trigger", kind, "--url", at.URL, "--secret", secret, "--webhook-ca", at.CAFile, "--json"))
		if got.Outcome != "delivered" || !got.Delivered || got.Status != 200 || got.Answer != "received, verified\n" {
			t.Errorf("%s: %+v", kind, got)
		}
	}
	s.end()
	printed := s.lines()
	if len(printed) != len(types) {
		t.Fatalf("%d lines: %s", len(printed), s.stdout)
	}
	for i, p := range printed {
		body := decode[struct{ ID, Type string }](t, string(p.Body))
		if p.Type != types[i] || body.Type != types[i] || body.ID != p.EventID || p.Signature != "verified" || p.Seen != 1 || p.Status != 200 || p.DeliveryID == "" {
			t.Errorf("%s: %+v", types[i], p)
		}
	}
	if exists(at.CAFile) {
		t.Errorf("%s is left behind", at.CAFile)
	}
}

func TestWebhooksTrigger_ReportsOutcome(t *testing.T) {
	t.Parallel()
	c := newCLIWithoutFile(t)
	s, url, ca := c.listen("--secret", secret)
	for _, row := range []struct{ name, url, secret, ca, stdout, stderr string }{
		{"delivered", url, secret, ca, "delivered: 200 in ", ""},
		{"by name", strings.Replace(url, "127.0.0.1", "localhost", 1), secret, ca, "delivered: 200 in ", ""},
		{"another secret", url, "whsec_AAAA", ca, "rejected: 401 in ", "govsvc: not delivered: the receiver returned status 401 instead of 2xx\n"},
		{"an authority that is not trusted", url, secret, "", "unreachable in ", "certificate signed by unknown authority; name the authority of the receiver's certificate with --webhook-ca\n"},
		{"no receiver", "https://127.0.0.1:1/", secret, ca, "unreachable in ", "refused; check that the receiver runs and is reachable from here\n"},
		{"a private address", "https://10.0.0.1/", secret, ca, "blocked in ", "the receiver's address is not public; use a public address or a loopback address\n"},
		{"metadata", "https://169.254.169.254/", secret, ca, "blocked in ", "the receiver's address is not public"},
	} {
		t.Run(row.name, func(t *testing.T) {
			args := []string{"webhooks", "trigger", "ping", "--url", row.url, "--secret", row.secret}
			if row.ca != "" {
				args = append(args, "--webhook-ca", row.ca)
			}
			o := c.run(args...)
			status := 0
			if row.stderr != "" {
				status = 1
			}
			if o.status != status || !strings.HasPrefix(o.stdout, row.stdout) || !strings.Contains(o.stderr, row.stderr) || strings.Count(o.stderr, "\n") != status {
				t.Errorf("got %+v, want %+v", o, row)
			}
			if strings.Contains(o.stdout+o.stderr, row.secret) {
				t.Errorf("it shows the secret: %+v", o)
			}
		})
	}
	s.end()
	if exists(ca) {
		t.Errorf("%s is left behind", ca)
	}
	if got := c.refused(1, "webhooks", "trigger", "ping", "--url", url, "--secret", secret, "--webhook-ca", ca); !strings.Contains(got, "--webhook-ca: "+ca+": no such") {
		t.Error(got)
	}
	if got := c.refused(1, "serve", "--webhook-ca", c.file("empty.pem", "nothing")); !strings.Contains(got, "empty.pem has no certificate in PEM") || exists(c.env["GOVSVC_DB"]) {
		t.Error(got)
	}
}
