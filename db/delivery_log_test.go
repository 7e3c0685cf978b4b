package db_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/resource"
)

// post is a file with subscriptions, whose clock can be set.
type post struct {
	*db.DB
	org db.Organisation
	now time.Time
}

func openPost(t *testing.T) *post {
	t.Helper()
	p := &post{now: at}
	var err error
	p.DB, err = db.Open(t.Context(), db.Options{Path: newPath(t), Now: func() time.Time { return p.now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	p.org = defaultOrg(t, p.DB)
	return p
}

func (p *post) subscribe(t *testing.T, path string) string {
	t.Helper()
	id := ""
	err := p.Write(t.Context(), db.Actor{Org: p.org.Org, ID: "system"}, func(tx *db.Tx) error {
		resource, _, err := tx.CreateSubscription(db.Record{"url": "https://example.com/" + path})
		id = ids(t, [][]byte{resource})[0]
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// raise raises an event for each risk.
func (p *post) raise(t *testing.T, risks ...string) {
	t.Helper()
	for _, name := range risks {
		p.now = p.now.Add(time.Minute)
		if err := addRisk(t.Context(), p.DB, db.Actor{Org: p.org.Org, ID: "system"}, name); err != nil {
			t.Fatal(err)
		}
	}
}

// expand makes the deliveries of all events.
func (p *post) expand(t *testing.T) {
	t.Helper()
	for more := true; more; {
		result, err := p.Round(t.Context(), db.Round{Expand: true})
		if err != nil {
			t.Fatal(err)
		}
		more = result.Unexpanded
	}
}

// settle claims all that is due, and ends each claim as how says by the number
// of the event within its subscription, from 1.
func (p *post) settle(t *testing.T, how func(subscription int64, n int) (db.DeliveryState, db.Attempt)) {
	t.Helper()
	p.expand(t)
	due, _, err := p.DueSubscriptions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, subscription := range due {
		claimed, err := p.Deliver(t.Context(), nil, []db.Claim{{Subscription: subscription, Limit: 100}}, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		var settled []db.Settlement
		for i, d := range claimed {
			state, attempt := how(subscription, i+1)
			attempt.At, attempt.Duration = p.now, 42*time.Millisecond
			settled = append(settled, db.Settlement{DeliveryKey: d.DeliveryKey, Attempt: &attempt, State: state, Counts: true, DueAt: p.now.Add(time.Hour)})
		}
		if _, err := p.Deliver(t.Context(), settled, nil, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
}

// briefs is a line for each delivery of all pages.
func (p *post) briefs(t *testing.T, q db.DeliveryQuery) []string {
	t.Helper()
	var lines []string
	for q.Limit = 2; ; {
		page, err := p.Deliveries(t.Context(), p.org, q)
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

// TestDeliveryLog follows deliveries from the event on: what lists, details and
// health tell of them.
func TestDeliveryLog(t *testing.T) {
	t.Parallel()
	p := openPost(t)
	a, b := p.subscribe(t, "a"), p.subscribe(t, "b")
	p.raise(t, "1", "2", "3", "4", "5")
	// of a: the first three arrive, the fourth dies, the fifth waits; of b: all die
	p.settle(t, func(subscription int64, n int) (db.DeliveryState, db.Attempt) {
		switch {
		case subscription == 2:
			return db.Dead, db.Attempt{Error: "no route", Blocked: true}
		case n <= 3:
			return db.Delivered, db.Attempt{Status: 204}
		case n == 4:
			return db.Dead, db.Attempt{Status: 410, Answer: []byte("gone\x00")}
		}
		return db.Pending, db.Attempt{Error: "timeout"}
	})
	p.raise(t, "6")
	p.expand(t)
	ofA := []string{"6 a pending 0", "5 a pending 1 timeout", "4 a dead 1 410", "3 a delivered 1 204", "2 a delivered 1 204", "1 a delivered 1 204"}
	dead := []string{"5 b dead 1 no route", "4 b dead 1 no route", "4 a dead 1 410", "3 b dead 1 no route", "2 b dead 1 no route", "1 b dead 1 no route"}
	keep := func(lines []string, text string) []string {
		return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return !strings.Contains(line, text) })
	}
	for _, row := range []struct {
		q    db.DeliveryQuery
		want []string
	}{
		{db.DeliveryQuery{Subscription: a}, ofA},
		{db.DeliveryQuery{Subscription: a, State: db.Pending}, keep(ofA, "pending")},
		{db.DeliveryQuery{Subscription: a, State: db.Dead}, keep(ofA, "dead")},
		{db.DeliveryQuery{Subscription: a, State: db.Delivered}, keep(ofA, "delivered")},
		{db.DeliveryQuery{Subscription: b, State: db.Dead}, keep(dead, " b ")},
		{db.DeliveryQuery{}, dead},
		{db.DeliveryQuery{Subscription: "nobody's"}, nil},
	} {
		if diff := gocmp.Diff(row.want, p.briefs(t, row.q)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", row.q, diff)
		}
	}
	for _, state := range []db.DeliveryState{"lost", "' OR 1"} {
		if _, err := p.Deliveries(t.Context(), p.org, db.DeliveryQuery{Subscription: a, State: state, Limit: 1}); !db.Is(err, db.Invalid) {
			t.Errorf("state %q: %v", state, err)
		}
	}
	p.checkDetail(t, a)
	p.checkHealth(t, a, b)
}

func (p *post) checkDetail(t *testing.T, a string) {
	t.Helper()
	p.now = p.now.Add(2 * time.Hour)
	p.settle(t, func(int64, int) (db.DeliveryState, db.Attempt) {
		return db.Delivered, db.Attempt{Status: 200, Answer: []byte("ok")}
	})
	detail, err := p.Delivery(t.Context(), p.org.Org, a, 5)
	if err != nil {
		t.Fatal(err)
	}
	later := db.Timestamp(p.now)
	want := []db.DeliveryAttempt{
		{Number: 1, At: db.Timestamp(at.Add(5 * time.Minute)), DurationMS: 42, Error: new("timeout")},
		{Number: 2, At: later, DurationMS: 42, Status: new(200), Answer: new("ok")},
	}
	if diff := gocmp.Diff(want, detail.Log); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
	if body := string(detail.Body); !strings.HasPrefix(body, `{"id":"`+detail.EventID+`","object":"event","type":"risk.created"`) || detail.State != db.Delivered ||
		detail.Attempts != 2 || detail.SubscriptionID != a || detail.UpdatedAt != later {
		t.Errorf("%+v, %s", detail, body)
	}
	for _, row := range []struct {
		org    db.Org
		id     string
		number int64
	}{{p.org.Org, a, 99}, {p.org.Org, "x", 5}, {p.org.Org + 1, a, 5}} {
		if _, err := p.Delivery(t.Context(), row.org, row.id, row.number); !db.Is(err, db.NotFound) {
			t.Errorf("%+v: %v", row, err)
		}
	}
}

func (p *post) checkHealth(t *testing.T, a, b string) {
	t.Helper()
	health := func(subscription string) db.DeliveryHealth {
		h, err := p.DeliveryHealth(t.Context(), p.org.Org, subscription)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	arrived := db.Timestamp(p.now)
	if diff := gocmp.Diff(db.DeliveryHealth{Delivered: 5, Dead: 1, LastSuccess: &arrived}, health(a)); diff != "" {
		t.Errorf("health of a (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff(db.DeliveryHealth{Delivered: 1, Dead: 5, LastSuccess: &arrived}, health(b)); diff != "" {
		t.Errorf("health of b (-want +got):\n%s", diff)
	}
	p.now = p.now.Add(25 * time.Hour)
	p.raise(t, "7", "8")
	raised := db.Timestamp(p.now.Add(-time.Minute))
	p.settle(t, func(int64, int) (db.DeliveryState, db.Attempt) {
		return db.Pending, db.Attempt{Status: 500}
	})
	p.raise(t, "9")
	want := db.DeliveryHealth{Pending: 3, Retrying: 2, OldestPending: &raised, LastSuccess: &arrived}
	if diff := gocmp.Diff(want, health(a)); diff != "" {
		t.Errorf("health of a a day later (-want +got):\n%s", diff)
	}
	if _, err := p.DeliveryHealth(t.Context(), p.org.Org, "x"); !db.Is(err, db.NotFound) {
		t.Errorf("an unknown subscription: %v", err)
	}
}

// TestStatus counts what there is.
func TestStatus(t *testing.T) {
	t.Parallel()
	p := openPost(t)
	p.subscribe(t, "a")
	paused := p.subscribe(t, "b")
	p.raise(t, "1", "2", "3")
	p.settle(t, func(_ int64, n int) (db.DeliveryState, db.Attempt) {
		return []db.DeliveryState{db.Dead, db.Delivered, db.Pending}[n-1], db.Attempt{Status: 500}
	})
	err := p.Write(t.Context(), db.Actor{Org: p.org.Org, ID: "system"}, func(tx *db.Tx) error {
		_, err := tx.UpdateSubscription(paused, db.Record{"active": false})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.Path != p.Path() || s.Size == 0 || s.Size%s.PageSize != 0 || s.WALSize == 0 || s.Pages < 50 || s.FreePages < 0 {
		t.Errorf("the file: %+v", s)
	}
	due := db.Timestamp(p.now.Add(time.Hour))
	if s.Queued != 1 || s.OldestDue == nil || *s.OldestDue != due || s.DeadLetters != 2 || s.AuditEvents != 6 {
		t.Errorf("the queue: %+v, oldest %v", s, s.OldestDue)
	}
	if len(s.Counts) != len(resource.Types()) || s.Counts[1] != (db.RecordCount{Object: "risk", Count: 3}) || s.Counts[0].Count != 0 {
		t.Errorf("counts: %+v", s.Counts)
	}
}
