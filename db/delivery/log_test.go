package delivery_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/delivery"
	"govsvc/internal/testkit"
)

// summaries returns a line for each delivery of all pages.
func (f *fixture) summaries(t *testing.T, q delivery.Query) []string {
	t.Helper()
	var lines []string
	for q.Limit = 2; ; {
		page, err := delivery.List(t.Context(), f.DB, f.org, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range page.Deliveries {
			line := fmt.Sprintf("%d %s %s %d", d.Number, d.URL[len("https://example.com/"):], d.State, d.Attempts)
			if d.LastStatus != nil {
				line += fmt.Sprint(" ", *d.LastStatus)
			}
			if d.LastError != nil {
				line += " " + *d.LastError
			}
			lines = append(lines, line)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return lines
		}
	}
}

// TestList follows deliveries from their events on. It checks the pages of the log, the
// details of a delivery and the health of subscriptions.
func TestList(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a, b := f.subscribe(t, "a"), f.subscribe(t, "b")
	f.enqueue(t, "1", "2", "3", "4", "5")
	// Of a, the first three arrive, the fourth becomes a dead letter and the fifth waits.
	// Of b, all become dead letters.
	f.settle(t, func(subscription int64, n int) (delivery.State, delivery.Attempt) {
		switch {
		case subscription == 2:
			return delivery.Dead, delivery.Attempt{Error: "no route", Blocked: true}
		case n <= 3:
			return delivery.Delivered, delivery.Attempt{Status: 204}
		case n == 4:
			return delivery.Dead, delivery.Attempt{Status: 410, Answer: []byte("gone\x00")}
		}
		return delivery.Pending, delivery.Attempt{Error: "timeout"}
	})
	f.enqueue(t, "6")
	f.expand(t)
	ofA := []string{"6 a pending 0", "5 a pending 1 timeout", "4 a dead 1 410", "3 a delivered 1 204", "2 a delivered 1 204", "1 a delivered 1 204"}
	dead := []string{"5 b dead 1 no route", "4 b dead 1 no route", "4 a dead 1 410", "3 b dead 1 no route", "2 b dead 1 no route", "1 b dead 1 no route"}
	keep := func(lines []string, text string) []string {
		return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return !strings.Contains(line, text) })
	}
	for _, row := range []struct {
		q    delivery.Query
		want []string
	}{
		{delivery.Query{Subscription: a}, ofA},
		{delivery.Query{Subscription: a, State: delivery.Pending}, keep(ofA, "pending")},
		{delivery.Query{Subscription: a, State: delivery.Dead}, keep(ofA, "dead")},
		{delivery.Query{Subscription: a, State: delivery.Delivered}, keep(ofA, "delivered")},
		{delivery.Query{Subscription: b, State: delivery.Dead}, keep(dead, " b ")},
		{delivery.Query{}, dead},
		{delivery.Query{Subscription: "unknown"}, nil},
	} {
		if diff := cmp.Diff(row.want, f.summaries(t, row.q)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", row.q, diff)
		}
	}
	for _, state := range []delivery.State{"lost", "' OR 1"} {
		if _, err := delivery.List(t.Context(), f.DB, f.org, delivery.Query{Subscription: a, State: state, Limit: 1}); !db.Is(err, db.Invalid) {
			t.Errorf("state %q: %v", state, err)
		}
	}
	f.checkDetail(t, a)
	f.checkHealth(t, a, b)
}

func (f *fixture) checkDetail(t *testing.T, a string) {
	t.Helper()
	f.clock.Advance(2 * time.Hour)
	f.settle(t, func(int64, int) (delivery.State, delivery.Attempt) {
		return delivery.Delivered, delivery.Attempt{Status: 200, Answer: []byte("ok")}
	})
	detail, err := delivery.Get(t.Context(), f.DB, f.org.Org, a, 5)
	if err != nil {
		t.Fatal(err)
	}
	later := db.Timestamp(f.clock.Now())
	want := []delivery.LoggedAttempt{
		{Number: 1, At: db.Timestamp(testkit.Start.Add(5 * time.Minute)), DurationMS: 42, Error: new("timeout")},
		{Number: 2, At: later, DurationMS: 42, Status: new(200), Answer: new("ok")},
	}
	if diff := cmp.Diff(want, detail.Log); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
	if body := string(detail.Body); !strings.HasPrefix(body, `{"id":"`+detail.EventID+`","object":"event","type":"risk.created"`) || detail.State != delivery.Delivered ||
		detail.Attempts != 2 || detail.SubscriptionID != a || detail.UpdatedAt != later {
		t.Errorf("%+v, %s", detail, body)
	}
	for _, row := range []struct {
		org    db.Org
		id     string
		number int64
	}{{f.org.Org, a, 99}, {f.org.Org, "x", 5}, {f.org.Org + 1, a, 5}} {
		if _, err := delivery.Get(t.Context(), f.DB, row.org, row.id, row.number); !db.Is(err, db.NotFound) {
			t.Errorf("%+v: %v", row, err)
		}
	}
}

func (f *fixture) checkHealth(t *testing.T, a, b string) {
	t.Helper()
	health := func(subscription string) delivery.Health {
		h, err := delivery.ReadHealth(t.Context(), f.DB, f.org.Org, subscription)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	arrived := db.Timestamp(f.clock.Now())
	if diff := cmp.Diff(delivery.Health{Delivered: 5, Dead: 1, LastSuccess: &arrived}, health(a)); diff != "" {
		t.Errorf("health of a (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(delivery.Health{Delivered: 1, Dead: 5, LastSuccess: &arrived}, health(b)); diff != "" {
		t.Errorf("health of b (-want +got):\n%s", diff)
	}
	f.clock.Advance(25 * time.Hour)
	f.enqueue(t, "7", "8")
	raised := db.Timestamp(f.clock.Now().Add(-time.Minute))
	f.settle(t, func(int64, int) (delivery.State, delivery.Attempt) {
		return delivery.Pending, delivery.Attempt{Status: 500}
	})
	f.enqueue(t, "9")
	want := delivery.Health{Pending: 3, Retrying: 2, OldestPending: &raised, LastSuccess: &arrived}
	if diff := cmp.Diff(want, health(a)); diff != "" {
		t.Errorf("health of a a day later (-want +got):\n%s", diff)
	}
	if _, err := delivery.ReadHealth(t.Context(), f.DB, f.org.Org, "x"); !db.Is(err, db.NotFound) {
		t.Errorf("an unknown subscription: %v", err)
	}
}
