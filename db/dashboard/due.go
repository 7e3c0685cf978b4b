package dashboard

import (
	"time"

	"govsvc/db"
)

// Due limits a list to open records by when they need attention, as Resource.Attention
// says. The zero value limits nothing.
type Due struct {
	Overdue bool          // the day or the instant has passed
	Within  time.Duration // it is in that time from now, in whole days
	None    bool          // there is none
}

// due adds the condition of a deadline.
func (b *browsing) due(d Due) error {
	if d == (Due{}) {
		return nil
	}
	if b.Attention == nil {
		return noFilter("due")
	}
	b.add(b.Attention.OpenSQL())
	due, now := "("+b.Attention.DueSQL()+")", b.store.Now()
	// A day sorts before its instants. It has passed when the next one begins.
	today := now.UTC().Format(time.DateOnly)
	passed := "(" + due + " < ? OR length(" + due + ") > 10 AND " + due + " < ?)"
	switch {
	case d.None:
		b.add(due + " IS NULL")
	case d.Overdue:
		b.add(passed, today, db.Timestamp(now))
	default:
		b.add("NOT "+passed+" AND "+due+" < ?", today, db.Timestamp(now), now.UTC().Add(d.Within).Format(time.DateOnly)+"~")
	}
	return nil
}
