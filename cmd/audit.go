package cmd

import (
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"govsvc/db"
	"govsvc/server/openapi"
)

func newAuditCommand(a *app) *cobra.Command {
	audit := &cobra.Command{
		Use:   "audit",
		Short: "Check the audit log, or write it out for a SIEM",
		Long: `Check the audit log, or write it out for a SIEM. Every change, export and key
event is kept there, each event chained to the one before it by its hash.`,
	}
	audit.AddCommand(newAuditExportCommand(a), newAuditVerifyCommand(a))
	a.orgFlag(audit.Commands()...)
	return audit
}

// digest is a SHA-256 in hexadecimal.
type digest struct{ value *string }

func (v digest) Type() string   { return "HASH" }
func (v digest) String() string { return *v.value }

func (v digest) Set(text string) error {
	text = strings.ToLower(strings.TrimSpace(text))
	if raw, err := hex.DecodeString(text); err != nil || len(raw) != 32 {
		return fmt.Errorf("%q is not a SHA-256: 64 hexadecimal digits", text)
	}
	*v.value = text
	return nil
}

// moment is an instant as the audit log stores it: a date, which is its
// midnight in UTC, or a timestamp of RFC 3339.
type moment struct{ value *string }

func (v moment) Type() string   { return "INSTANT" }
func (v moment) String() string { return *v.value }

func (v moment) Set(text string) error {
	at, err := openapi.ParseInstant(text)
	if err != nil {
		return fmt.Errorf("%q is not a date like 2026-09-12 (midnight UTC) or a time like 2026-09-12T08:30:00Z", text)
	}
	// stored instants are whole milliseconds: the next one is the first that
	// can be at or after this
	*v.value = db.Timestamp(at.Add(time.Millisecond - 1).Truncate(time.Millisecond))
	return nil
}
