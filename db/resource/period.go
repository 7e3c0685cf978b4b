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
	periods := 2
	if asOf == "" {
		asOf, periods = createdAt, 1
	}
	at, err := time.Parse(time.RFC3339, asOf)
	if err != nil {
		return ""
	}
	start := PeriodStart(frequency, at)
	switch frequency {
	case "weekly":
		start = start.AddDate(0, 0, 7*periods)
	case "monthly":
		start = start.AddDate(0, periods, 0)
	case "quarterly":
		start = start.AddDate(0, 3*periods, 0)
	case "annual":
		start = start.AddDate(periods, 0, 0)
	default:
		return ""
	}
	return start.AddDate(0, 0, checkinDays-1).Format(time.DateOnly)
}

// checkinDueSQL is CheckinDue in SQL, of the columns of a key result.
const checkinDueSQL = `CASE measurement_frequency
	WHEN 'weekly' THEN date(coalesce(current_as_of, created_at), '-6 days', 'weekday 1', iif(current_as_of IS NULL, '+7 days', '+14 days'), '+6 days')
	WHEN 'monthly' THEN date(coalesce(current_as_of, created_at), 'start of month', iif(current_as_of IS NULL, '+1 months', '+2 months'), '+6 days')
	WHEN 'quarterly' THEN date(coalesce(current_as_of, created_at), 'start of month',
		'-' || ((strftime('%m', coalesce(current_as_of, created_at)) - 1) % 3) || ' months', iif(current_as_of IS NULL, '+3 months', '+6 months'), '+6 days')
	WHEN 'annual' THEN date(coalesce(current_as_of, created_at), 'start of year', iif(current_as_of IS NULL, '+1 years', '+2 years'), '+6 days') END`
