package ui

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseTime parses a timestamp or a date of a record.
func ParseTime(value any) (at time.Time, dayOnly, ok bool) {
	if t, is := indirect(value).(time.Time); is {
		return t.UTC(), false, !t.IsZero()
	}
	s := Text(value)
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		return at.UTC(), false, true
	}
	at, err := time.Parse(time.DateOnly, s)
	return at, true, err == nil
}

// FormatTime formats an instant in UTC, to the minute, or a date. The script
// times.js converts instants to the reader's time zone.
func FormatTime(value any) string {
	at, dayOnly, ok := ParseTime(value)
	switch {
	case !ok:
		return Text(value)
	case dayOnly:
		return at.Format("2 Jan 2006")
	}
	return at.Format("2 Jan 2006, 15:04") + " UTC"
}

// MachineTime returns the datetime attribute of a time element.
func MachineTime(value any) string {
	at, dayOnly, ok := ParseTime(value)
	switch {
	case !ok:
		return ""
	case dayOnly:
		return at.Format(time.DateOnly)
	}
	return at.Format("2006-01-02T15:04:05.000Z")
}

// DateInput returns the value of a date input for a timestamp or a date, and "" for
// other texts.
func DateInput(value any) string {
	if at, _, ok := ParseTime(value); ok {
		return at.Format(time.DateOnly)
	}
	return ""
}

// FormatDay formats the day of an instant in UTC.
func FormatDay(at string) string {
	day, _, _ := strings.Cut(FormatTime(at), ",")
	return day
}

// FormatDuration formats a duration in one unit, rounded down: "3 hours".
func FormatDuration(d time.Duration) string {
	d = d.Abs()
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d < 2*time.Hour:
		return Plural(int(d.Minutes()), "minute", "minutes")
	case d < 4*24*time.Hour:
		return Plural(int(d.Hours()), "hour", "hours")
	}
	return Plural(int(d.Hours()/24), "day", "days")
}

// FormatDue says how long before or after now something is due: "overdue by 3 days",
// "due today". Days are compared in UTC.
func FormatDue(due any, now time.Time) string {
	at, dayOnly, ok := ParseTime(due)
	if !ok {
		return Text(due)
	}
	left := at.Sub(now)
	if !dayOnly && left < 0 {
		return "overdue by " + FormatDuration(left)
	}
	if !dayOnly {
		return "due in " + FormatDuration(left)
	}
	switch days := int(at.Sub(now.UTC().Truncate(24*time.Hour)).Hours() / 24); {
	case days < 0:
		return "overdue by " + Plural(-days, "day", "days")
	case days == 0:
		return "due today"
	case days == 1:
		return "due tomorrow"
	default:
		return "due in " + Plural(days, "day", "days")
	}
}

// FormatTimeLeft formats the time until a deadline, to the minute in the last
// three days. The script clocks.js must produce the same text.
func FormatTimeLeft(left time.Duration) string {
	text := countdown(left.Abs())
	if left < 0 {
		return text + " overdue"
	}
	return text + " left"
}

func countdown(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 72*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return Plural(int(d.Hours()/24), "day", "days")
}

// FormatMilliseconds formats a number of milliseconds.
func FormatMilliseconds(n int) string {
	switch {
	case n < 1:
		return "less than 1\u00a0ms"
	case n < 1000:
		return strconv.Itoa(n) + "\u00a0ms"
	}
	return strconv.FormatFloat(float64(n)/1000, 'f', 1, 64) + "\u00a0s"
}
