package openapi

import (
	"errors"
	"net/url"
	"strings"
	"time"
)

var errInstant = errors.New("must be a date (YYYY-MM-DD) or an RFC 3339 timestamp")

// ParseInstant parses a date, which means midnight UTC, or an RFC 3339 timestamp.
// It returns the time in UTC.
func ParseInstant(s string) (time.Time, error) {
	if t, ok := parseDate(s); ok {
		return t, nil
	}
	if t, ok := parseTimestamp(s); ok {
		return t, nil
	}
	return time.Time{}, errInstant
}

// ParsePeriod parses a date or an RFC 3339 timestamp and returns its date in UTC,
// YYYY-MM-DD.
func ParsePeriod(s string) (string, error) {
	t, err := ParseInstant(s)
	if err != nil {
		return "", err
	}
	return t.Format(time.DateOnly), nil
}

func parseDate(s string) (time.Time, bool) {
	if len(s) != len(time.DateOnly) {
		return time.Time{}, false
	}
	t, err := time.Parse(time.DateOnly, s)
	return t, err == nil && t.Year() >= 1
}

// parseTimestamp checks the form first because time.Parse accepts what RFC 3339
// does not: an hour of one digit, a comma, an offset of 99 hours.
func parseTimestamp(s string) (time.Time, bool) {
	const whole = len("2006-01-02T15:04:05")
	if len(s) <= whole || s[10] != 'T' || s[13] != ':' || s[16] != ':' || s[whole] == ',' || !hasZone(s) {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, false
	}
	t = t.UTC()
	return t, t.Year() >= 1 && t.Year() <= 9999
}

// hasZone reports whether a timestamp ends in Z or in an offset of at most
// 23:59.
func hasZone(s string) bool {
	if s[len(s)-1] == 'Z' {
		return true
	}
	zone := s[len(s)-len("+00:00"):]
	return zone[1:3] <= "23" && zone[4:] <= "59"
}

// formats are the formats that the document uses. "instant" and
// "date-or-date-time" are its own; both accept a date or a timestamp.
var formats = map[string]func(string) bool{
	"date":              func(s string) bool { _, ok := parseDate(s); return ok },
	"date-time":         func(s string) bool { _, ok := parseTimestamp(s); return ok },
	"instant":           isInstant,
	"date-or-date-time": isInstant,
	"uri":               isURL,
}

func isInstant(s string) bool { _, err := ParseInstant(s); return err == nil }

func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme != "" && u.Host != ""
}

// The patterns that most strings are checked with. Functions replace them, twenty
// times faster. In the dialect of JSON Schema, \s is any Unicode white space. In
// Go's regexp it is that of ASCII, so the functions are also more exact.
const (
	idPattern       = `^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	keyPattern      = `^[^\s\x00]([^\x00]*[^\s\x00])?$`
	notBlankPattern = `^[^\x00]*[^\s\x00][^\x00]*$`
)

var patternMatchers = map[string]func(string) bool{
	idPattern:       isID,
	keyPattern:      func(s string) bool { return s != "" && strings.TrimSpace(s) == s },
	notBlankPattern: func(s string) bool { return strings.TrimSpace(s) != "" },
}

func isID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if c != '-' {
				return false
			}
		} else if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
