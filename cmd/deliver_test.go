package cmd_test

import (
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"govsvc/internal/testkit"
)

func TestDeliver_SendsQueueOnce(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	s, url, ca := c.listen("--ca", c.dir+"/ca.pem")
	id, _ := c.subscribe(url)
	c.enqueue(2)
	once := func(flags ...string) string { return c.must(append([]string{"deliver", "--once"}, flags...)...) }
	for _, row := range []struct{ what, got, want string }{
		{"two", once(reaching(ca)...), "2 delivered, 0 failed and will be sent again, 0 new dead letters\n"},
		{"nothing left", once(append(reaching(ca), "--json")...), "{\n  \"delivered\": 0,\n  \"failed\": 0,\n  \"dead\": 0\n}\n"},
	} {
		if row.got != row.want {
			t.Errorf("%s: %q, want %q", row.what, row.got, row.want)
		}
	}
	s.has(" risk.created unverified\n", 2)
	s.end()

	c.enqueue(1)
	if got, want := once(append(reaching(ca), "--webhook-schedule", "1h")...), "0 delivered, 1 failed and will be sent again, 0 new dead letters\n"; got != want {
		t.Errorf("a dead receiver: %q, want %q", got, want)
	}
	if h := onlySubscription(c); h.Queued != 1 || h.LastStatus != nil || h.LastError == nil || !strings.Contains(*h.LastError, "connection refused") || h.ID != id {
		t.Errorf("health %+v", h)
	}
	c.enqueue(1)
	if got, want := once(), "0 delivered, 0 failed and will be sent again, 1 new dead letter\n"; got != want {
		t.Errorf("an address that is not allowed: %q, want %q", got, want)
	}
}

// TestDeadLetters_AreReplayedAndDiscarded checks that a delivery that ran out of
// attempts can be replayed and arrives.
func TestDeadLetters_AreReplayedAndDiscarded(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	golden(t, "deadletters_empty.json", func() string { c.must("orgs", "create", "acme"); return c.must("deadletters", "list", "--json") }())
	s, url, ca := c.listen("--ca", c.dir+"/ca.pem")
	s.end()
	_, signing := c.subscribe(url)
	serving := c.deliverable(ca, "--webhook-schedule", "10ms,20ms")
	c.enqueue(1)
	testkit.Eventually(t, func() bool { return onlySubscription(c).DeadLetters == 1 }, "a dead letter")
	type letter struct {
		ID        string
		EventID   string `json:"event_id"`
		EventType string `json:"event_type"`
		Attempts  int
		LastError string `json:"last_error"`
	}
	letters := func() []letter { return decode[[]letter](t, c.must("deadletters", "list", "--json")) }
	list := letters()
	if len(list) != 1 || list[0].Attempts != 3 || list[0].EventType != "risk.created" || !strings.Contains(list[0].LastError, "connection refused") {
		t.Fatalf("letters %+v", list)
	}
	if got := c.must("deadletters", "list"); !strings.HasPrefix(got, "ID  ") || !strings.Contains(got, list[0].EventID) || !strings.Contains(got, "connection refused") {
		t.Errorf("as a table: %s", got)
	}

	s, _, _ = c.listen("--addr", strings.TrimPrefix(url, "https://"), "--ca", ca, "--secret", signing)
	for _, args := range [][]string{{"replay", "nothing"}, {"discard", list[0].ID, "nothing"}, {"discard", list[0].ID, "--org", "acme"}} {
		if got := c.refused(1, append([]string{"deadletters"}, args...)...); !strings.Contains(got, "`govsvc deadletters list` shows them") {
			t.Errorf("%q: %s", args, got)
		}
	}
	if got := c.must("deadletters", "replay", "--all", "--org", "acme"); got != "replayed 0 dead letters\n" {
		t.Errorf("replayed of another organisation: %q", got)
	}
	if got := c.must("deadletters", "replay", list[0].ID, list[0].ID); got != "replayed 1 dead letter\n" {
		t.Errorf("replayed: %q", got)
	}
	s.has(" risk.created verified\n  event     "+list[0].EventID+"\n", 1)
	awaitAcknowledged(c)
	s.end()

	c.enqueue(2)
	testkit.Eventually(t, func() bool { return onlySubscription(c).DeadLetters == 2 }, "two more")
	if got := c.must("deadletters", "discard", letters()[0].ID, "--json"); got != "{\n  \"discarded\": 1\n}\n" {
		t.Errorf("discarded: %q", got)
	}
	s, _, _ = c.listen("--addr", strings.TrimPrefix(url, "https://"), "--ca", ca, "--secret", signing)
	if got := c.must("deadletters", "replay", "--all", "--json"); got != "{\n  \"replayed\": 1\n}\n" {
		t.Errorf("replayed all: %q", got)
	}
	s.has(" risk.created verified\n", 1)
	awaitAcknowledged(c)
	s.end()
	serving.end()
}

// TestDeliver_RecordsAttemptOnSignal checks that a delivery under way is recorded when
// a signal arrives.
func TestDeliver_RecordsAttemptOnSignal(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"serve", "deliver"} {
		c := newCLI(t)
		begun, release := make(chan struct{}, 1), make(chan struct{})
		receiver, ca := newReceiver(c, func(w http.ResponseWriter, _ *http.Request) {
			begun <- struct{}{}
			<-release
			w.WriteHeader(200)
		})
		c.subscribe(receiver.URL)
		c.enqueue(1)
		args := append([]string{command}, reaching(ca)...)
		if command == "serve" {
			args = append(args, "--addr", "127.0.0.1:0")
		}
		p := c.execute(os.TempDir(), args...)
		<-begun
		_ = p.Process.Signal(syscall.SIGTERM)
		close(release)
		if err := p.Wait(); err != nil {
			t.Errorf("%s: %v, want exit status 0: %s", command, err, p.stderr)
		}
		if h := onlySubscription(c); h.Queued != 0 || h.LastStatus == nil || *h.LastStatus != 200 {
			t.Errorf("%s: not recorded: %+v", command, h)
		}
		if want := "1 delivered, 0 failed and will be sent again, 0 new dead letters\n"; command == "deliver" && p.stdout.String() != want {
			t.Errorf("it printed %q, want %q", p.stdout, want)
		}
	}
}

// TestDeliver_LimitsRate delivers more webhooks than the rate of one receiving host
// allows. The flag and the environment variable set the rate.
func TestDeliver_LimitsRate(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	var arrivals []time.Time
	var mutex sync.Mutex
	receiver, ca := newReceiver(c, func(http.ResponseWriter, *http.Request) {
		mutex.Lock()
		defer mutex.Unlock()
		arrivals = append(arrivals, time.Now())
	})
	c.subscribe(receiver.URL)
	for name, flags := range map[string][]string{"flag": {"--webhook-rate", "10"}, "environment": nil} {
		c.enqueue(20)
		if flags == nil {
			c.env["GOVSVC_WEBHOOK_RATE"] = "10"
		}
		if got, want := c.must(append(append([]string{"deliver", "--once"}, reaching(ca)...), flags...)...), "20 delivered, 0 failed and will be sent again, 0 new dead letters\n"; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		delete(c.env, "GOVSVC_WEBHOOK_RATE")
		// At 10 a second, 20 deliveries take two seconds.
		if took := arrivals[len(arrivals)-1].Sub(arrivals[0]); len(arrivals) != 20 || took < time.Second {
			t.Errorf("%s: %d arrived within %v", name, len(arrivals), took)
		}
		arrivals = nil
	}
	help := strings.Join(strings.Fields(c.must("serve", "--help")), " ")
	if !strings.Contains(help, "deliveries a second to one receiving host; 0 is no limit [GOVSVC_WEBHOOK_RATE] (default 100)") {
		t.Errorf("the help does not name the flag and its default:\n%s", help)
	}
}

// TestKeysMint_ExplainsWebhookScope checks that the help describes the access of
// manage:webhooks.
func TestKeysMint_ExplainsWebhookScope(t *testing.T) {
	t.Parallel()
	help := strings.Join(strings.Fields(newCLI(t).must("keys", "mint", "--help")), " ")
	if want := "manage:webhooks alone lets a key receive the records that events carry"; !strings.Contains(help, want) {
		t.Errorf("the help does not say %q:\n%s", want, help)
	}
}
