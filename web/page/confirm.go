package page

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"govsvc/db"
	"govsvc/web/ui"
)

// confirmPath is the page that asks for the password or a code before a page with
// FreshProof.
const confirmPath = "/account/confirm"

// confirmField is the field of the password or the code. No other form has a field
// of this name.
const confirmField = "confirm-secret"

// secretFields are never sent back to the browser.
var secretFields = []string{confirmField, "password", "password-again", "current", "next-again", "code", "token"}

// confirmData is the argument of the page "Confirm it is you".
type confirmData struct {
	Form *ui.Form
	Code bool // the form asks for a code instead of the password
}

const confirmTitle = "Confirm it is you"

// confirmationForm asks for the password or a code. It carries the values that
// were sent to action, so that the interrupted action can continue.
func confirmationForm(r *Request, action string, values url.Values) *ui.Form {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.HTTP.URL.Path, "/"), "/")
	if next := values.Get("next"); first == "account" && next != "" {
		first, _, _ = strings.Cut(strings.TrimPrefix(LocalPath(next), "/"), "/")
	}
	form := &ui.Form{Action: action, Submit: "Confirm", Cancel: "/" + url.PathEscape(first), Carried: url.Values{}}
	for name, list := range values {
		if !slices.Contains(secretFields, name) {
			form.Carried[name] = list
		}
	}
	field := &ui.Field{Name: confirmField, Label: "Password", Type: "password", Required: true, Autocomplete: "current-password", Autofocus: true}
	if r.Session.User.SecondFactor {
		field = &ui.Field{
			Name: confirmField, Label: "Code", Required: true, MaxLength: 40, Autocomplete: "one-time-code", Autofocus: true,
			Hint: "The six digits that your authenticator app shows now, or one of your recovery codes.",
		}
	}
	form.Fields = []*ui.Field{field}
	return form
}

// requireConfirmation returns true if the route needs no fresh proof or has one.
// Otherwise it answers with the page that asks for the proof.
func requireConfirmation(r *Request) (bool, error) {
	if r.route.Proof != FreshProof || r.Session.Fresh(r.Store.Now()) {
		return true, nil
	}
	if r.HTTP.Method != http.MethodPost {
		return false, r.Redirect(ui.WithQuery(confirmPath, "next", r.HTTP.URL.RequestURI()))
	}
	form := confirmationForm(r, r.HTTP.URL.RequestURI(), r.HTTP.PostForm)
	if !r.HTTP.PostForm.Has(confirmField) {
		return false, r.RenderStatus(http.StatusForbidden, "confirm-page", confirmTitle, confirmData{form, r.Session.User.SecondFactor})
	}
	if err := checkConfirmation(r); err != nil {
		return false, r.RenderRefused(form, err, "confirm-page", confirmTitle, confirmData{form, r.Session.User.SecondFactor})
	}
	r.HTTP.PostForm.Del(confirmField)
	return true, nil
}

// checkConfirmation checks the password or the code of the sent form.
func checkConfirmation(r *Request) error {
	secret := r.RawValue(confirmField)
	if secret == "" {
		what := "the password"
		if r.Session.User.SecondFactor {
			what = "a code"
		}
		return &db.Error{Code: db.Invalid, Param: confirmField, Message: "enter " + what}
	}
	err := r.Auth.Account.Confirm(r.Context(), r.Actor(), r.Session, secret)
	var refused *db.Error
	if errors.As(err, &refused) && refused.Code == db.Invalid {
		other := *refused
		other.Param = confirmField
		return &other
	}
	return err
}

// AskConfirmation returns the page that asks for the password or a code.
func AskConfirmation(r *Request) error {
	next := LocalPath(r.HTTP.URL.Query().Get("next"))
	if r.Session.Fresh(r.Store.Now()) {
		return r.Redirect(next)
	}
	return r.Render("confirm-page", confirmTitle, confirmData{confirmationForm(r, confirmPath, url.Values{"next": {next}}), r.Session.User.SecondFactor})
}

// Confirm checks the password or the code and redirects to the page that needs it.
func Confirm(r *Request) error {
	next := LocalPath(r.Value("next"))
	if err := checkConfirmation(r); err != nil {
		form := confirmationForm(r, confirmPath, url.Values{"next": {next}})
		return r.RenderRefused(form, err, "confirm-page", confirmTitle, confirmData{form, r.Session.User.SecondFactor})
	}
	return r.Redirect(next)
}
