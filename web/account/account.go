// Package account has the pages about people: the sign-in, the first set-up, the
// user's own account, and the users of an organisation.
package account

import (
	"fmt"
	"strings"

	"rsc.io/qr"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// accountData is the argument of the page "Account".
type accountData struct {
	User     auth.User
	Session  auth.Session
	Sessions ui.Table
	Others   *ui.Action // ends all other sessions; nil if there are none
	Password *ui.Form
	Renew    *ui.Form // of recovery codes
	Remove   *ui.Form // of the second factor
}

// factorData is the argument of the page that sets up a second factor.
type factorData struct {
	*qrCode
	Secret string // in groups of four characters, for typing
	Form   *ui.Form
}

// qrCode is a QR code as an SVG path, which needs no image file and stays sharp.
type qrCode struct {
	Size int    // width and height in modules
	Path string // of the dark modules
}

// recoveryData is the argument of the page that shows new recovery codes, once.
type recoveryData struct{ Codes []string }

// Show returns the page of the user's own account.
func Show(r *page.Request) error {
	data, err := loadAccount(r)
	if err != nil {
		return err
	}
	return r.Render("account", "Account", data)
}

func loadAccount(r *page.Request) (*accountData, error) {
	all, err := r.Auth.Sessions.List(r.Context(), r.Session.User.ID)
	if err != nil {
		return nil, err
	}
	data := &accountData{
		User: r.Session.User, Session: r.Session, Sessions: sessionTable(r, all, true), Password: ownPasswordForm(),
		Renew:  factorForm("renew-", "/account/recovery-codes", "Create new codes", "From your app. The earlier codes stop working."),
		Remove: removeFactorForm(),
	}
	if len(all) > 1 {
		data.Others = &ui.Action{Label: "End all other sessions", Path: "/account/sessions/end-others", Post: true}
	}
	return data, nil
}

// renderAccountError shows the account again, with an error in one of its forms.
func renderAccountError(r *page.Request, refusal error, form func(*accountData) *ui.Form) error {
	data, err := loadAccount(r)
	if err != nil {
		return err
	}
	return r.RenderRefused(form(data), refusal, "account", "Account", data)
}

func ownPasswordForm() *ui.Form {
	return &ui.Form{
		Action: "/account/password", Submit: "Change password",
		Fields: []*ui.Field{
			{Name: "current", Label: "Current password", Type: "password", Required: true, Autocomplete: "current-password"},
			passwordField("next", "New password"),
			repeatField("next"),
		},
	}
}

func factorForm(prefix, action, submit, hint string) *ui.Form {
	return &ui.Form{Action: action, Submit: submit, Fields: []*ui.Field{
		{Prefix: prefix, Name: "code", Label: "Code", Hint: hint, Required: true, MaxLength: 40, Autocomplete: "one-time-code"},
	}}
}

func removeFactorForm() *ui.Form {
	form := factorForm("remove-", "/account/second-factor/remove", "Turn off", "From your app, or a recovery code.")
	form.Danger = true
	return form
}

// ChangePassword changes the user's password, renews the session and ends the other
// sessions.
func ChangePassword(r *page.Request) error {
	err := checkRepeated(r, "next")
	token := ""
	if err == nil {
		token, err = r.Auth.Account.ChangePassword(r.Context(), r.Actor(), r.Session, r.RawValue("current"), r.RawValue("next"))
	}
	if err != nil {
		return renderAccountError(r, err, func(data *accountData) *ui.Form { return data.Password })
	}
	r.SetSession(token)
	return backToAccount(r, "Your password has been changed, and other browsers have been signed out.")
}

// backToAccount redirects to the account with a message.
func backToAccount(r *page.Request, message string) error {
	return r.RedirectWithMessage("/account", message)
}

// ShowSecondFactor shows a new secret for an authenticator app, and the form for its
// first code. The second factor is on after ConfirmSecondFactor.
func ShowSecondFactor(r *page.Request) error {
	data, err := loadSecondFactor(r)
	if err != nil {
		return redirectIfSetUp(r, err)
	}
	return r.Render("second-factor", "Set up a second factor", data)
}

// redirectIfSetUp redirects to the account if a second factor is on already.
func redirectIfSetUp(r *page.Request, err error) error {
	if db.Is(err, db.Conflict) {
		return backToAccount(r, page.Message(err))
	}
	return err
}

// loadSecondFactor returns the same secret until the session ends.
func loadSecondFactor(r *page.Request) (*factorData, error) {
	factor, err := r.Auth.Account.BeginSecondFactor(r.Context(), r.Session)
	if err != nil {
		return nil, err
	}
	code, err := drawQRCode(factor.URI)
	if err != nil {
		return nil, err
	}
	form := factorForm("", "/account/second-factor", "Turn on", "The six digits that the app shows now.")
	form.Cancel = "/account"
	return &factorData{code, inGroups(factor.Secret), form}, nil
}

// ConfirmSecondFactor turns the second factor on and redirects to its recovery
// codes.
func ConfirmSecondFactor(r *page.Request) error {
	codes, token, err := r.Auth.Account.ConfirmSecondFactor(r.Context(), r.Session, r.Value("code"))
	if err != nil {
		data, failed := loadSecondFactor(r)
		if failed != nil {
			return redirectIfSetUp(r, failed)
		}
		return r.RenderRefused(data.Form, err, "second-factor", "Set up a second factor", data)
	}
	r.SetSession(token)
	return redirectToCodes(r, codes)
}

// redirectToCodes redirects to the page that shows recovery codes, once.
func redirectToCodes(r *page.Request, codes []string) error {
	return r.RedirectOnce("/account/recovery-codes", codes)
}

// ShowRecoveryCodes shows new recovery codes, once.
func ShowRecoveryCodes(r *page.Request) error {
	codes, _ := r.TakeOnce().([]string)
	return r.Render("recovery-codes", "Recovery codes", recoveryData{codes})
}

// CreateRecoveryCodes replaces the recovery codes.
func CreateRecoveryCodes(r *page.Request) error {
	codes, err := r.Auth.Account.NewRecoveryCodes(r.Context(), r.Session, r.Value("code"))
	if err != nil {
		return renderAccountError(r, err, func(data *accountData) *ui.Form { return data.Renew })
	}
	return redirectToCodes(r, codes)
}

// RemoveSecondFactor turns the second factor off.
func RemoveSecondFactor(r *page.Request) error {
	token, err := r.Auth.Account.RemoveSecondFactor(r.Context(), r.Session, r.Value("code"))
	if err != nil {
		return renderAccountError(r, err, func(data *accountData) *ui.Form { return data.Remove })
	}
	r.SetSession(token)
	return backToAccount(r, "The second factor is off, and other browsers have been signed out. You now sign in with your password alone.")
}

// SignOutEverywhere ends all sessions of the user, including this one.
func SignOutEverywhere(r *page.Request) error {
	if err := r.Auth.Sessions.SignOutEverywhere(r.Context(), r.Actor(), r.Session.User.ID); err != nil {
		return err
	}
	return redirectToSignIn(r, "You have signed out everywhere.")
}

func drawQRCode(text string) (*qrCode, error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return nil, fmt.Errorf("draw the QR code of a second factor: %w", err)
	}
	const quiet = 4 // modules of white margin, by the standard
	var path strings.Builder
	for y := range code.Size {
		for x := range code.Size {
			if code.Black(x, y) {
				fmt.Fprintf(&path, "M%d %dh1v1h-1z", x+quiet, y+quiet)
			}
		}
	}
	return &qrCode{Size: code.Size + 2*quiet, Path: path.String()}, nil
}

// inGroups separates groups of four characters.
func inGroups(secret string) string {
	var groups []string
	for len(secret) > 4 {
		groups, secret = append(groups, secret[:4]), secret[4:]
	}
	return strings.Join(append(groups, secret), " ")
}
