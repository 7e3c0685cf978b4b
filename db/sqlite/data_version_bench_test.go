package sqlite

import "testing"

// BenchmarkDataVersion looks whether the file has changed, when it has not.
//
//	go test ./db/sqlite -run '^$' -bench DataVersion
func BenchmarkDataVersion(b *testing.B) {
	d := newFile(b)
	for b.Loop() {
		if n, err := d.DataVersion(); n == 0 || err != nil {
			b.Fatal(n, err)
		}
	}
}
