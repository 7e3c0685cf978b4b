package evidence

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

// spool has the items of a pack in a temporary file until the pack is filed.
type spool struct {
	file    *os.File
	buffer  *bufio.Writer
	size    int64
	members []member
}

func newSpool() (*spool, error) {
	file, err := os.CreateTemp("", "govsvc-evidence-*")
	if err != nil {
		return nil, err
	}
	// Removing the open file, where the system allows it, leaves nothing even if this
	// process is killed.
	_ = os.Remove(file.Name())
	return &spool{file: file, buffer: bufio.NewWriterSize(file, 64<<10)}, nil
}

func (s *spool) close() {
	_ = s.file.Close() // it is removed
	_ = os.Remove(s.file.Name())
}

func (s *spool) flush() error { return s.buffer.Flush() }

var errTooLarge = errors.New("too large")

// add adds the output of write as an item. Its error is errTooLarge beyond the
// limit.
func (s *spool) add(path string, limit int64, write func(io.Writer) error) error {
	sum, crc := sha256.New(), crc32.NewIEEE()
	w := &limitedWriter{w: io.MultiWriter(s.buffer, sum, crc), left: min(limit, MaxPack-s.size)}
	start := s.size
	err := write(w)
	s.size += w.written
	if errors.Is(err, errTooLarge) && s.size >= MaxPack {
		return invalid("", "the pack would be larger than %s", megabytes(MaxPack))
	}
	if err != nil {
		return err
	}
	s.members = append(s.members, member{
		Item: Item{Path: path, Size: w.written, SHA256: hex.EncodeToString(sum.Sum(nil))},
		crc:  crc.Sum32(),
		open: func() (io.ReadCloser, error) {
			return io.NopCloser(io.NewSectionReader(s.file, start, w.written)), nil
		},
	})
	return nil
}

// list returns the items for the manifest.
func (s *spool) list() []Item {
	items := make([]Item, len(s.members))
	for i, m := range s.members {
		items[i] = m.Item
	}
	return items
}

// limitedWriter passes on what fits.
type limitedWriter struct {
	w             io.Writer
	left, written int64
}

func (l *limitedWriter) Write(p []byte) (int, error) {
	if int64(len(p)) > l.left {
		return 0, errTooLarge
	}
	n, err := l.w.Write(p)
	l.left -= int64(n)
	l.written += int64(n)
	return n, err
}

func megabytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }
