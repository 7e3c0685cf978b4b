package testkit

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// FileNames returns the names in a folder, hidden ones too.
func FileNames(t testing.TB, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// WriteFile writes a text file that only its owner can read.
func WriteFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Unpack writes the content of a gzip file to a path.
func Unpack(t testing.TB, from, to string) {
	t.Helper()
	packed, err := os.Open(from) //nolint:gosec // the test names the file
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	reader, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	WriteFile(t, to, string(text))
}

// NewPath returns the path of a data file that does not exist yet.
func NewPath(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "govsvc.db")
}
