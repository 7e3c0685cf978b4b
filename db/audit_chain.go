package db

import (
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
