package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"fmt"
	"mime"
	"net/http"
	"path"
	"strings"
)

//go:embed static/*
var staticFiles embed.FS

// asset is a file that pages need. Its path holds a hash of its content, so
// that browsers may keep it for good.
type asset struct {
	contentType string
	body, small []byte // as it is, and compressed
}

// kinds are the media types of the assets.
var kinds = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

func (s *Site) loadStatic() error {
	s.static, s.assets = map[string]*asset{}, map[string]string{}
	entries, err := staticFiles.ReadDir("static")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		body, err := staticFiles.ReadFile("static/" + name)
		if err != nil {
			return err
		}
		s.addAsset(name, body, compressed(body))
	}
	return nil
}

// addAsset adds a file under a path that holds its hash.
func (s *Site) addAsset(name string, body, small []byte) {
	extension := path.Ext(name)
	kind, known := kinds[extension]
	if !known {
		kind = mime.TypeByExtension(extension)
	}
	hash := sha256.Sum256(body)
	hashed := fmt.Sprintf("%s%s.%x%s", staticPath, strings.TrimSuffix(name, extension), hash[:6], extension)
	s.assets[name] = hashed
	s.static[hashed] = &asset{kind, body, small}
}

func compressed(body []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(body) // a buffer takes everything
	_ = w.Close()
	return out.Bytes()
}

// asset is the path of a file of web/static, for templates.
func (s *Site) asset(name string) (string, error) {
	if found, ok := s.assets[name]; ok {
		return found, nil
	}
	return "", fmt.Errorf("no file web/static/%s", name)
}

// serveStatic answers with a file that pages need.
func (s *Site) serveStatic(w http.ResponseWriter, r *http.Request) {
	if !s.allow(w, r, s.rates.files) {
		http.Error(w, "Too many requests from your network address. Wait as Retry-After says.", http.StatusTooManyRequests)
		return
	}
	file, ok := s.static[r.URL.Path]
	if !ok {
		s.answer(&page{needs: nobody, do: (*visit).nowhere}).ServeHTTP(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", file.contentType)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	body := file.body
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = file.small
	}
	_, _ = w.Write(body) // the client may be gone; nobody else is told
}
