package cmd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/db/check"
)

// auditVerify are the flags of audit verify.
type auditVerify struct {
	printHead        bool
	head, file, from string
}

func newAuditVerifyCommand(a *app) *cobra.Command {
	var v auditVerify
	c := &cobra.Command{
		Use:   "verify",
		Short: "Check that no event was altered or removed",
		Long: `Check the hash of each event of an organisation's audit log, from the first
event on. The exit status is 0 if all events are intact and 1 if not. The error
names the first event that was altered, or whose predecessor was altered or
removed.

A program with write access to the data file could also remove the last events
or rewrite the log. A head that is kept elsewhere reveals that. --print-head
prints the number of events and the hash of the last one. --head checks later
that the log still leads to that hash.

--file checks a file of "audit export --format ndjson" without a data file. It
computes the hashes from the lines and looks for the --head, which must be the
hash of one of the events. If the file does not start at the log's first event,
--from is the hash of the event before its first one. The export printed it.

--json prints an object: org (or file), intact, events (how many are intact),
broken (null, or position, id and time of the first event that is not intact),
head (with --print-head) and after (with --head: how many events follow it,
which the head does not protect). It is also printed if the check fails.`,
		Example: `  govsvc audit verify
  govsvc audit verify --org acme --json

  # keep the head elsewhere, and check against it later
  govsvc audit verify --print-head --json | jq -r .head > head.txt
  govsvc audit verify --head $(cat head.txt)

  # check an exported file
  govsvc audit verify --file audit.ndjson --head $(cat head.txt)`,
		Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case v.file == "" && v.from != "":
				return usageErrorf("--from goes with --file: the log in the data file is checked from its first event%s", helpHint(c))
			case v.file == "":
				return a.withAuditLog(c.Context(), func(store *db.DB, org db.Organisation) error {
					return runAuditVerify(c.Context(), a, store, org, v)
				})
			case v.head == "" && !v.printHead:
				return usageErrorf("--file needs --head: the file alone can't show that it is complete%s", helpHint(c))
			}
			return runAuditVerifyFile(c.Context(), a, v)
		},
	}
	c.Flags().BoolVar(&v.printHead, "print-head", false, "also print the hash of the last event, for --head")
	c.Flags().Var(textValue{&v.head, "HASH", parseDigest}, "head", "the log must lead to this hash, which --print-head printed earlier")
	c.Flags().StringVar(&v.file, "file", "", "check this `FILE` of exported NDJSON, without a data file; - is standard input")
	c.Flags().Var(textValue{&v.from, "HASH", parseDigest}, "from", "with --file: the hash of the event before its first one; default: the start of the log")
	a.jsonFlag(c)
	return c
}

// auditResult is the result of a check of the audit log.
type auditResult struct {
	Org    string     `json:"org,omitempty"`
	File   string     `json:"file,omitempty"`
	Intact bool       `json:"intact"`
	Events int        `json:"events"` // that are intact
	Broken *db.Broken `json:"broken"`
	Head   *string    `json:"head,omitempty"`
	After  *int       `json:"after,omitempty"`
}

func runAuditVerify(ctx context.Context, a *app, store *db.DB, org db.Organisation, v auditVerify) error {
	found, err := store.Audit.Check(ctx, org.Org, v.head)
	if err != nil {
		return err
	}
	return printAuditResult(a, auditResult{Org: org.Name}, found, v, check.AuditLogError(org.Name, found, v.head))
}

// printAuditResult prints the result of a check. fault is the error if the log is
// not intact.
func printAuditResult(a *app, found auditResult, check db.AuditCheck, v auditVerify, fault error) error {
	found.Intact, found.Events, found.Broken = fault == nil, check.Events, check.Broken
	if v.printHead {
		found.Head = &check.Head
	}
	if v.head != "" && check.Known {
		found.After = &check.After
	}
	if fault != nil {
		if a.json {
			return errors.Join(a.printJSON(found), fault)
		}
		return fault
	}
	return a.print(found, func(w io.Writer) error {
		text := fmt.Sprintf("%s: the audit log is intact, %d events", oneLine(found.Org+found.File), found.Events)
		if found.After != nil && *found.After > 0 {
			text += fmt.Sprintf(", %d of them after the given head", *found.After)
		}
		if found.Head != nil {
			text += "\nhead " + *found.Head
		}
		_, err := fmt.Fprintln(w, text)
		return err
	})
}

// maxEventLine bounds the memory for a line of the file.
const maxEventLine = 64 << 20

// runAuditVerifyFile checks an exported file against a head.
func runAuditVerifyFile(ctx context.Context, a *app, v auditVerify) error {
	in := a.stdin
	if v.file != "-" {
		file, err := os.Open(v.file)
		if err != nil {
			return fmt.Errorf("--file: %w", err)
		}
		defer file.Close() //nolint:errcheck // it was read
		in = file
	}
	var chain audit.Chain
	if v.from != "" {
		var err error
		if chain, err = audit.ChainFrom(v.from); err != nil {
			return err
		}
	}
	check, err := checkChain(ctx, in, chain, v.head)
	if err != nil {
		return fmt.Errorf("%s: %w", v.file, err)
	}
	var fault error
	switch {
	case check.Broken != nil:
		fault = fmt.Errorf("%s: line %d is not an event as `govsvc audit export --format ndjson` writes them: it was altered or cut off, or this is a different file",
			v.file, check.Broken.Position)
	case v.head != "" && !check.Known:
		fault = fmt.Errorf("%s: its %d events do not lead to the head %s: one was altered, removed or cut off%s",
			v.file, check.Events, v.head, startHint(v.from))
	}
	return printAuditResult(a, auditResult{File: v.file}, check, v, fault)
}

func startHint(from string) string {
	if from == "" {
		return ", or the file does not start at the log's first event: export the whole log, or name the hash before its first event with --from"
	}
	return ", or the file does not start after the hash of --from"
}

// checkChain computes the hashes of a file's lines.
func checkChain(ctx context.Context, in io.Reader, chain audit.Chain, head string) (db.AuditCheck, error) {
	check := db.AuditCheck{Head: chain.Head()}
	check.See(head)
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), maxEventLine)
	lines.Split(exactLines)
	for lines.Scan() {
		if err := ctx.Err(); err != nil {
			return check, err
		}
		if !isAuditEvent(lines.Bytes()) {
			check.Broken = &db.Broken{Position: check.Events + 1}
			return check, nil
		}
		chain.Add(lines.Bytes())
		check.Events, check.Head = chain.Events(), chain.Head()
		check.See(head)
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return check, fmt.Errorf("line %d is longer than any event; this is not an exported audit log", check.Events+1)
	}
	return check, lines.Err()
}

// isAuditEvent reports whether a line is an audit event. After the head no hash
// protects the lines.
func isAuditEvent(line []byte) bool {
	var event struct {
		Object string `json:"object"`
	}
	return json.Unmarshal(line, &event) == nil && event.Object == "audit_event"
}

// exactLines splits at line feeds alone, because the hash covers carriage returns.
func exactLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}
