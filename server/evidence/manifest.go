package evidence

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	manifestPath    = "manifest.json"
	manifestObject  = "evidence_manifest"
	manifestVersion = 1
	// maxManifest bounds its size in bytes; an item takes some 400.
	maxManifest = 4 << 20
)

// Manifest lists the content of a pack.
type Manifest struct {
	Object       string       `json:"object"` // evidence_manifest
	APIVersion   string       `json:"api_version"`
	PackID       string       `json:"pack_id"`
	Title        string       `json:"title"`
	Organisation Organisation `json:"organisation"`
	RegimeID     *string      `json:"regime_id"` // the only regime whose obligations are in the pack; null means all
	FiledAt      string       `json:"filed_at"`
	FiledBy      string       `json:"filed_by"`
	Items        []Item       `json:"items"` // in the order of the archive
	Versions     Versions     `json:"versions"`
}

// Organisation is the owner of the evidence.
type Organisation struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Item is a file of the pack.
type Item struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Versions are the versions of the formats and of the program that made the pack.
type Versions struct {
	Manifest int    `json:"manifest"` // the form of the manifest and of the zip
	Govsvc   string `json:"govsvc"`
	Schema   int    `json:"schema"` // of the data file
}

// Canonical returns a JSON text in the form of RFC 8785.
func Canonical(text []byte) ([]byte, error) {
	value := jsontext.Value(bytes.Clone(text))
	err := value.Canonicalize()
	return value, err
}

func (m *Manifest) canonical() ([]byte, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	if text, err = Canonical(text); err == nil && len(text) > maxManifest {
		err = fmt.Errorf("the manifest is larger than %s", megabytes(maxManifest))
	}
	return text, err
}

// readManifest decodes and checks a manifest from an untrusted source.
func readManifest(text []byte) (*Manifest, error) {
	canonical, err := Canonical(text)
	if err != nil {
		return nil, fmt.Errorf("is not JSON: %w", err)
	}
	if !bytes.Equal(canonical, text) {
		return nil, errNotCanonical
	}
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("is not the manifest of an evidence pack: %w", err)
	}
	return &m, m.check()
}

var errNotCanonical = errors.New("is not in the canonical form of RFC 8785, in which it was filed")

func (m *Manifest) check() error {
	switch {
	case m.Object != manifestObject:
		return errors.New("is not the manifest of an evidence pack")
	case m.Versions.Manifest != manifestVersion:
		return fmt.Errorf("has version %d; this govsvc knows version %d: use the one that made the pack, or a newer one",
			m.Versions.Manifest, manifestVersion)
	}
	seen, total := map[string]bool{manifestPath: true}, int64(0)
	for _, item := range m.Items {
		switch {
		case !safePath(item.Path):
			return fmt.Errorf("lists %q, which is no path in a pack", item.Path)
		case seen[item.Path]:
			return fmt.Errorf("lists %s twice", item.Path)
		case item.Size < 0 || item.Size > MaxPack-total:
			return fmt.Errorf("gives %s a size that no pack has", item.Path)
		case !isSHA256(item.SHA256):
			return fmt.Errorf("gives %s no SHA-256", item.Path)
		}
		seen[item.Path] = true
		total += item.Size
	}
	return nil
}

func safePath(path string) bool {
	return fs.ValidPath(path) && path != "." && !strings.ContainsFunc(path, func(r rune) bool {
		return r == '\\' || r == ':' || !unicode.IsPrint(r)
	})
}

func isSHA256(text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == 32 && strings.ToLower(text) == text
}

// manifestMember returns the manifest as the first file of the archive.
func manifestMember(text []byte) member {
	m := member{Item: Item{Path: manifestPath, Size: int64(len(text))}, crc: checksum(text)}
	m.open = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
	return m
}
