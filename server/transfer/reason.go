package transfer

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of the reason for an import in characters. It is stored with each
// change, so it is shorter than that of one record may be.
const (
	ReasonLeast = 20
	ReasonMost  = 1000
)

// CheckedReason is the reason for an import as it is recorded, or what is wrong
// with it.
func CheckedReason(text string) (reason, wrong string) {
	reason = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	length := utf8.RuneCountInString(reason)
	control := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
	switch {
	case !utf8.ValidString(reason) || strings.ContainsFunc(reason, control):
		return "", "must be text without control characters"
	case length < ReasonLeast || length > ReasonMost:
		return "", fmt.Sprintf("must have %d to %s characters", ReasonLeast, "1,000")
	}
	return reason, ""
}
