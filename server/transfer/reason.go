package transfer

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of the reason for an import in characters. It is stored with each change,
// so the maximum is less than that of a single record.
const (
	MinReason = 20
	MaxReason = 1000
)

// CheckReason returns the reason for an import as it is recorded, or what is wrong
// with it.
func CheckReason(text string) (reason, wrong string) {
	reason = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	length := utf8.RuneCountInString(reason)
	control := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
	switch {
	case !utf8.ValidString(reason) || strings.ContainsFunc(reason, control):
		return "", "must be text without control characters"
	case length < MinReason || length > MaxReason:
		return "", fmt.Sprintf("must have %d to %s characters", MinReason, "1,000")
	}
	return reason, ""
}
