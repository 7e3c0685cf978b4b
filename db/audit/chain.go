package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Sum is the hash of an event. It is the SHA-256 of the sum of the event before, 32
// zero bytes for the first event, followed by the text of the event.
type Sum [sha256.Size]byte

// Chain recomputes the hashes of an audit log from the texts of its events, oldest
// first. The zero value is the start of a log.
type Chain struct {
	sum    Sum
	events int
}

// ChainAfter continues after the event with this hash.
func ChainAfter(sum Sum) Chain { return Chain{sum: sum} }

// ChainFrom continues after the event with this hash, as Head writes it.
func ChainFrom(hash string) (Chain, error) {
	raw, err := hex.DecodeString(hash)
	if err != nil || len(raw) != sha256.Size {
		return Chain{}, fmt.Errorf("%q is not the hash of an event: 64 hexadecimal digits", hash)
	}
	return ChainAfter(Sum(raw)), nil
}

// Add adds the exact text of the next event.
func (c *Chain) Add(event []byte) {
	hash := sha256.New()
	hash.Write(c.sum[:])
	hash.Write(event)
	hash.Sum(c.sum[:0])
	c.events++
}

// Sum returns the hash of the last event.
func (c *Chain) Sum() Sum { return c.sum }

// Head returns the hash of the last event, in lower-case hexadecimal.
func (c *Chain) Head() string { return hex.EncodeToString(c.sum[:]) }

// Events returns how many events were added.
func (c *Chain) Events() int { return c.events }
