package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"strings"
)

// longestChange is the size in bytes from which a value before or after a change
// is stored in the audit log as a digest. Without it two events store each long text
// twice, forever.
const longestChange = 2048

// Digest replaces a value that is too long for the audit log: a text, or the JSON of a
// value of another type.
type Digest struct {
	Length int    `json:"length"` // in bytes of UTF-8
	SHA256 string `json:"sha256"` // in lower-case hex
}

// Digested returns the changes with digests in place of long values. Without long values
// it returns the same map.
func (c Changes) Digested() Changes {
	var short Changes
	for member, change := range c {
		from, to := DigestOf(change.From), DigestOf(change.To)
		if from == nil && to == nil {
			continue
		}
		if short == nil {
			short = maps.Clone(c)
		}
		if from != nil {
			change.From = from
		}
		if to != nil {
			change.To = to
		}
		short[member] = change
	}
	if short == nil {
		return c
	}
	return short
}

// DigestOf returns the digest of a long value, and nil for any other.
func DigestOf(value any) *Digest {
	var text string
	switch value := value.(type) {
	case string:
		text = value
	case *string:
		if value != nil {
			text = *value
		}
	case json.RawMessage:
		text = string(value)
	case map[string]any, []any, []string:
		text = encode(value)
	}
	if len(text) <= longestChange {
		return nil
	}
	sum := sha256.Sum256([]byte(text))
	return &Digest{len(text), hex.EncodeToString(sum[:])}
}

// MaxAddressBytes limits the address of a client in an event or a session.
const MaxAddressBytes = 64

// Truncate returns at most the first limit bytes of a client's text, as valid UTF-8.
func Truncate(text string, limit int) string {
	return strings.ToValidUTF8(text[:min(len(text), limit)], "")
}
