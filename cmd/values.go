package cmd

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"govsvc/db"
)

// The values below are flags whose text is checked when it is read, be it from
// the command line or from the environment. Set returns what is wrong with the
// text; Type is the name of the value in the help.

// choice is one of a few names.
type choice[T ~string] struct {
	value   *T
	allowed []T
	name    string
}

func (v choice[T]) Type() string   { return v.name }
func (v choice[T]) String() string { return string(*v.value) }

func (v choice[T]) Set(text string) error {
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

// list is a repeatable flag; commas separate values, too.
type list struct {
	values *[]string
	check  func(string) error // nil: every value will do
	name   string
}

func (v list) Type() string   { return v.name }
func (v list) String() string { return strings.Join(*v.values, ",") }

func (v list) Set(text string) error {
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

// count is a whole number that is not below a least one. Without the flag it
// stays nil.
type count struct {
	value **int
	least int
}

func (v count) Type() string { return "N" }

func (v count) String() string {
	if *v.value == nil {
		return ""
	}
	return strconv.Itoa(**v.value)
}

func (v count) Set(text string) error {
	// the least size that int has on any platform
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || int(n) < v.least {
		return fmt.Errorf("%q is not a whole number from %d to 2147483647", text, v.least)
	}
	number := int(n)
	*v.value = &number
	return nil
}

// future is an instant to come: a date, which is its midnight in UTC, or a
// timestamp of RFC 3339.
type future struct{ value **time.Time }

func (v future) Type() string { return "DATE" }

func (v future) String() string {
	if *v.value == nil {
		return ""
	}
	return (*v.value).Format(time.RFC3339)
}

func (v future) Set(text string) error {
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

// span is a length of time, not below zero.
type span struct{ value *time.Duration }

func (v span) Type() string { return "DURATION" }

func (v span) String() string {
	text := v.value.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

func (v span) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("%q is not a length of time like 24h, 90m or 0s", text)
	}
	*v.value = d
	return nil
}

// title is the name of a key, as a person gives it.
type title struct{ value *string }

func (v title) Type() string   { return "NAME" }
func (v title) String() string { return *v.value }

func (v title) Set(text string) error {
	text = strings.TrimSpace(text)
	if n := utf8.RuneCountInString(text); n == 0 || n > db.KeyNameLimit || !utf8.ValidString(text) {
		return fmt.Errorf("a name has 1 to %d characters", db.KeyNameLimit)
	}
	*v.value = text
	return nil
}

// interval is how often something is done: not more often than each second.
type interval struct{ value *time.Duration }

func (v interval) Type() string   { return "DURATION" }
func (v interval) String() string { return span(v).String() }

func (v interval) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second {
		return fmt.Errorf("%q is not a length of time like 24h or 30m, of at least a second", text)
	}
	*v.value = d
	return nil
}

// digest is a SHA-256 in hexadecimal.
type digest struct{ value *string }

func (v digest) Type() string { return "HASH" }

func (v digest) String() string { return *v.value }

func (v digest) Set(text string) error {
	text = strings.ToLower(strings.TrimSpace(text))
	if raw, err := hex.DecodeString(text); err != nil || len(raw) != 32 {
		return fmt.Errorf("%q is not a SHA-256: 64 hexadecimal digits", text)
	}
	*v.value = text
	return nil
}
