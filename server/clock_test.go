package server_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"govsvc/db"
)

// steps are how a clock may be set while the service runs, in turn. They come
// back to where they began.
var steps = []time.Duration{
	time.Hour, -time.Hour, -time.Second, 10 * 365 * 24 * time.Hour, -11 * 365 * 24 * time.Hour, 365*24*time.Hour + time.Second,
}

// TestClock_SetForwardAndBack sets the clock forward and back while the service runs.
// Writes, replays, lists, the audit log and limits continue to work. A limit that is
// used up is free again after a minute of any clock.
func TestClock_SetForwardAndBack(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	s, key := d.service, d.key
	_, few := s.mint(t, db.DefaultOrganisation, db.KeyDraft{Scopes: []string{"read:risks"}, PerMinute: new(3)})
	written := map[string]bool{}
	var pulled []string
	cursor := ""
	for i, step := range steps {
		s.clock.Advance(step)
		about := fmt.Sprintf("step %d of %v", i, step)
		w := write{name: about, path: "/risks", idempotencyKey: about, status: 201, body: `{"title":"A risk","description":"A risk of a clock that is set.","severity":"LOW","likelihood":"RARE"}`}
		made, _ := d.do(t, w)["id"].(string)
		w.replayed = true
		again, _ := d.do(t, w)["id"].(string)
		if made != again {
			t.Errorf("%s: replayed as %s, was %s", about, again, made)
		}
		written[made] = true
		listed := idsOf(t, s.get(t, "/risks?limit=100", key).body)
		for id := range written {
			if listed[id] != 1 {
				t.Errorf("%s: %s is listed %d times", about, id, listed[id])
			}
		}
		path := "/audit?limit=1000"
		if cursor != "" {
			path += "&cursor=" + cursor
		}
		var page struct {
			Data []struct {
				Action     string
				ResourceID string `json:"resource_id"`
			}
			NextCursor string `json:"next_cursor"`
		}
		if err := json.Unmarshal(s.get(t, path, key).body, &page); err != nil {
			t.Fatal(err)
		}
		cursor = page.NextCursor
		for _, event := range page.Data {
			if event.Action == "api.write.risk" {
				pulled = append(pulled, event.ResourceID)
			}
		}
		if len(pulled) != i+1 || pulled[i] != made {
			t.Errorf("%s: a collector has %q, want %s as the last of %d", about, pulled, made, i+1)
		}
		refused := false
		for range 4 {
			refused = refused || s.send(t, row{path: "/risks", key: few}).status == 429
		}
		if !refused {
			t.Errorf("%s: a key of 3 a minute has more", about)
		}
		s.clock.Advance(time.Minute)
		s.get(t, "/risks", few)
	}
	if intact, broken, err := s.store.Audit.Verify(t.Context(), organisation(t, s.store, db.DefaultOrganisation).Org); err != nil || broken != nil || intact < len(steps) {
		t.Errorf("the audit log: %d intact, broken %v, %v", intact, broken, err)
	}
}

func idsOf(t *testing.T, list []byte) map[string]int {
	t.Helper()
	var page struct{ Data []struct{ ID string } }
	if err := json.Unmarshal(list, &page); err != nil {
		t.Fatal(err)
	}
	ids := map[string]int{}
	for _, one := range page.Data {
		ids[one.ID]++
	}
	return ids
}
