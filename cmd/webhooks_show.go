package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// printLine writes a value as one line of JSON, for commands that go on.
func (a *app) printLine(value any) error {
	encoder := json.NewEncoder(a.stdout)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// showArrival prints a webhook that came. A fault in writing is told at the
// end; see checked.
func (a *app) showArrival(one arrival) {
	switch {
	case a.json:
		_ = a.printLine(one)
	case one.ForwardedTo != nil:
		_, _ = fmt.Fprintln(a.stdout, oneLine(forwardedLine(one)))
	default:
		_, _ = fmt.Fprint(a.stdout, pretty(one))
	}
}

// forwardedLine tells in one line where a webhook went and what came back.
func forwardedLine(one arrival) string {
	line := fmt.Sprintf("%s %s %s event %s delivery %s", one.ReceivedAt, one.Type, verdictOf(one), one.EventID, one.DeliveryID)
	if one.Seen > 1 {
		line += fmt.Sprintf(" (seen %d times)", one.Seen)
	}
	if one.Problem != nil {
		return fmt.Sprintf("%s: %s %s; answered %d", line, *one.ForwardedTo, *one.Problem, one.Status)
	}
	return fmt.Sprintf("%s: %s answered %d in %s", line, *one.ForwardedTo, one.Status, one.took.Round(time.Millisecond))
}

// pretty shows a webhook for a person.
func pretty(one arrival) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s %s\n", one.ReceivedAt, oneLine(one.Type), verdictOf(one))
	seen := ""
	if one.Seen > 1 {
		seen = fmt.Sprintf(" (seen %d times)", one.Seen)
	}
	fmt.Fprintf(&text, "  event     %s%s\n  delivery  %s\n  answered  %d\n", oneLine(one.EventID), seen, oneLine(one.DeliveryID), one.Status)
	var body bytes.Buffer
	_ = json.Indent(&body, one.Body, "", "  ") // it is JSON; see arrived
	for line := range strings.Lines(body.String()) {
		inner := strings.TrimLeft(line, " ")
		text.WriteString("  " + line[:len(line)-len(inner)] + oneLine(inner) + "\n")
	}
	return text.String()
}

// verdictOf is how the signature turned out, in words.
func verdictOf(one arrival) string {
	if one.Signature == badSignature {
		return "BAD SIGNATURE: " + *one.Problem
	}
	return one.Signature
}
