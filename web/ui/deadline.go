package ui

// Deadline is the value of a cell of the kind Due: a date or an instant, and whether it
// has passed while there is something left to do.
type Deadline struct {
	At      any
	Overdue bool
}

// String returns the date as it is stored, and "" without one.
func (d Deadline) String() string { return Text(d.At) }
