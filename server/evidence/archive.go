package evidence

import (
	"archive/zip"
	"cmp"
	"context"
	"fmt"
	"hash/crc32"
	"io"
)

// member is a file of an archive.
type member struct {
	Item
	crc  uint32
	open func() (io.ReadCloser, error)
}

func checksum(text []byte) uint32 { return crc32.ChecksumIEEE(text) }

// Sizes of the zip's own records, names aside (APPNOTE 4.3.7, 4.3.12, 4.3.16).
const (
	localHeader     = 30
	directoryHeader = 46
	directoryEnd    = 22
)

// zipDate is the date of all files in every pack, the earliest that a zip can have.
const zipDate = 1<<5 | 1 // 1980-01-01, MS-DOS

// encode writes the archive with these files in its only form: not compressed, in
// this order, with fixed metadata, without extra fields and comments. This form is
// version 1 of the manifest and must never change.
func encode(ctx context.Context, w io.Writer, members []member) error {
	archive := zip.NewWriter(w)
	for _, m := range members {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := encodeMember(archive, m); err != nil {
			return err
		}
	}
	return archive.Close()
}

func encodeMember(archive *zip.Writer, m member) (err error) {
	size := uint64(m.Size) //nolint:gosec // never negative
	header := &zip.FileHeader{
		Name: m.Path, Method: zip.Store, CRC32: m.crc, CompressedSize64: size, UncompressedSize64: size,
		CreatorVersion: 3<<8 | 20, ReaderVersion: 20, ExternalAttrs: 0o100644 << 16, // a file of Unix
		Flags: 1 << 11, // the name is UTF-8
	}
	header.ModifiedDate = zipDate //nolint:staticcheck // CreateRaw writes this one
	w, err := archive.CreateRaw(header)
	if err != nil {
		return err
	}
	from, err := m.open()
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, from.Close()) }()
	n, err := io.Copy(w, io.LimitReader(from, m.Size))
	if err == nil && n != m.Size {
		err = fmt.Errorf("%s: %w", m.Path, io.ErrUnexpectedEOF)
	}
	return err
}

// locate returns what is at a byte of the archive with these files: the path, ""
// for none, and the part of it.
func locate(members []member, at int64) (path, part string) {
	for _, m := range members {
		if at < localHeader+int64(len(m.Path)) {
			return m.Path, "its zip header is"
		}
		if at -= localHeader + int64(len(m.Path)); at < m.Size {
			return m.Path, "its bytes are"
		}
		at -= m.Size
	}
	for _, m := range members {
		if at -= directoryHeader + int64(len(m.Path)); at < 0 {
			return m.Path, "its entry in the zip's directory is"
		}
	}
	return "", "the end of the zip's directory is"
}

// encodedSize returns the size of the archive with these files.
func encodedSize(members []member) int64 {
	size := int64(directoryEnd)
	for _, m := range members {
		size += localHeader + directoryHeader + 2*int64(len(m.Path)) + m.Size
	}
	return size
}
