package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"slices"
	"time"

	reference "github.com/swaggest/swgui/v5/static"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/server/openapi"
	"govsvc/web/ui"
)

// docsPages are the API reference.
func docsPages() []page {
	return []page{
		{pattern: "GET /docs", needs: nobody, do: (*visit).docs},
		{pattern: "POST /docs/key", needs: auth.Administer, do: (*visit).mintDocsKey},
	}
}

// referenceFiles are those of Swagger UI that the reference needs.
var referenceFiles = []string{"swagger-ui.css", "swagger-ui-bundle.js"}

// loadReference adds the files of Swagger UI to the assets. They come
// compressed.
func (s *Site) loadReference() error {
	for _, name := range referenceFiles {
		small, err := reference.FS.ReadFile(name + ".gz")
		if err != nil {
			return err
		}
		in, err := gzip.NewReader(bytes.NewReader(small))
		if err != nil {
			return err
		}
		body, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		s.addAsset(name, body, small)
	}
	return nil
}

// docsData is what the reference shows.
type docsData struct {
	Document string // its path
	Key      string // a test key that was just minted, or ""
	MayMint  bool
}

// docs shows the embedded document as a reference that can be tried out on the
// sandbox.
func (v *visit) docs() error {
	key, _ := v.takeOnce().(docsKey)
	return v.render("docs", "API reference", docsData{
		Document: apiPath + "/openapi.json", Key: string(key), MayMint: v.may(auth.Administer),
	})
}

// docsKey is the plaintext of a key for the reference, shown once.
type docsKey string

// docsKeyFor is how long a key for the reference lasts.
const docsKeyFor = time.Hour

// mintDocsKey mints a test key for trying the reference out: all of the
// sandbox, none of the organisation's data.
func (v *visit) mintDocsKey() error {
	expires := v.Store.Now().Add(docsKeyFor)
	_, plain, err := v.Store.MintKey(v.r.Context(), v.by(), db.KeyDraft{
		Name: "API reference, " + v.session.User.Name, Kind: db.TestKey, Scopes: docsScopes(), ExpiresAt: &expires,
	})
	if err != nil {
		return err
	}
	v.redirect(ui.WithQuery("/docs", "once", v.keepOnce(docsKey(plain))))
	return nil
}

// docsScopes are all scopes that an operation takes.
func docsScopes() []string {
	return slices.DeleteFunc(openapi.Scopes(), func(scope string) bool { return scope == readAll })
}
