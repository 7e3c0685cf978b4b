package limit

import (
	"cmp"
	"slices"
	"time"
)

const (
	window    = 24 * time.Hour
	slotWidth = time.Minute
)

// slot counts the requests of one minute. Fewer than 2,147,483,647 fit a
// whole day, so none of its counts overflows.
type slot struct {
	index    int32 // of the shard's time, in slot widths
	requests int32
	unsaved  int32 // of requests, those that no save has taken yet
}

// day counts the requests of the rolling 24 hours. A slot counts in full until
// its last instant is 24 hours past: never are more than PerDay allowed in any
// 24 hours, and a wait is at most 24 hours and one minute (contract, section 2).
type day struct {
	slots []slot // oldest first, only those with requests
	total int    // requests in slots
	dirty bool   // a slot has unsaved requests
}

func slotAt(at time.Duration) int32 {
	return int32(at / slotWidth) //nolint:gosec // all a Duration holds, 292 years, fits
}

func (s slot) start() time.Duration { return time.Duration(s.index) * slotWidth }

func (s slot) end() time.Duration { return s.start() + slotWidth + window }

func (d *day) expire(at time.Duration) {
	n := 0
	for n < len(d.slots) && d.slots[n].end() <= at {
		d.total -= int(d.slots[n].requests)
		n++
	}
	if n > 0 {
		d.slots = slices.Delete(d.slots, 0, n)
	}
}

// emptyAt tells whether d, left alone, is empty at that time.
func (d *day) emptyAt(at time.Duration) bool {
	return len(d.slots) == 0 || d.slots[len(d.slots)-1].end() <= at
}

// take counts one request. The shard's time only grows, so the slot is the last.
func (d *day) take(at time.Duration) {
	index := slotAt(at)
	if n := len(d.slots); n == 0 || d.slots[n-1].index != index {
		d.slots = append(d.slots, slot{index: index})
	}
	last := &d.slots[len(d.slots)-1]
	last.requests++
	last.unsaved++
	d.total++
	d.dirty = true
}

// load counts saved requests of a slot.
func (d *day) load(index int32, requests int) {
	requests = min(requests, unlimited-1-d.total)
	i, found := slices.BinarySearchFunc(d.slots, index, func(s slot, index int32) int {
		return cmp.Compare(s.index, index)
	})
	if !found {
		d.slots = slices.Insert(d.slots, i, slot{index: index})
	}
	d.slots[i].requests += int32(requests) //nolint:gosec // bounded above
	d.total += requests
}

// left counts the requests that perDay still allows.
func (d *day) left(perDay int) int {
	if perDay == unlimited {
		return unlimited
	}
	return max(0, perDay-d.total)
}

// wait is the time until perDay allows a request: until so many of the oldest
// slots have ended that the rest are fewer than perDay.
func (d *day) wait(at time.Duration, perDay int) time.Duration {
	surplus := d.total - perDay
	for i := 0; surplus >= 0 && i < len(d.slots); i++ {
		surplus -= int(d.slots[i].requests)
		if surplus < 0 {
			return d.slots[i].end() - at
		}
	}
	return 0
}
