package db

import "time"

// timestamp is the one form of an instant in the file and the API: RFC 3339 in
// UTC with milliseconds. Its texts sort as the instants do.
const timestamp = "2006-01-02T15:04:05.000Z"

// Timestamp formats an instant as it is stored and shown.
func Timestamp(t time.Time) string { return t.UTC().Format(timestamp) }

// ParseTimestamp reads what Timestamp wrote.
func ParseTimestamp(s string) (time.Time, error) { return time.Parse(timestamp, s) }
