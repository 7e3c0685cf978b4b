package server_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"govsvc/db"
)

// FuzzList requests the first pages of any list, with any filters and any
// updated_since. It compares them with the same records filtered and sorted in Go.
func FuzzList(f *testing.F) {
	f.Add(uint8(0), uint16(0), uint8(25), int64(0), uint8(0))
	f.Add(uint8(1), uint16(0x2121), uint8(3), int64(0), uint8(0))            // /risks?severity=…&status=…&limit=3
	f.Add(uint8(1), uint16(0x02), uint8(1), int64(90_000_000_001), uint8(1)) // and since an instant, with nanoseconds
	f.Add(uint8(2), uint16(0x01), uint8(100), int64(-1), uint8(2))           // /signals?type=…&updated_since=…
	f.Add(uint8(8), uint16(0x31), uint8(7), int64(86_400_000_000_000), uint8(3))
	for which := range lists { // since exactly the instant of a change
		f.Add(uint8(which), uint16(0), uint8(99), int64(which), uint8(5))
		f.Add(uint8(which), uint16(0), uint8(99), int64(60+which), uint8(5))
		f.Add(uint8(which), uint16(0x1111), uint8(4), int64(30+which), uint8(5))
	}
	s := serve(f)
	key := s.key(f, "read:all")
	rows := map[string][]db.Record{}
	random := rand.New(rand.NewPCG(1, 2))
	for _, l := range lists {
		rows[l.path] = similarRecords(l, random)
		for org, records := range map[string][]db.Record{db.DefaultOrganisation: rows[l.path], "other": similarRecords(l, random)} {
			organisation(f, s.store, org)
			if l.object == "milestone" {
				load(f, s.store, org, []db.Record{sample("roadmap", "R", 1, start)})
			}
			load(f, s.store, org, records) // records of another organisation are never returned
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, chosen uint16, limit uint8, since int64, form uint8) {
		l := lists[int(which)%len(lists)]
		size := int(limit)%100 + 1
		query := url.Values{"limit": {fmt.Sprint(size)}}
		for i, parameter := range sortedFilters(l) {
			// a value of some row, a value of no row, or no value
			pick := int(chosen>>(8*i)) & 0xff
			if values := l.filter[parameter]; pick%16 != 0 {
				query.Set(parameter, values[1+pick%(len(values)-1)])
				if pick%16 == 1 {
					query.Set(parameter, rows[l.path][pick%len(rows[l.path])][values[0]].(string))
				}
			}
		}
		instant := time.Time{}
		if form%4 != 0 {
			instant = start.Add(time.Duration(since % int64(60*24*time.Hour)))
			if form%8 >= 4 {
				instant = timeOf(rows[l.path][uint64(since)%uint64(len(rows[l.path]))], "updated_at")
			}
			query.Set("updated_since", written(&instant, form))
		}
		want := shown(l, rows[l.path], query, instant)
		for range 4 {
			s.clock.Advance(time.Minute) // so that no limit is reached
			got := s.get(t, l.path+"?"+query.Encode(), key).page(t)
			page := want[:min(size, len(want))]
			if diff := gocmp.Diff(page, got.values("id"), equateEmpty); diff != "" {
				t.Fatalf("%s?%s (-want +got):\n%s", l.path, query.Encode(), diff)
			}
			if want = want[len(page):]; got.HasMore != (len(want) > 0) || got.HasMore != (got.next() != "") {
				t.Fatalf("%s?%s: more %v, next %q, but %d are left", l.path, query.Encode(), got.HasMore, got.next(), len(want))
			}
			if len(want) == 0 {
				return
			}
			query.Set("cursor", got.next())
		}
	})
}

// similarRecords returns records of a list. They have every value of every filter, and
// many were created or changed at the same instant.
func similarRecords(l list, random *rand.Rand) []db.Record {
	var records []db.Record
	for n := range 120 {
		made := start.Add(time.Duration(random.IntN(10)) * time.Hour)
		if l.object == "assessment" { // the instant is the natural key
			made = start.Add(time.Duration(n) * time.Millisecond)
		}
		r := sample(l.object, "F", n, made)
		r["id"] = db.NewID()
		changed := made.Add(time.Duration(random.IntN(5)) * 24 * time.Hour).Add(time.Duration(random.IntN(3)) * time.Millisecond)
		r["updated_at"] = changed.Format(time.RFC3339Nano)
		for _, filter := range l.filter {
			if member := filter[0]; member != l.key {
				r[member] = filter[1+random.IntN(len(filter)-1)]
			}
		}
		records = append(records, r)
	}
	return records
}

func sortedFilters(l list) []string {
	var names []string
	for name := range l.filter {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// written returns an instant in one of the formats of updated_since, and the instant
// with the precision of that format.
func written(instant *time.Time, form uint8) string {
	switch form % 4 {
	case 1:
		return instant.Format(time.RFC3339Nano)
	case 2:
		*instant = instant.Truncate(24 * time.Hour)
		return instant.Format(time.DateOnly)
	}
	*instant = instant.Truncate(time.Second)
	return instant.In(time.FixedZone("", (int(form)-128)*7*60)).Format(time.RFC3339)
}

// shown returns the ids of the records that a query matches, in the order of the list:
// newest first, signals by type.
func shown(l list, records []db.Record, query url.Values, since time.Time) []string {
	rows := slices.DeleteFunc(slices.Clone(records), func(r db.Record) bool {
		for parameter, filter := range l.filter {
			if query.Has(parameter) && query.Get(parameter) != r[filter[0]] {
				return true
			}
		}
		return timeOf(r, "updated_at").Before(since)
	})
	slices.SortFunc(rows, func(a, b db.Record) int {
		if l.object == "signal" {
			return strings.Compare(a["signal_type"].(string), b["signal_type"].(string))
		}
		return cmp.Or(timeOf(b, l.newest).Compare(timeOf(a, l.newest)), strings.Compare(b["id"].(string), a["id"].(string)))
	})
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r["id"].(string)
	}
	return ids
}

func timeOf(r db.Record, member string) time.Time {
	instant, err := time.Parse(time.RFC3339Nano, r[member].(string))
	if err != nil {
		panic(err)
	}
	return instant
}
