package webhook_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"govsvc/internal/testkit"
	"govsvc/server/webhook"
)

func withRate(n int, hosts map[string]string) func(*webhook.SenderConfig) {
	return func(c *webhook.SenderConfig) { c.Rate, c.Resolver = n, table(hosts) }
}

// TestRate_SharedByHost sends more to one receiving host than its rate allows.
// Subscriptions that share a name or an address share the rate.
func TestRate_SharedByHost(t *testing.T) {
	t.Parallel()
	const rate, events, subscriptions = 80, 15, 4
	names := map[string]string{"example.com": "127.0.0.1", "a.example.com": "127.0.0.1", "b.example.com": "127.0.0.1"}
	for name, hosts := range map[string][]string{
		"one address":              {"127.0.0.1"},
		"one name":                 {"example.com"},
		"many names of an address": {"127.0.0.1", "example.com", "a.example.com", "b.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newHarness(t, nil, func(c *webhook.Config) { c.Sender = newSender(t, withRate(rate, names)) })
			r := testkit.NewReceiver(t, nil)
			for i := range subscriptions {
				s.subscribe(t, strings.Replace(r.URL, "127.0.0.1", hosts[i%len(hosts)], 1))
			}
			s.enqueue(t, events)
			if total := s.deliver(t); total != (webhook.Totals{Delivered: events * subscriptions}) {
				t.Errorf("got %+v", total)
			}
			got := r.Received()
			if len(got) != events*subscriptions {
				t.Fatalf("%d arrived, want %d", len(got), events*subscriptions)
			}
			// at 80 a second the 60 take 750 ms; without a limit some 100 ms
			if took := got[len(got)-1].At.Sub(got[0].At); took < 500*time.Millisecond {
				t.Errorf("%d deliveries arrived within %v", len(got), took)
			}
			for _, h := range s.health(t) {
				if h.Queued != 0 || h.LastStatus == nil || *h.LastStatus != 200 {
					t.Errorf("got %+v", h)
				}
			}
			if log := s.log.String(); strings.Contains(log, "not delivered") || strings.Contains(log, "attempt=2") {
				t.Error("waiting for the rate counted as an attempt")
			}
		})
	}
}

// TestRate_OtherHosts checks that a host whose rate is used up delays no other host,
// even while it has a long queue and many subscriptions.
func TestRate_OtherHosts(t *testing.T) {
	t.Parallel()
	other := testkit.NewReceiverAt(t, "127.0.0.2", nil)
	s := newHarness(t, nil, func(c *webhook.Config) {
		c.Sender = newSender(t, withRate(2, map[string]string{"example.com": "127.0.0.2"}))
		c.Workers, c.Grace = 8, time.Second
	})
	limited := testkit.NewReceiver(t, nil)
	for i := range 40 {
		s.subscribe(t, fmt.Sprint(limited.URL, "/", i))
	}
	s.enqueue(t, 20)
	stop := s.run(t)
	eventually(t, time.Minute, "the rate is used up", func() bool { return len(limited.Received()) >= 3 })
	_, port, _ := net.SplitHostPort(other.Listener.Addr().String())
	s.subscribe(t, "https://example.com:"+port)
	before := len(limited.Received())
	s.enqueue(t, 1)
	eventually(t, time.Minute, "the other host has its event", func() bool { return len(other.Received()) == 1 })
	// the limited host has 840 deliveries to get, at 2 a second
	if after := len(limited.Received()); after-before > 100 {
		t.Errorf("the limited host got %d deliveries before the other one got its first", after-before)
	}
	stop()
	if n := len(s.deadLetters(t)); n != 0 {
		t.Errorf("%d dead letters, want none", n)
	}
	seen := map[string]bool{}
	for _, a := range limited.Received() {
		if id := a.Header.Get("X-Service-Delivery"); seen[id] {
			t.Errorf("delivery %s was sent twice", id)
		} else {
			seen[id] = true
		}
	}
}
