package webhook

import (
	"time"

	"govsvc/db"
)

// DefaultSchedule are the waits between the ten attempts (contract, "Events").
var DefaultSchedule = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// jitter is by how much of itself a wait is lengthened at most, so that what
// failed together is not repeated together.
const jitter = 0.2

// after decides what becomes of a delivery after an attempt; failed counts the
// attempts before it, chance lies in [0, 1).
func after(schedule []time.Duration, failed int, a *db.Attempt, chance float64, now time.Time) db.Settlement {
	s := db.Settlement{Attempt: a, Counts: true}
	switch {
	case a.Delivered():
		s.State = db.Delivered
	case a.Blocked || failed >= len(schedule):
		s.State = db.Dead
	default:
		step := schedule[failed]
		wait := step + time.Duration(chance*jitter*float64(step))
		s.State, s.DueAt = db.Pending, now.Add(max(wait, min(a.RetryAfter, 2*step)))
	}
	return s
}
