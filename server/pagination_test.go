package server_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"govsvc/db"
)

// TestPagination_WhileRowsAreAdded reads all pages of every list several times while
// another process adds rows. No row is repeated, none of the original rows is omitted,
// and the order is newest first.
func TestPagination_WhileRowsAreAdded(t *testing.T) {
	t.Parallel()
	for i, l := range lists {
		t.Run(l.object, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			key := s.key(t, "read:all")
			w := &pagination{list: l, service: s, random: rand.New(rand.NewPCG(1, uint64(i))), writer: openStore(t, s.store.File.Path(), s.clock)}
			if l.object == "milestone" {
				load(t, s.store, db.DefaultOrganisation, []db.Record{sample("roadmap", "R", 1, start)})
			}
			for range 4 {
				load(t, s.store, db.DefaultOrganisation, w.more(w.random.IntN(30)))
				w.check(t, key, w.random.IntN(4) == 0)
			}
		})
	}
}

// pagination is a list that grows while it is read.
type pagination struct {
	list
	*service
	random *rand.Rand
	writer *db.DB // another handle on the file
	made   int
}

// more creates n records. Some are far in the past, some are newest, and many have the
// same instant.
func (w *pagination) more(n int) []db.Record {
	var records []db.Record
	for range n {
		at := start.Add(time.Duration(w.made) * time.Second)
		switch w.random.IntN(4) {
		case 0:
			at = start.AddDate(-w.random.IntN(30), 0, 0).Add(time.Duration(w.made) * time.Millisecond)
		case 1, 2:
			at = start.Add(time.Duration(w.random.IntN(4)) * time.Hour)
		}
		if w.object == "assessment" {
			at = at.Add(time.Duration(w.made) * time.Millisecond) // the instant is the natural key
		}
		records = append(records, sample(w.object, "W", w.made, at))
		w.made++
	}
	return records
}

// check reads the list once while rows are added, with or without a filter.
func (w *pagination) check(t *testing.T, key string, filtered bool) {
	t.Helper()
	before := w.everything(t, key)
	query := ""
	if filtered && w.filter["status"] != nil {
		query = "&status=" + fmt.Sprint(sample(w.object, "W", 0, start)["status"])
	}
	stop, done := make(chan struct{}), sync.WaitGroup{}
	added := w.more(100)
	done.Go(func() { w.add(t, added, stop) })
	var seen []string
	last, cursor := "~", ""
	for limit := 1 + w.random.IntN(10); ; limit = 1 + w.random.IntN(10) {
		p := w.get(t, fmt.Sprintf("%s?limit=%d%s%s", w.path, limit, query, cursor), key).page(t)
		for _, record := range p.Data {
			at := fmt.Sprint(record[w.newest], record["id"])
			if w.object == "signal" { // ordered by type
				at = fmt.Sprint(record["signal_type"])
				if last != "~" && at <= last {
					t.Errorf("%s comes after %s", at, last)
				}
			} else if at >= last {
				t.Errorf("%s comes after %s", at, last)
			}
			last = at
			seen = append(seen, fmt.Sprint(record["id"]))
		}
		if p.HasMore != (p.next() != "") || p.HasMore && len(p.Data) != limit {
			t.Fatalf("%d rows of %d, more %v, next %q", len(p.Data), limit, p.HasMore, p.next())
		}
		if !p.HasMore {
			break
		}
		cursor = "&cursor=" + p.next()
	}
	close(stop)
	done.Wait()
	slices.Sort(seen)
	if unique := slices.Compact(slices.Clone(seen)); len(unique) != len(seen) {
		t.Errorf("%d rows came more than once", len(seen)-len(unique))
	}
	for _, id := range before {
		if _, found := slices.BinarySearch(seen, id); !found {
			t.Errorf("%s was there at the start and is left out of %d rows", id, len(seen))
		}
	}
}

// everything returns the ids of all current rows.
func (w *pagination) everything(t *testing.T, key string) []string {
	t.Helper()
	var ids []string
	for cursor := ""; ; {
		p := w.get(t, w.path+"?limit=100"+cursor, key).page(t)
		ids = append(ids, p.values("id")...)
		if !p.HasMore {
			return ids
		}
		cursor = "&cursor=" + p.next()
	}
}

// add writes records one by one until it is stopped.
func (w *pagination) add(t *testing.T, records []db.Record, stop chan struct{}) {
	org, err := w.writer.Orgs.ByName(t.Context(), db.DefaultOrganisation)
	if err != nil {
		t.Error(err)
		return
	}
	for _, record := range records {
		select {
		case <-stop:
			return
		default:
		}
		err := audited(context.WithoutCancel(t.Context()), w.writer, db.Actor{Org: org.Org, ID: "system"}, func(tx *db.Tx) error {
			_, err := tx.Put(w.object, record)
			return err
		})
		if err != nil {
			t.Error(err)
			return
		}
	}
}

// TestPagination_Ties reads pages of rows that all have the same instant.
func TestPagination_Ties(t *testing.T) {
	t.Parallel()
	s := serve(t)
	var records []db.Record
	for i := range 55 {
		records = append(records, sample("risk", "T", i, start))
	}
	load(t, s.store, db.DefaultOrganisation, records)
	key := s.key(t, "read:risks")
	for _, limit := range []int{1, 2, 54, 55, 56, 100} {
		var seen []string
		pages, cursor := 0, ""
		for more := true; more; pages++ {
			p := s.get(t, fmt.Sprintf("/risks?limit=%d%s", limit, cursor), key).page(t)
			seen = append(seen, p.values("risk_id")...)
			cursor, more = "&cursor="+p.next(), p.HasMore
		}
		slices.Sort(seen)
		if want := (55 + limit - 1) / limit; pages != want || len(seen) != 55 || len(slices.Compact(seen)) != 55 {
			t.Errorf("limit %d: %d pages, want %d; rows %s", limit, pages, want, strings.Join(seen, ", "))
		}
	}
}
