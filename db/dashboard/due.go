package dashboard

import (
	"slices"
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
	// A day has passed when the next one begins, an instant at once.
	due, now := b.Attention.DueSQL(), b.store.Now().UTC()
	from := now.Format(time.DateOnly)
	if slices.Contains(b.Instants, b.Attention.Due) {
		from = db.Timestamp(now)
	}
	switch {
	case d.None:
		b.add(due + " IS NULL")
	case d.Overdue:
		b.add(due+" < ?", from)
	default: // a day sorts before its instants
		b.add(due+" >= ? AND "+due+" < ?", from, now.Add(d.Within).Format(time.DateOnly)+"~")
	}
	return nil
}
