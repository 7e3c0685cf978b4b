package db

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"sync"
	"time"
)

// idSource returns a function that makes UUIDv7 (RFC 9562): 48 bits of milliseconds, a
// counter that orders the ids of one process within a millisecond (section 6.2, method 1),
// and random bits. With ordered ids, new entries of an index go to the same page.
func idSource(now func() time.Time) func() string {
	var (
		mutex   sync.Mutex
		last    int64
		counter uint32
	)
	return func() string {
		var b [16]byte
		rand.Read(b[:]) //nolint:errcheck // never fails; see its documentation
		mutex.Lock()
		ms := now().UnixMilli()
		if ms > last {
			last, counter = ms, uint32(binary.BigEndian.Uint16(b[6:]))&0x7ff
		} else if counter++; counter >= 1<<18 {
			last, counter = last+1, 0
		}
		ms, count := last, counter
		mutex.Unlock()

		binary.BigEndian.PutUint64(b[:], uint64(max(0, ms))<<16)
		b[6] = 0x70 | byte(count>>14&0x0f)
		b[7] = byte(count >> 6 & 0xff)
		b[8] = 0x80 | byte(count&0x3f)
		return formatUUID(b)
	}
}

// NewID makes an id for a value that is not stored in a file.
func NewID() string { return idSource(time.Now)() }

func formatUUID(b [16]byte) string {
	var s [36]byte
	hex.Encode(s[:8], b[:4])
	hex.Encode(s[9:13], b[4:6])
	hex.Encode(s[14:18], b[6:8])
	hex.Encode(s[19:23], b[8:10])
	hex.Encode(s[24:], b[10:])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:])
}

// timestamp is the layout of instants in the file and the API: RFC 3339 in UTC with
// milliseconds. The texts have the order of the instants.
const timestamp = "2006-01-02T15:04:05.000Z"

// Timestamp formats an instant for the file and the API.
func Timestamp(t time.Time) string { return t.UTC().Format(timestamp) }

// ParseTimestamp parses the result of Timestamp.
func ParseTimestamp(s string) (time.Time, error) { return time.Parse(timestamp, s) }
