package cmd

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"govsvc/db/check"
)

// The values below are flags whose text is checked when it is read, from the
// command line, the environment or the configuration file. Set returns what is
// wrong with the text. Type is the name of the value in the help.

// textValue is a text. parse returns the text to store.
type textValue struct {
	value *string
	name  string
	parse func(string) (string, error)
}

func (v textValue) Type() string   { return v.name }
func (v textValue) String() string { return *v.value }

func (v textValue) Set(text string) error {
	parsed, err := v.parse(text)
	if err != nil {
		return err
	}
	*v.value = parsed
	return nil
}

// bounded parses a text with 1 to limit characters.
func bounded(what string, limit int) func(string) (string, error) {
	return func(text string) (string, error) {
		text = strings.TrimSpace(text)
		if n := utf8.RuneCountInString(text); n == 0 || n > limit || !utf8.ValidString(text) {
			return "", fmt.Errorf("%s has 1 to %d characters", what, limit)
		}
		return text, nil
	}
}

// choiceValue is one of several names.
type choiceValue[T ~string] struct {
	value   *T
	allowed []T
	name    string
}

func (v choiceValue[T]) Type() string   { return v.name }
func (v choiceValue[T]) String() string { return string(*v.value) }

func (v choiceValue[T]) Set(text string) error {
	if !slices.Contains(v.allowed, T(text)) {
		names := make([]string, len(v.allowed))
		for i, name := range v.allowed {
			names[i] = string(name)
		}
		return fmt.Errorf("%q is not %s", text, either(names))
	}
	*v.value = T(text)
	return nil
}

// listValue is a repeatable flag. Commas separate values too.
type listValue struct {
	values *[]string
	check  func(string) error // nil: every value is valid
	name   string
}

func (v listValue) Type() string   { return v.name }
func (v listValue) String() string { return strings.Join(*v.values, ",") }

func (v listValue) Set(text string) error {
	for value := range strings.SplitSeq(text, ",") {
		if value = strings.TrimSpace(value); value == "" {
			return fmt.Errorf("%q has an empty value", text)
		}
		if v.check != nil {
			if err := v.check(value); err != nil {
				return err
			}
		}
		if !slices.Contains(*v.values, value) {
			*v.values = append(*v.values, value)
		}
	}
	return nil
}

// countValue is a whole number that is not below a minimum. Without the flag it remains
// nil.
type countValue struct {
	value   **int
	minimum int
}

func (v countValue) Type() string { return "N" }

func (v countValue) String() string {
	if *v.value == nil {
		return ""
	}
	return strconv.Itoa(**v.value)
}

func (v countValue) Set(text string) error {
	// int has at least 32 bits on every platform
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || int(n) < v.minimum {
		return fmt.Errorf("%q is not a whole number from %d to 2147483647", text, v.minimum)
	}
	number := int(n)
	*v.value = &number
	return nil
}

// futureValue is an instant in the future: a date, which means midnight UTC, or an
// RFC 3339 timestamp.
type futureValue struct{ value **time.Time }

func (v futureValue) Type() string { return "DATE" }

func (v futureValue) String() string {
	if *v.value == nil {
		return ""
	}
	return (*v.value).Format(time.RFC3339)
}

func (v futureValue) Set(text string) error {
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		at, err = time.Parse(time.RFC3339, text)
	}
	if err != nil {
		return fmt.Errorf("%q is not a date like 2027-03-31 (midnight UTC) or a time like 2027-03-31T18:00:00Z", text)
	}
	if !at.After(time.Now()) {
		return fmt.Errorf("%s is not in the future", text)
	}
	*v.value = &at
	return nil
}

// durationValue is a length of time that is not below a minimum.
type durationValue struct {
	value   *time.Duration
	minimum time.Duration
}

func (v durationValue) Type() string   { return "DURATION" }
func (v durationValue) String() string { return check.FormatDuration(*v.value) }

func (v durationValue) Set(text string) error {
	d, err := time.ParseDuration(text)
	switch {
	case err == nil && d >= v.minimum:
		*v.value = d
		return nil
	case v.minimum > 0:
		return fmt.Errorf("%q is not a length of time like 24h or 30m, of at least %s", text, check.FormatDuration(v.minimum))
	}
	return fmt.Errorf("%q is not a length of time like 24h, 90m or 0s", text)
}

// parseDigest parses a SHA-256 in hexadecimal.
func parseDigest(text string) (string, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	if raw, err := hex.DecodeString(text); err != nil || len(raw) != 32 {
		return "", fmt.Errorf("%q is not a SHA-256: 64 hexadecimal digits", text)
	}
	return text, nil
}
