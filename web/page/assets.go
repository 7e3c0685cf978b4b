package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
)

// StaticPath is the path prefix of assets.
const StaticPath = "/static/"

// Assets are the files that pages refer to. Their paths contain a hash of the
// content, so that browsers can cache them for ever.
type Assets struct {
	files map[string]*asset // by path
	paths map[string]string // name → path
}

type asset struct {
	contentType      string
	body, compressed []byte
}

// mediaTypes do not depend on the tables of the operating system.
var mediaTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// NewAssets returns the files of a folder.
func NewAssets(files fs.FS, folder string) (*Assets, error) {
	a := &Assets{files: map[string]*asset{}, paths: map[string]string{}}
	entries, err := fs.ReadDir(files, folder)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		body, err := fs.ReadFile(files, path.Join(folder, entry.Name()))
		if err != nil {
			return nil, err
		}
		a.add(entry.Name(), body, compress(body))
	}
	return a, nil
}

// compress compresses a file with gzip.
func compress(body []byte) []byte {
	var compressed bytes.Buffer
	w := gzip.NewWriter(&compressed)
	_, _ = w.Write(body) // a buffer accepts everything
	_ = w.Close()
	return compressed.Bytes()
}

// AddCompressed adds a file that is compressed with gzip.
func (a *Assets) AddCompressed(name string, compressed []byte) error {
	in, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return err
	}
	body, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	a.add(name, body, compressed)
	return nil
}

func (a *Assets) add(name string, body, compressed []byte) {
	extension := path.Ext(name)
	mediaType, known := mediaTypes[extension]
	if !known {
		mediaType = mime.TypeByExtension(extension)
	}
	hash := sha256.Sum256(body)
	hashed := fmt.Sprintf("%s%s.%x%s", StaticPath, strings.TrimSuffix(name, extension), hash[:6], extension)
	a.paths[name] = hashed
	a.files[hashed] = &asset{mediaType, body, compressed}
}

// Join replaces files by one that has their contents in this order. It fails if a file
// does not exist.
func (a *Assets) Join(name string, parts ...string) error {
	var body bytes.Buffer
	for _, part := range parts {
		at, err := a.Path(part)
		if err != nil {
			return err
		}
		body.Write(a.files[at].body)
		delete(a.files, at)
		delete(a.paths, part)
	}
	a.add(name, body.Bytes(), compress(body.Bytes()))
	return nil
}

// Path returns the path of a file. Templates call it as the function "asset".
func (a *Assets) Path(name string) (string, error) {
	if found, ok := a.paths[name]; ok {
		return found, nil
	}
	return "", fmt.Errorf("no asset %s", name)
}

// serveAsset serves an asset.
func (s *Server) serveAsset(w http.ResponseWriter, r *http.Request) {
	if !s.allow(w, r, s.rates.assets) {
		http.Error(w, "Too many requests from your network address. Wait as Retry-After says.", http.StatusTooManyRequests)
		return
	}
	file, ok := s.Assets.files[r.URL.Path]
	if !ok {
		s.answer(&Route{Needs: Public, Handle: s.noPage}).ServeHTTP(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", file.contentType)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	body := file.body
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = file.compressed
	}
	_, _ = w.Write(body) // fails if the client has gone
}
