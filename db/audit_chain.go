package db

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// AuditChain recomputes the hashes of an audit log from the texts of its
// events, oldest first: each is the SHA-256 of the one before, 32 zero bytes at
// the start, followed by the event's text. The zero value stands at the start
// of a log.
type AuditChain struct {
	head   [sha256.Size]byte
	events int
}

// AuditChainFrom goes on behind the event that has this hash.
func AuditChainFrom(hash string) (AuditChain, error) {
	var c AuditChain
	raw, err := hex.DecodeString(hash)
	if err != nil || len(raw) != len(c.head) {
		return c, fmt.Errorf("%q is not the hash of an event: 64 hexadecimal digits", hash)
	}
	copy(c.head[:], raw)
	return c, nil
}

// Add takes the next event's exact text.
func (c *AuditChain) Add(event []byte) {
	sum := sha256.New()
	sum.Write(c.head[:])
	sum.Write(event)
	sum.Sum(c.head[:0])
	c.events++
}

// Head is the hash of the last event, in lower-case hexadecimal.
func (c *AuditChain) Head() string { return hex.EncodeToString(c.head[:]) }

// Events is how many were added.
func (c *AuditChain) Events() int { return c.events }

// Broken is the first event of a log that does not fit the one before it.
type Broken struct {
	Position int    `json:"position"` // 1 is the oldest event
	ID       string `json:"id"`       // "" where it is gone, or has none any more
	Time     string `json:"time"`
	Gone     bool   `json:"-"` // it and all that followed it were removed
}

// AuditCheck is what a walk along a log found.
type AuditCheck struct {
	Events int     // that are sound
	Head   string  // the hash of the last of them
	Broken *Broken // nil if all are sound
	// Known tells whether the head that was asked for is that of a sound event,
	// and After how many sound ones follow it.
	Known bool
	After int
}

// Verify walks an organisation's log from its start and returns how many
// events are sound and the first that was altered, or whose predecessor was
// altered or removed; nil if all is sound. Where the end of the log is gone,
// Broken says so.
func (a Audit) Verify(ctx context.Context, org Org) (int, *Broken, error) {
	check, err := a.Check(ctx, org, "")
	return check.Events, check.Broken, err
}

// Check is VerifyAudit that also gives the head of the log, and looks for
// one that was noted earlier: a log that was cut off no longer leads to it, nor
// does one that was written anew. "" looks for none.
func (a Audit) Check(ctx context.Context, org Org, head string) (AuditCheck, error) {
	var chain AuditChain
	check, last := AuditCheck{Head: chain.Head()}, int64(0)
	check.See(head)
	err := a.db.engine.Bulk.Each(ctx, func(row Scanner) error {
		var event, hash []byte
		var b Broken
		if check.Broken != nil {
			return nil
		}
		if err := row.Scan(&last, &event, &hash, &b.ID, &b.Time); err != nil {
			return err
		}
		if chain.Add(event); string(hash) != string(chain.head[:]) {
			b.Position = check.Events + 1
			check.Broken = &b
			return nil
		}
		check.Events, check.Head = chain.Events(), chain.Head()
		check.See(head)
		return nil
	}, "SELECT seq, event, hash, coalesce(event ->> 'id', ''), coalesce(time, '') FROM audit_events WHERE org_id = ? ORDER BY seq", org)
	if err == nil && check.Broken == nil {
		check.Broken, err = a.lostEnd(ctx, last, check.Events)
	}
	return check, storeError(err)
}

// See notes whether the head is where a walk has come to.
func (c *AuditCheck) See(head string) {
	switch {
	case c.Head == head:
		c.Known = true
	case c.Known:
		c.After++
	}
}

// HashBefore is the hash of the event before the first of a page, from
// which a chain of the page's events goes on.
func (a Audit) HashBefore(ctx context.Context, org Org, page AuditPage) (string, error) {
	var hash []byte
	err := a.db.Row(ctx, "SELECT hash FROM audit_events WHERE org_id = ? AND seq < ? ORDER BY seq DESC LIMIT 1", org, page.first).Scan(&hash)
	if none, err := Absent(err); none || err != nil {
		return new(AuditChain).Head(), storeError(err)
	}
	return hex.EncodeToString(hash), nil
}

// lostEnd looks for events removed from behind the last one of a log, which no
// hash can tell. The numbers of events are given out without a gap and never
// again; whose a lost one was is not known, so it counts against every log
// that ended before it.
func (a Audit) lostEnd(ctx context.Context, last int64, sound int) (*Broken, error) {
	var lost bool
	err := a.db.engine.Bulk.Row(ctx, `SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'audit_events'), 0) - ?1 >
		(SELECT count(*) FROM audit_events WHERE seq > ?1)`, last).Scan(&lost)
	if err != nil || !lost {
		return nil, storeError(err)
	}
	return &Broken{Position: sound + 1, Gone: true}, nil
}
