package integrations

import (
	"slices"
	"time"

	reference "github.com/swaggest/swgui/v5/static"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/server/openapi"
	"govsvc/web/page"
)

// referenceFiles are those of Swagger UI that the page needs.
var referenceFiles = []string{"swagger-ui.css", "swagger-ui-bundle.js"}

// AddReferenceAssets adds the files of Swagger UI.
func AddReferenceAssets(assets *page.Assets) error {
	for _, name := range referenceFiles {
		compressed, err := reference.FS.ReadFile(name + ".gz")
		if err != nil {
			return err
		}
		if err := assets.AddCompressed(name, compressed); err != nil {
			return err
		}
	}
	return nil
}

// docsData is what the reference shows.
type docsData struct {
	Document string // its path
	Key      string // a test key that was just minted, or ""
	MayMint  bool
}

// ShowReference shows the embedded document as a reference that can be tried out on the
// sandbox.
func ShowReference(r *page.Request) error {
	key, _ := r.TakeOnce().(docsKey)
	return r.Render("docs", "API reference", docsData{
		Document: apiPath + "/openapi.json", Key: string(key), MayMint: r.May(auth.Administer),
	})
}

// docsKey is the plaintext of a key for the reference, shown once.
type docsKey string

// docsKeyFor is how long a key for the reference lasts.
const docsKeyFor = time.Hour

// CreateReferenceKey mints a test key for trying the reference out: all of the
// sandbox, none of the organisation's data.
func CreateReferenceKey(r *page.Request) error {
	expires := r.Store.Now().Add(docsKeyFor)
	_, plain, err := r.Store.Keys.Mint(r.Context(), r.Actor(), db.KeyDraft{
		Name: "API reference, " + r.Session.User.Name, Kind: db.TestKey, Scopes: docsScopes(), ExpiresAt: &expires,
	})
	if err != nil {
		return err
	}
	return r.RedirectOnce("/docs", docsKey(plain))
}

// docsScopes are all scopes that an operation takes.
func docsScopes() []string {
	return slices.DeleteFunc(openapi.Scopes(), func(scope string) bool { return scope == readAll })
}
