package db

import (
	"crypto/sha256"
	"encoding/hex"
)

// longestChange is the size in bytes from which a value before or after a change
// is stored in the audit log as a digest. Without it two events hold each long
// text twice, for ever.
const longestChange = 2048

// Digest stands in the audit log for a value that is too long for it: a text, or
// the JSON of a value of another type.
type Digest struct {
	Length int    `json:"length"` // in bytes of UTF-8
	SHA256 string `json:"sha256"` // in lower-case hex
}

// digested returns the changes with digests of the long values.
func (c Changes) digested() Changes {
	short := make(Changes, len(c))
	for member, change := range c {
		short[member] = Change{From: digest(change.From), To: digest(change.To)}
	}
	return short
}

func digest(value any) any {
	var text string
	switch value := value.(type) {
	case string:
		text = value
	case *string:
		if value == nil {
			return nil
		}
		text = *value
	case map[string]any, []any, []string:
		text = compact(value)
	}
	if len(text) <= longestChange {
		return value
	}
	sum := sha256.Sum256([]byte(text))
	return Digest{len(text), hex.EncodeToString(sum[:])}
}
