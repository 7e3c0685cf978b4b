package resource

import (
	"slices"
	"time"
)

// Attention says when an open record needs attention, and whose. The lists, the
// overview and reports follow the same rules.
type Attention struct {
	// Task is what is due, as an order to the owner.
	Task string
	// Due is the member that holds the day or the instant by which the task is due.
	// A record without a value needs no attention. "": a check-in is due, see
	// CheckinDue.
	Due string
	// Owner is the member that names who is responsible; "" if none does.
	Owner string
	// Band is the member with the severity or the priority; "" if there is none.
	Band string
	// Closed lists the statuses of records that need no more attention.
	Closed []string
	// Required is a Boolean member that must be true; "" for none.
	Required string
	// Done is a member that has a value once the task is done; "" for none.
	Done string
	// Days is how many days before it is due a task needs attention.
	Days int
	// First puts the tasks before all others that are as urgent: their time is
	// counted in hours.
	First bool
}

// monthAhead is how many days before it is due most tasks need attention.
const monthAhead = 30

// IsOpen reports whether a record still needs attention when its task is due. A
// resource without Attention has no open records.
func (r *Resource) IsOpen(record map[string]any) bool {
	a := r.Attention
	if a == nil {
		return false
	}
	status, _ := record["status"].(string)
	return !slices.Contains(a.Closed, status) && (a.Required == "" || record[a.Required] == true) && (a.Done == "" || record[a.Done] == nil)
}

// DueOf returns the day or the instant by which the task of an open record is due,
// and "" for other records.
func (r *Resource) DueOf(record map[string]any) string {
	if !r.IsOpen(record) {
		return ""
	}
	text := func(member string) string {
		value, _ := record[member].(string)
		return value
	}
	if r.Attention.Due != "" {
		return text(r.Attention.Due)
	}
	return CheckinDue(text("measurement_frequency"), text("current_as_of"), text("created_at"))
}

// IsOverdue reports whether a day or an instant has passed. A day has passed once the
// next one has begun, in UTC.
func IsOverdue(due string, now time.Time) bool {
	if len(due) == len(time.DateOnly) {
		return due < now.UTC().Format(time.DateOnly)
	}
	at, err := time.Parse(time.RFC3339, due)
	return err == nil && at.Before(now)
}

// OpenSQL returns the condition, in SQL, that IsOpen checks. Partial indexes have the
// same text, so that SQLite uses them.
func (a *Attention) OpenSQL() string {
	condition := ""
	if a.Required != "" {
		condition += a.Required + " = 1 AND "
	}
	if a.Done != "" {
		condition += a.Done + " IS NULL AND "
	}
	for i, status := range a.Closed {
		if i > 0 {
			condition += " AND "
		}
		condition += "status <> '" + status + "'"
	}
	return condition
}

// DueSQL returns the value of DueOf as an expression in SQL. It is null if a record
// has none.
func (a *Attention) DueSQL() string {
	if a.Due != "" {
		return a.Due
	}
	return checkinDueSQL
}
