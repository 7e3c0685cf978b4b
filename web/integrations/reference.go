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

// referenceFiles are the files of Swagger UI that the page needs.
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

// referenceData is the argument of the page "API reference".
type referenceData struct {
	Document  string // path of the OpenAPI document
	Key       string // new test key, or ""
	MayCreate bool
	Live      bool // live keys can be used
}

// ShowReference returns the reference of the API. Its operations can be tried on the
// sandbox.
func ShowReference(r *page.Request) error {
	key, _ := r.TakeOnce().(referenceKey)
	return r.Render("docs", "API reference", referenceData{
		Document: apiPath + "/openapi.json", Key: string(key), MayCreate: r.May(auth.Administer), Live: r.Service.LiveReference,
	})
}

// referenceKey is the plain text of a test key for the reference, shown once.
type referenceKey string

// referenceKeyLife is how long a referenceKey is valid.
const referenceKeyLife = time.Hour

// CreateReferenceKey creates a test key for the reference. It has access to all of
// the sandbox and to no data of the organisation.
func CreateReferenceKey(r *page.Request) error {
	expires := r.Store.Now().Add(referenceKeyLife)
	_, plain, err := r.Store.Keys.Mint(r.Context(), r.Actor(), db.KeyDraft{
		Name: "API reference, " + r.Session.User.Name, Kind: db.TestKey, Scopes: referenceScopes(), ExpiresAt: &expires,
	})
	if err != nil {
		return err
	}
	return r.RedirectOnce("/docs", referenceKey(plain))
}

// referenceScopes returns the scopes of all operations.
func referenceScopes() []string {
	return slices.DeleteFunc(openapi.Scopes(), func(scope string) bool { return scope == readAll })
}
