package resource

import "time"

// PeriodStart returns the first day of the period that an instant is in. Weeks
// start on Monday, quarters in January, April, July and October.
func PeriodStart(frequency string, at time.Time) time.Time {
	at = at.UTC()
	year, month, day := at.Date()
	switch frequency {
	case "weekly":
		day -= (int(at.Weekday()) + 6) % 7
	case "monthly":
		day = 1
	case "quarterly":
		month, day = month-(month-1)%3, 1
	case "annual":
		month, day = time.January, 1
	}
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// checkinDays is how many days there are to add a check-in once its period has ended.
const checkinDays = 7

// CheckinDue returns the day by which a key result needs its next check-in: the
// seventh day after the first period without a value. asOf is in the latest period
// with a value. If it is "", the first period is the one of createdAt. CheckinDue
// returns "" if it can't parse the instant or the frequency.
func CheckinDue(frequency, asOf, createdAt string) string {
	start, ok := duePeriod(frequency, asOf, createdAt)
	if !ok {
		return ""
	}
	return addPeriod(frequency, start).AddDate(0, 0, checkinDays-1).Format(time.DateOnly)
}

// EndedPeriod returns the first day of the first period without a value, if the period
// has ended; otherwise "". The arguments are those of CheckinDue.
func EndedPeriod(frequency, asOf, createdAt string, now time.Time) string {
	start, ok := duePeriod(frequency, asOf, createdAt)
	if !ok || addPeriod(frequency, start).After(now) {
		return ""
	}
	return start.Format(time.DateOnly)
}

// duePeriod returns the first day of the first period without a value.
func duePeriod(frequency, asOf, createdAt string) (start time.Time, ok bool) {
	first := asOf == ""
	if first {
		asOf = createdAt
	}
	at, err := time.Parse(time.RFC3339, asOf)
	start = PeriodStart(frequency, at)
	if next := addPeriod(frequency, start); err != nil || next.Equal(start) {
		return start, false
	} else if !first {
		start = next
	}
	return start, true
}

// addPeriod returns the first day of the next period. It returns the same day for an
// unknown frequency.
func addPeriod(frequency string, start time.Time) time.Time {
	switch frequency {
	case "weekly":
		return start.AddDate(0, 0, 7)
	case "monthly":
		return start.AddDate(0, 1, 0)
	case "quarterly":
		return start.AddDate(0, 3, 0)
	case "annual":
		return start.AddDate(1, 0, 0)
	}
	return start
}

// checkinDueSQL is CheckinDue in SQL, of the columns of a key result.
const checkinDueSQL = `CASE measurement_frequency
	WHEN 'weekly' THEN date(coalesce(current_as_of, created_at), '-6 days', 'weekday 1', iif(current_as_of IS NULL, '+7 days', '+14 days'), '+6 days')
	WHEN 'monthly' THEN date(coalesce(current_as_of, created_at), 'start of month', iif(current_as_of IS NULL, '+1 months', '+2 months'), '+6 days')
	WHEN 'quarterly' THEN date(coalesce(current_as_of, created_at), 'start of month',
		'-' || ((strftime('%m', coalesce(current_as_of, created_at)) - 1) % 3) || ' months', iif(current_as_of IS NULL, '+3 months', '+6 months'), '+6 days')
	WHEN 'annual' THEN date(coalesce(current_as_of, created_at), 'start of year', iif(current_as_of IS NULL, '+1 years', '+2 years'), '+6 days') END`
