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

// newKeyData is the argument of the page that creates a key.
type newKeyData struct {
	Form   *ui.Form
	Scopes []*ui.Field // fields of Form with scopes
	Rest   []*ui.Field // other fields of Form
}

// NewKey shows the form for a new key.
func NewKey(r *page.Request) error {
	return r.Render("key-new", "Create API key", arrangeKeyForm(newKeyForm(r)))
}

// arrangeKeyForm groups the fields of the form.
func arrangeKeyForm(form *ui.Form) newKeyData {
	data := newKeyData{Form: form}
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

// Name returns the field for the name, which is above the scopes.
func (d newKeyData) Name() *ui.Field { return d.Form.Field("name") }

func newKeyForm(r *page.Request) *ui.Form {
	terms := r.Caller.Entitlements
	form := &ui.Form{Action: "/keys/new", Submit: "Create API key", Cancel: "/keys", Fields: []*ui.Field{{
		Name: "name", Label: "Name", Hint: "What the key is for: a program, a team, a machine.", Required: true, MaxLength: db.KeyNameLimit, Autofocus: true,
	}}}
	form.Fields = append(form.Fields, scopeFields(r)...)
	form.Fields = append(form.Fields,
		&ui.Field{Name: "kind", Label: "Type", Type: "select", Hint: "The type of a key can't be changed.", Value: db.LiveKey, Required: true, Options: []ui.Option{
			{Value: db.LiveKey, Label: "Live: works on this organisation's data"}, {Value: db.TestKey, Label: "Test: works on synthetic data only"},
		}},
		&ui.Field{Name: "expires", Label: "Expires on", Type: "date", Hint: "The key ends at the start of this day, in UTC. Without a date it is valid until it is revoked."},
		&ui.Field{
			Name: "rpm", Label: "Requests per minute", Type: "number", InputMode: "numeric", Step: "1",
			Hint: "Replaces the limit of the plan, " + ui.FormatNumber(terms.PerMinute) + ".",
		},
		&ui.Field{
			Name: "rpd", Label: "Requests per 24 hours", Type: "number", InputMode: "numeric", Step: "1",
			Hint: "Replaces the limit of the plan, " + ui.FormatNumber(terms.PerDay) + ".",
		},
	)
	return form
}

// scopeFields returns check boxes for scopes, grouped by their first word.
func scopeFields(r *page.Request) []*ui.Field {
	fields := []*ui.Field{
		{Prefix: "read-", Name: "scope", Label: "Read access", Type: "checks"},
		{Prefix: "write-", Name: "scope", Label: "Write access", Type: "checks"},
		{Prefix: "manage-", Name: "scope", Label: "Management", Type: "checks"},
	}
	for _, scope := range openapi.Scopes() {
		option := ui.Option{Value: scope, Label: scope, Hint: scopeDescription(r, scope)}
		for _, field := range fields {
			switch {
			case !strings.HasPrefix(scope, strings.TrimSuffix(field.Prefix, "-")+":"):
			case scope == readAll: // includes the others, so it is above them
				field.Options = slices.Insert(field.Options, 0, option)
			default:
				field.Options = append(field.Options, option)
			}
		}
	}
	return fields
}

// Scopes with special rules.
const (
	readAll        = "read:all" // includes all read scopes except readAudit
	readAudit      = "read:audit"
	manageWebhooks = "manage:webhooks"
)

// webhooksRead warns that manage:webhooks gives access to records
// (specification, Events).
const webhooksRead = "The key receives the records that events carry, such as risks, scorecards and roadmaps, even without a read scope."

// scopeDescription lists the operations of a scope, in the words of the document,
// and notes those that the plan does not include.
func scopeDescription(r *page.Request, scope string) string {
	if scope == readAll {
		return "Every read scope except " + readAudit
	}
	var operations []string
	missing := ""
	for _, op := range r.Document.Operations {
		if op.Scope != scope {
			continue
		}
		summary := op.Summary
		if len(operations) > 0 {
			summary = strings.ToLower(summary[:1]) + summary[1:]
		}
		operations = append(operations, summary)
		if op.Feature != "" && !slices.Contains(r.Caller.Entitlements.Features, op.Feature) {
			missing = " (not in the plan " + string(r.Session.Organisation.Plan) + ")"
		}
	}
	text := strings.Join(operations, ", ") + missing
	if scope == manageWebhooks {
		text += ". " + webhooksRead
	}
	return text
}

// CreateKey creates a key, which is shown once.
func CreateKey(r *page.Request) error {
	form := newKeyForm(r)
	draft := keyDraft(r, form)
	if form.FieldErrors() > 0 {
		form.Fill(r.HTTP.PostForm)
		return r.RenderStatus(http.StatusUnprocessableEntity, "key-new", "Create API key", arrangeKeyForm(form))
	}
	created, plain, err := r.Store.Keys.Mint(r.Context(), r.Actor(), draft)
	if err != nil {
		return err
	}
	return redirectToCreatedKey(r, createdKey{Key: created, Plain: plain})
}

// keyDraft reads the form and sets the errors of its fields.
func keyDraft(r *page.Request, form *ui.Form) db.KeyDraft {
	draft := db.KeyDraft{Name: r.Value("name"), Kind: r.Value("kind"), PerMinute: positiveNumber(r, form, "rpm"), PerDay: positiveNumber(r, form, "rpd")}
	switch {
	case draft.Name == "":
		form.SetError("name", "Enter a name, so that you can recognise the key.")
	case utf8.RuneCountInString(draft.Name) > db.KeyNameLimit:
		form.SetError("name", "Enter at most "+strconv.Itoa(db.KeyNameLimit)+" characters.")
	case strings.ContainsFunc(draft.Name, unicode.IsControl):
		form.SetError("name", "Remove line breaks and control characters.")
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
			form.SetError("expires", "Enter a date, such as 2027-03-31.")
		case !at.After(r.Store.Now()):
			form.SetError("expires", "Enter a date in the future.")
		}
		draft.ExpiresAt = &at
	}
	return draft
}

// positiveNumber reads a number of 1 or more. It returns nil for an empty field.
func positiveNumber(r *page.Request, form *ui.Form, name string) *int {
	sent := r.Value(name)
	if sent == "" {
		return nil
	}
	n, err := strconv.ParseInt(sent, 10, 32) // int has at least 32 bits
	if err != nil || n < 1 {
		form.SetError(name, "Enter a whole number from 1 to 2,147,483,647, or leave the field empty.")
	}
	count := int(n)
	return &count
}
