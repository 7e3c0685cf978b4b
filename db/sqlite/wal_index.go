package sqlite

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

// walHeader is the header of the WAL index: 48 bytes, which are read as 6 words (SQLite,
// WAL-mode File Format, 2.2.1). Each commit changes it.
type walHeader [6]uint64

// Fields of the header, by their numbers. A field has 32 bits in the machine's byte order.
const (
	headerVersion  = 0 // of the format
	headerInit     = 3 // its first byte is 1
	headerMaxFrame = 4 // frames in the log
	headerChecksum = 10
)

// walIndexVersion is the only version of the format.
const walIndexVersion = 3007000

// walIndex is the start of the WAL index: two copies of the header. It is SQLite's own
// mapping of the -shm file, which all processes share.
type walIndex [2]walHeader

// is reports whether both copies are the header h.
//
// A commit writes its pages, then the second copy, then the first copy. A reader takes
// them in the opposite order. If both are still h, SQLite would begin a read with the state
// that h describes, because it compares the same words and holds no lock during that. So
// a caller never sees a new header before the pages, nor an old header after the commit
// has returned. Atomic loads keep the compiler and the processor from reordering.
func (i *walIndex) is(h *walHeader) bool {
	if *h == (walHeader{}) {
		return false // no header was read
	}
	for n := range h {
		if atomic.LoadUint64(&i[0][n]) != h[n] {
			return false
		}
	}
	for n := range h {
		if atomic.LoadUint64(&i[1][n]) != h[n] {
			return false
		}
	}
	return true
}

// headerReads is how often a header is read whose copies differ. A commit writes them
// within nanoseconds.
const headerReads = 100

// read returns the header. ok is false if the copies differ or are not valid: a process
// writes them now, or it ended while it did.
func (i *walIndex) read() (h walHeader, ok bool) {
	for range headerReads {
		for n := range h {
			h[n] = atomic.LoadUint64(&i[0][n])
		}
		if i.is(&h) && h.valid() {
			return h, true
		}
	}
	return walHeader{}, false
}

// field returns a field.
func (h *walHeader) field(n int) uint32 {
	return (*[12]uint32)(unsafe.Pointer(h))[n] //nolint:gosec // the same 48 bytes
}

// valid makes the checks that SQLite makes before it trusts a header.
func (h *walHeader) valid() bool {
	var one, two uint32
	for n := 0; n < headerChecksum; n += 2 {
		one += h.field(n) + two
		two += h.field(n+1) + one
	}
	var init [4]byte
	binary.NativeEndian.PutUint32(init[:], h.field(headerInit))
	return h.field(headerVersion) == walIndexVersion && init[0] == 1 &&
		h.field(headerChecksum) == one && h.field(headerChecksum+1) == two
}
