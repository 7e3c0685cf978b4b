// Package api implements the operations of the API, without HTTP. HTTP, MCP and the
// dashboard call the same functions, after the same checks of scope and input. Each
// resource has one file; operations.go lists all operations.
package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"govsvc/db"
	"govsvc/server/openapi"
)

// Operation is what an operation of the document does.
type Operation func(ctx context.Context, c *Caller, in Input) (Result, error)

// Input is an operation's input, checked against the document.
type Input struct {
	ID    string // of the record in the path
	Query openapi.Values
	Body  map[string]any
	// Large waits until the process has room for a large response. It is called
	// before one is built; nil is room at all times.
	Large func(context.Context) error
	// PageBytes is where a page of a list ends early; 0 is db.PageBytes.
	PageBytes int
}

// SmallPage is the maximum size of the records of a page, in bytes, before Large has been
// called.
const SmallPage = 128 << 10

// sized calls read for a small page. If the page is larger, it reserves memory and calls
// read again for a large page.
func (in Input) sized(ctx context.Context, read func(db.PageSize) error) error {
	size := db.PageSize{Most: in.PageBytes}
	if in.Large == nil {
		return read(size)
	}
	size.Small = SmallPage
	err := read(size)
	if errors.Is(err, db.ErrLargePage) {
		if err = in.Large(ctx); err == nil {
			err = read(db.PageSize{Most: in.PageBytes})
		}
	}
	return err
}

// record returns the body as a record to be stored.
func (in Input) record() db.Record {
	record := db.Record{}
	maps.Copy(record, in.Body)
	return record
}

// Caller is who calls an operation, and on which data.
type Caller struct {
	Store        *db.DB          // the live file, or the sandbox's
	Organisation db.Organisation // in that store
	Holder       db.Org          // the organisation that the key belongs to, in the live file
	Entitlements db.Entitlements // of the plan that the caller pays for
	ActorID      string          // for the audit log: key:<id>
	Scopes       []string
	Uses         *ScopeUses // notes which of Scopes were needed; nil notes none
	Test         bool       // a test key, on the sandbox
	RequestID    string
	Address      string    // of the client, for the audit log
	Receivers    Receivers // of webhooks, in that environment
	// Dashboard says that a person calls through a page, not a key through the API.
	Dashboard bool
	// Document is what Save checks records against; only pages need it.
	Document *openapi.Document
	// Idempotency is the key of a write that may be repeated; nil if it has none.
	Idempotency *db.IdempotencyKey
}

// actor returns the caller as the audit log knows it.
func (c *Caller) actor() db.Actor {
	return db.Actor{Org: c.Organisation.Org, ID: c.ActorID, API: !c.Dashboard, RequestID: c.RequestID, Address: c.Address}
}

// readAll grants the read scopes of the resource families; never read:audit,
// never a write (specification, Authentication 6).
const readAll = "read:all"

// Permit refuses an operation whose feature the caller's plan lacks, or whose
// scope its key does not hold.
func (c *Caller) Permit(op *openapi.Operation) error {
	if err := c.permitFeature(op.Feature); err != nil {
		return err
	}
	if op.Scope == "" {
		return nil
	}
	held := slices.Index(c.Scopes, op.Scope)
	if held < 0 && strings.HasPrefix(op.Scope, "read:") && op.Scope != "read:audit" {
		held = slices.Index(c.Scopes, readAll)
	}
	if held < 0 {
		return &Error{Code: InsufficientScope, Message: "this key lacks the scope " + op.Scope}
	}
	c.Uses.note(held)
	return nil
}

// permitFeature refuses what the caller's plan lacks; "" is in every plan.
func (c *Caller) permitFeature(feature string) error {
	if feature == "" || slices.Contains(c.Entitlements.Features, feature) {
		return nil
	}
	return &Error{Code: TierRequired, Message: fmt.Sprintf("the organisation's plan (%s) does not include this operation (%s)",
		c.Organisation.Plan, feature)}
}

// ScopeUses are the scopes that a key's requests have needed, by their places
// in its list. It may be used by many goroutines.
type ScopeUses struct{ bits atomic.Uint64 }

// note costs a read, once a scope has been noted.
func (u *ScopeUses) note(place int) {
	if u == nil || place >= 64 {
		return
	}
	if bit := uint64(1) << place; u.bits.Load()&bit == 0 {
		u.bits.Or(bit)
	}
}

// Bits has a bit set for each place that was noted, the lowest for the first.
func (u *ScopeUses) Bits() uint64 { return u.bits.Load() }
