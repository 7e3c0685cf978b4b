package sqlite

import (
	"encoding/binary"
	"testing"
	"unsafe"
)

// indexOf makes an index of bytes; missing ones are 0.
func indexOf(content []byte) *walIndex {
	index := new(walIndex)
	copy((*[unsafe.Sizeof(*index)]byte)(unsafe.Pointer(index))[:], content)
	return index
}

// validHeader makes a header with a correct checksum of these fields.
func validHeader(change, frames uint32) []byte {
	h := make([]byte, 48)
	binary.NativeEndian.PutUint32(h, walIndexVersion)
	binary.NativeEndian.PutUint32(h[8:], change)
	h[12] = 1
	binary.NativeEndian.PutUint32(h[16:], frames)
	one, two := checksum(h[:40])
	binary.NativeEndian.PutUint32(h[40:], one)
	binary.NativeEndian.PutUint32(h[44:], two)
	return h
}

// checksum is the one of the document, from bytes.
func checksum(b []byte) (one, two uint32) {
	for len(b) >= 8 {
		one += binary.NativeEndian.Uint32(b) + two
		two += binary.NativeEndian.Uint32(b[4:]) + one
		b = b[8:]
	}
	return one, two
}

// TestWALIndex_Read accepts two equal and valid copies only.
func TestWALIndex_Read(t *testing.T) {
	t.Parallel()
	a, b := validHeader(1, 7), validHeader(2, 9)
	later := append([]byte(nil), a...)
	later[0]++
	for name, row := range map[string]struct {
		first, second []byte
		ok            bool
	}{
		"equal":              {a, a, true},
		"a commit under way": {a, b, false},
		"an older copy":      {b, a, false},
		"another version":    {later, later, false},
		"empty":              {make([]byte, 48), make([]byte, 48), false},
		"cut":                {a[:40], a[:40], false},
	} {
		content := make([]byte, 96)
		copy(content, row.first)
		copy(content[48:], row.second)
		index := indexOf(content)
		header, ok := index.read()
		if ok != row.ok {
			t.Errorf("%s: ok %v", name, ok)
		}
		if ok && (!index.is(&header) || header.field(headerMaxFrame) != 7) {
			t.Errorf("%s: %v", name, header)
		}
		if !ok && index.is(&header) {
			t.Errorf("%s: equals a header that was refused", name)
		}
	}
}

// FuzzWALIndex compares the reader with the rules of the document, byte by byte.
func FuzzWALIndex(f *testing.F) {
	a := validHeader(1, 7)
	f.Add(append(append([]byte(nil), a...), a...))
	f.Add(append(append([]byte(nil), a...), validHeader(2, 7)...))
	f.Add(make([]byte, 136))
	f.Fuzz(func(t *testing.T, content []byte) {
		full := make([]byte, 96)
		copy(full, content)
		one, two := checksum(full[:40])
		want := string(full[:48]) == string(full[48:]) && full[12] == 1 &&
			binary.NativeEndian.Uint32(full) == walIndexVersion &&
			binary.NativeEndian.Uint32(full[40:]) == one && binary.NativeEndian.Uint32(full[44:]) == two
		index := indexOf(full)
		header, ok := index.read()
		if ok != want {
			t.Fatalf("%x: ok %v, want %v", full, ok, want)
		}
		if ok != index.is(&header) {
			t.Fatalf("%x: is %v", full, !ok)
		}
	})
}
