package ui

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// Float returns a number of any type, and false for other values.
func Float(value any) (float64, bool) {
	switch v := indirect(value).(type) {
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	case nil, string:
		return 0, false
	default:
		r := reflect.ValueOf(v)
		switch {
		case r.CanInt():
			return float64(r.Int()), true
		case r.CanUint():
			return float64(r.Uint()), true
		case r.CanFloat():
			return r.Float(), true
		}
		return 0, false
	}
}

// FormatNumber groups the digits of a number by thousands and keeps at most two
// decimals. It returns the text of other values unchanged.
func FormatNumber(value any) string {
	f, ok := Float(value)
	if !ok || math.IsInf(f, 0) || math.IsNaN(f) {
		return Text(value)
	}
	whole, decimals, _ := strings.Cut(strconv.FormatFloat(math.Abs(f), 'f', 2, 64), ".")
	var b strings.Builder
	if f < 0 {
		b.WriteString("−")
	}
	for i, digit := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	if decimals = strings.TrimRight(decimals, "0"); decimals != "" {
		b.WriteString("." + decimals)
	}
	return b.String()
}

// FormatSigned formats a difference with its sign: "+2", "−1".
func FormatSigned(n int) string {
	if n > 0 {
		return "+" + FormatNumber(n)
	}
	return FormatNumber(n)
}

// FormatPercent formats a number from 0 to 100: 71.3 becomes "71.3 %".
func FormatPercent(value any) string { return FormatUnit(value, "%") }

// FormatUnit formats a number with its unit or currency, except units without meaning
// to readers.
func FormatUnit(value any, name string) string {
	shown := FormatNumber(value)
	switch {
	case shown == "", name == "", name == "count", name == "ratio", name == "index":
		return shown
	}
	return shown + "\u00a0" + name
}

// FormatMegabytes formats a limit in bytes. A megabyte of a limit has 1,048,576
// bytes, as in the documentation.
func FormatMegabytes(limit int64) string { return fmt.Sprintf("%d\u00a0MB", limit>>20) }

// FormatBytes formats a number of bytes. A kilobyte has 1,000 bytes.
func FormatBytes(value any) string {
	f, _ := Float(value)
	names := []string{"B", "KB", "MB", "GB", "TB"}
	i := 0
	for f >= 1000 && i < len(names)-1 {
		f, i = f/1000, i+1
	}
	if i > 0 && f < 10 {
		return fmt.Sprintf("%.1f\u00a0%s", f, names[i])
	}
	return fmt.Sprintf("%.0f\u00a0%s", f, names[i])
}

// Plural formats a count with its noun: "1 risk", "2 risks".
func Plural(n any, one, many string) string {
	if f, _ := Float(n); f == 1 {
		return FormatNumber(n) + " " + one
	}
	return FormatNumber(n) + " " + many
}
