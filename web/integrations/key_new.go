package integrations

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"govsvc/db"
	"govsvc/server/openapi"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// mintData is what the page that mints a key shows.
type mintData struct {
	Form   *ui.Form
	Scopes []*ui.Field // of Form, side by side
	Rest   []*ui.Field
}

// NewKey shows the form that mints a key.
func NewKey(r *page.Request) error {
	return r.Render("key-mint", "Mint a key", newMintData(newKeyForm(r)))
}

func newMintData(form *ui.Form) mintData {
	data := mintData{Form: form}
	for _, field := range form.Fields {
		switch {
		case field.Name == "scope":
			data.Scopes = append(data.Scopes, field)
		case field.Name != "name":
			data.Rest = append(data.Rest, field)
		}
	}
	return data
}

// Name is the field of the name, which stands above the scopes.
func (d mintData) Name() *ui.Field { return d.Form.Field("name") }

func newKeyForm(r *page.Request) *ui.Form {
	terms := r.Caller.Entitlements
	form := &ui.Form{Action: "/keys/new", Submit: "Mint the key", Cancel: "/keys", Fields: []*ui.Field{{
		Name: "name", Label: "Name", Hint: "What the key is for: a program, a team, a machine.", Required: true, MaxLength: db.KeyNameLimit, Autofocus: true,
	}}}
	form.Fields = append(form.Fields, scopeFields(r)...)
	form.Fields = append(form.Fields,
		&ui.Field{Name: "kind", Label: "Kind", Type: "select", Hint: "A key keeps its kind.", Value: db.LiveKey, Required: true, Options: []ui.Option{
			{Value: db.LiveKey, Label: "Live: works on this organisation's data"}, {Value: db.TestKey, Label: "Test: works on synthetic data only"},
		}},
		&ui.Field{Name: "expires", Label: "Expires on", Type: "date", Hint: "It ends when this day begins, in UTC. Without a date it works until it is revoked."},
		&ui.Field{
			Name: "rpm", Label: "Requests a minute", Type: "number", InputMode: "numeric", Step: "1",
			Hint: "Instead of the plan's " + ui.FormatNumber(terms.PerMinute) + ".",
		},
		&ui.Field{
			Name: "rpd", Label: "Requests in 24 hours", Type: "number", InputMode: "numeric", Step: "1",
			Hint: "Instead of the plan's " + ui.FormatNumber(terms.PerDay) + ".",
		},
	)
	return form
}

// scopeFields are the scopes as check boxes, by what they are for.
func scopeFields(r *page.Request) []*ui.Field {
	fields := []*ui.Field{
		{Prefix: "read-", Name: "scope", Label: "It may read", Type: "checks"},
		{Prefix: "write-", Name: "scope", Label: "It may write", Type: "checks"},
		{Prefix: "manage-", Name: "scope", Label: "It may manage", Type: "checks"},
	}
	for _, scope := range openapi.Scopes() {
		option := ui.Option{Value: scope, Label: scope, Hint: scopeDescription(r, scope)}
		for _, field := range fields {
			switch {
			case !strings.HasPrefix(scope, strings.TrimSuffix(field.Prefix, "-")+":"):
			case scope == readAll: // stands for the others, so above them
				field.Options = slices.Insert(field.Options, 0, option)
			default:
				field.Options = append(field.Options, option)
			}
		}
	}
	return fields
}

// readAll satisfies all read scopes but readAudit, and asks for no operation of
// its own.
const (
	readAll        = "read:all"
	readAudit      = "read:audit"
	manageWebhooks = "manage:webhooks"
)

// webhooksRead warns that manage:webhooks gives access to records
// (specification, Events).
const webhooksRead = "The key receives the records that events carry, such as risks, scorecards and roadmaps, even without a read scope."

// scopeDescription says in the document's words what a scope lets a key do, and what of
// that the plan does not include.
func scopeDescription(r *page.Request, scope string) string {
	if scope == readAll {
		return "All of these but " + readAudit
	}
	var does []string
	missing := ""
	for _, op := range r.Document.Operations {
		if op.Scope != scope {
			continue
		}
		summary := op.Summary
		if len(does) > 0 {
			summary = strings.ToLower(summary[:1]) + summary[1:]
		}
		does = append(does, summary)
		if op.Feature != "" && !slices.Contains(r.Caller.Entitlements.Features, op.Feature) {
			missing = " (not in the plan " + string(r.Session.Organisation.Plan) + ")"
		}
	}
	text := strings.Join(does, ", ") + missing
	if scope == manageWebhooks {
		text += ". " + webhooksRead
	}
	return text
}

// CreateKey makes a key and leads to where it is shown, once.
func CreateKey(r *page.Request) error {
	form := newKeyForm(r)
	draft := keyDraft(r, form)
	if form.FieldErrors() > 0 {
		form.Fill(r.HTTP.PostForm)
		return r.RenderStatus(http.StatusUnprocessableEntity, "key-mint", "Mint a key", newMintData(form))
	}
	made, plain, err := r.Store.Keys.Mint(r.Context(), r.Actor(), draft)
	if err != nil {
		return err
	}
	return redirectToCreatedKey(r, mintedKey{Key: made, Plain: plain})
}

// keyDraft reads the form and says in it what is wrong.
func keyDraft(r *page.Request, form *ui.Form) db.KeyDraft {
	draft := db.KeyDraft{Name: r.Value("name"), Kind: r.Value("kind"), PerMinute: positiveNumber(r, form, "rpm"), PerDay: positiveNumber(r, form, "rpd")}
	switch {
	case draft.Name == "":
		form.SetError("name", "Give the key a name, so that you know it again.")
	case utf8.RuneCountInString(draft.Name) > db.KeyNameLimit:
		form.SetError("name", "A name has at most "+strconv.Itoa(db.KeyNameLimit)+" characters.")
	case strings.ContainsFunc(draft.Name, unicode.IsControl):
		form.SetError("name", "A name has no line breaks or control characters.")
	}
	if draft.Kind != db.LiveKey && draft.Kind != db.TestKey {
		form.SetError("kind", "Choose live or test.")
	}
	chosen := r.HTTP.PostForm["scope"]
	for _, scope := range openapi.Scopes() {
		if slices.Contains(chosen, scope) {
			draft.Scopes = append(draft.Scopes, scope)
		}
	}
	for _, scope := range chosen {
		if !slices.Contains(draft.Scopes, scope) {
			form.SetError("scope", "There is no scope "+strconv.Quote(scope)+".")
		}
	}
	if len(chosen) == 0 {
		form.SetError("scope", "Choose at least one scope.")
	}
	if sent := r.Value("expires"); sent != "" {
		at, err := time.Parse(time.DateOnly, sent)
		switch {
		case err != nil:
			form.SetError("expires", "Give a date, such as 2027-03-31.")
		case !at.After(r.Store.Now()):
			form.SetError("expires", "Give a date in the future.")
		}
		draft.ExpiresAt = &at
	}
	return draft
}

// positiveNumber reads a number that is 1 or more; nil where none was given.
func positiveNumber(r *page.Request, form *ui.Form, name string) *int {
	sent := r.Value(name)
	if sent == "" {
		return nil
	}
	n, err := strconv.ParseInt(sent, 10, 32) // the least size that int has on any platform
	if err != nil || n < 1 {
		form.SetError(name, "Give a whole number from 1 to 2,147,483,647, or none.")
	}
	count := int(n)
	return &count
}
