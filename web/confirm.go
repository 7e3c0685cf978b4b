package web

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"govsvc/db"
	"govsvc/web/ui"
)

// proof says what proof of identity a page takes beside the session. Zero is
// none.
type proof int

const (
	// freshProof: the password or a code was given within auth.ConfirmedFor. Where
	// it was not, the page "Confirm it is you" asks for it first.
	freshProof proof = iota + 1
	// ownProof: the page's own form asks for the password or a code every time.
	ownProof
)

// confirmPath is the page that asks for the password or a code before a page
// that takes a fresh one.
const confirmPath = "/account/confirm"

// confirmField is the field of the password or the code. No other form has one
// of this name.
const confirmField = "confirm-secret"

// secretFields are never sent back to the browser. Their user types them again.
var secretFields = []string{confirmField, "password", "password-again", "current", "next-again", "code", "token"}

// confirmData is what the page "Confirm it is you" shows.
type confirmData struct {
	Form *ui.Form
	Code bool // it asks for a code, not for the password
}

const confirmTitle = "Confirm it is you"

// confirmForm asks for the password or a code. The form goes to action with the
// values that were sent there, so that the page goes on with them.
func (v *visit) confirmForm(action string, values url.Values) *ui.Form {
	first, _, _ := strings.Cut(strings.TrimPrefix(v.r.URL.Path, "/"), "/")
	if next := values.Get("next"); first == "account" && next != "" {
		first, _, _ = strings.Cut(strings.TrimPrefix(localPath(next), "/"), "/")
	}
	form := &ui.Form{Action: action, Submit: "Confirm", Cancel: "/" + url.PathEscape(first), Carried: url.Values{}}
	for name, list := range values {
		if !slices.Contains(secretFields, name) {
			form.Carried[name] = list
		}
	}
	field := &ui.Field{Name: confirmField, Label: "Password", Type: "password", Required: true, Autocomplete: "current-password", Autofocus: true}
	if v.session.User.SecondFactor {
		field = &ui.Field{
			Name: confirmField, Label: "Code", Required: true, MaxLength: 40, Autocomplete: "one-time-code", Autofocus: true,
			Hint: "The six digits that your authenticator app shows now, or one of your recovery codes.",
		}
	}
	form.Fields = []*ui.Field{field}
	return form
}

// confirm reports whether a page that takes a fresh proof may go on. Otherwise
// the request has been answered with the page that asks for the proof.
func (v *visit) confirm() (bool, error) {
	if v.page.proof != freshProof || v.session.Fresh(v.Store.Now()) {
		return true, nil
	}
	if v.r.Method != http.MethodPost {
		v.redirect(ui.WithQuery(confirmPath, "next", v.r.URL.RequestURI()))
		return false, nil
	}
	form := v.confirmForm(v.r.URL.RequestURI(), v.r.PostForm)
	if !v.r.PostForm.Has(confirmField) {
		return false, v.renderStatus(http.StatusForbidden, "confirm-page", confirmTitle, confirmData{form, v.session.User.SecondFactor})
	}
	if err := v.checkProof(); err != nil {
		return false, v.again(form, err, "confirm-page", confirmTitle, confirmData{form, v.session.User.SecondFactor})
	}
	v.r.PostForm.Del(confirmField)
	return true, nil
}

// checkProof checks the password or the code of the sent form.
func (v *visit) checkProof() error {
	secret := v.secret(confirmField)
	if secret == "" {
		what := "the password"
		if v.session.User.SecondFactor {
			what = "a code"
		}
		return &db.Error{Code: db.Invalid, Param: confirmField, Message: "enter " + what}
	}
	err := v.Auth.Account.Confirm(v.r.Context(), v.by(), v.session, secret)
	var refused *db.Error
	if errors.As(err, &refused) && refused.Code == db.Invalid {
		other := *refused
		other.Param = confirmField
		return &other
	}
	return err
}

// askProof shows the page that asks for the password or a code.
func (v *visit) askProof() error {
	next := localPath(v.r.URL.Query().Get("next"))
	if v.session.Fresh(v.Store.Now()) {
		v.redirect(next)
		return nil
	}
	return v.render("confirm-page", confirmTitle, confirmData{v.confirmForm(confirmPath, url.Values{"next": {next}}), v.session.User.SecondFactor})
}

// takeProof checks the password or the code and goes on to the page that
// asked for it.
func (v *visit) takeProof() error {
	next := localPath(v.value("next"))
	if err := v.checkProof(); err != nil {
		form := v.confirmForm(confirmPath, url.Values{"next": {next}})
		return v.again(form, err, "confirm-page", confirmTitle, confirmData{form, v.session.User.SecondFactor})
	}
	v.redirect(next)
	return nil
}
