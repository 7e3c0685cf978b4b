package evidence

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

// VerificationError is the first fault that Verify finds in an archive.
type VerificationError struct {
	Path   string `json:"path"` // the file; "" for the archive itself
	Reason string `json:"reason"`
}

func (f *VerificationError) Error() string {
	if f.Path == "" {
		return f.Reason
	}
	return f.Path + ": " + f.Reason
}

func verificationError(path, format string, args ...any) error {
	return &VerificationError{path, fmt.Sprintf(format, args...)}
}

// Verified is a pack that has not changed since it was filed.
type Verified struct {
	Manifest
	ManifestSHA256 string
}

// maxArchive is the maximum size of a pack: items, manifest and zip records.
const maxArchive = MaxPack + 2*maxManifest

// Verify checks every byte of an archive against its manifest. The manifest must be
// canonical. The archive must have exactly the items of the manifest, with their sizes
// and hashes. The zip must be the one that govsvc writes. The error is a
// *VerificationError if the pack is not valid. Verify reads no more than the sizes of
// the manifest, even if the zip has larger ones.
//
// A person who changes a pack can also make a matching manifest. Only the
// ManifestSHA256 proves that a pack is unchanged: compare it with the one that was noted
// when the pack was filed.
func Verify(ctx context.Context, archive io.ReaderAt, size int64) (*Verified, error) {
	if size > maxArchive {
		return nil, verificationError("", "is larger than any pack")
	}
	files, err := openArchive(archive, size)
	if err != nil {
		return nil, err
	}
	text, manifest, err := files.manifest()
	if err != nil {
		return nil, err
	}
	members := []member{manifestMember(text)}
	for _, item := range manifest.Items {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m, err := files.item(item)
		if err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	if len(files.order) > len(members) {
		return nil, files.unlisted(members)
	}
	sum := sha256.Sum256(text)
	return &Verified{*manifest, hex.EncodeToString(sum[:])}, compare(ctx, archive, size, members)
}

// archiveFiles are an archive's files by name, and in the order of its directory.
type archiveFiles struct {
	named map[string]*zip.File
	order []string
}

func openArchive(archive io.ReaderAt, size int64) (*archiveFiles, error) {
	in := &limitedReaderAt{archive, maxDirectory}
	reader, err := zip.NewReader(in, size)
	in.left = math.MaxInt64 // the sizes in the manifest limit the rest
	if errors.Is(err, errTooLarge) {
		return nil, verificationError("", "has more files than any pack")
	}
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // names are checked against the manifest
		return nil, verificationError("", "is not a complete zip archive: %v; check that this is the pack and copy it again", err)
	}
	c := &archiveFiles{named: make(map[string]*zip.File, len(reader.File))}
	for _, file := range reader.File {
		if c.named[file.Name] != nil {
			return nil, verificationError(file.Name, "is in the archive twice")
		}
		c.named[file.Name] = file
		c.order = append(c.order, file.Name)
	}
	return c, nil
}

// maxDirectory is the maximum size of the zip's directory. In a pack each file has
// a longer entry in the manifest. The rest is for the search of the directory.
const maxDirectory = maxManifest + 256<<10

// limitedReaderAt reads at most left bytes in total. Later reads return errTooLarge.
type limitedReaderAt struct {
	from io.ReaderAt
	left int64
}

func (b *limitedReaderAt) ReadAt(p []byte, at int64) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, errTooLarge
	}
	return b.from.ReadAt(p, at)
}

// manifest reads the manifest and its text.
func (c *archiveFiles) manifest() ([]byte, *Manifest, error) {
	file := c.named[manifestPath]
	if file == nil {
		return nil, nil, verificationError(manifestPath, "is missing: this is not an evidence pack")
	}
	var text bytes.Buffer
	err := unpack(file, &limitedWriter{w: &text, left: maxManifest})
	if err != nil {
		return nil, nil, verificationError(manifestPath, "can't be read: %v", err)
	}
	manifest, err := readManifest(text.Bytes())
	if err != nil {
		return nil, nil, verificationError(manifestPath, "%v", err)
	}
	return text.Bytes(), manifest, nil
}

// unpack writes the content of a file.
func unpack(file *zip.File, w io.Writer) (err error) {
	if file.Flags&1 != 0 {
		return errors.New("it is encrypted")
	}
	from, err := file.Open()
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, from.Close()) }()
	_, err = io.Copy(w, from) //nolint:gosec // w limits the size to that of the manifest
	return err
}

// item compares a file with its entry in the manifest.
func (c *archiveFiles) item(item Item) (member, error) {
	file := c.named[item.Path]
	if file == nil {
		return member{}, verificationError(item.Path, "is missing")
	}
	sum, crc := sha256.New(), crc32.NewIEEE()
	w := &limitedWriter{w: io.MultiWriter(sum, crc), left: item.Size}
	err := unpack(file, w)
	if errors.Is(err, errTooLarge) {
		return member{}, verificationError(item.Path, "is longer than the %d bytes that were filed", item.Size)
	}
	if err != nil && !errors.Is(err, zip.ErrChecksum) { // the hash reports it better
		return member{}, verificationError(item.Path, "can't be read: %v", err)
	}
	if w.left > 0 {
		return member{}, verificationError(item.Path, "has %d bytes; %d were filed", w.written, item.Size)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != item.SHA256 {
		return member{}, verificationError(item.Path, "differs from what was filed: its SHA-256 is %s, the manifest has %s", got, item.SHA256)
	}
	if err != nil {
		return member{}, verificationError(item.Path, "is unchanged, but its checksum in the zip is wrong")
	}
	return member{Item: item, crc: crc.Sum32(), open: file.Open}, nil
}

// unlisted returns the error for the first file that the manifest does not list.
func (c *archiveFiles) unlisted(members []member) error {
	listed := map[string]bool{}
	for _, m := range members {
		listed[m.Path] = true
	}
	for _, name := range c.order {
		if !listed[name] {
			return verificationError(name, "is not in the manifest: it was added after the pack was filed")
		}
	}
	return nil
}

// compare checks that the archive is, byte for byte, the encoding of these files.
func compare(ctx context.Context, archive io.ReaderAt, size int64, members []member) error {
	c := &comparingWriter{filed: bufio.NewReaderSize(io.NewSectionReader(archive, 0, size), 64<<10)}
	err := encode(ctx, c, members)
	switch {
	case errors.Is(err, errDiffers):
		path, part := locate(members, c.at)
		return verificationError(path, "%s not as filed (byte %d of the archive); the items are unchanged, so the archive was written again or extended", part, c.at)
	case err != nil:
		return err
	case encodedSize(members) < size:
		return verificationError("", "%d bytes were added after the end of the zip", size-encodedSize(members))
	}
	return nil
}

var errDiffers = errors.New("differs")

// comparingWriter compares what is written to it with another reader. It fails at the
// first difference.
type comparingWriter struct {
	filed io.Reader
	at    int64 // how far they agree
	block [4096]byte
}

func (c *comparingWriter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n, err := io.ReadFull(c.filed, c.block[:min(len(rest), len(c.block))])
		for i, b := range c.block[:n] {
			if b != rest[i] {
				c.at += int64(i)
				return 0, errDiffers
			}
		}
		c.at += int64(n)
		rest = rest[n:]
		if err != nil {
			return 0, errDiffers // it ends here
		}
	}
	return len(p), nil
}
