package ui

import "time"

// Countdown is the value of a cell of the kind Clock: a deadline and, while it is waited
// for, the time that is left at the time of the page. The script clocks.js keeps it
// current.
type Countdown struct {
	At      any
	State   string // the time that is left, or what was done; "" for neither
	Tone    string // of the state
	Running bool
	Now     time.Time
}

// String returns the deadline as it is stored, and "" without one.
func (c Countdown) String() string { return Text(c.At) }
