package web

import (
	"fmt"
	"strings"

	"rsc.io/qr"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/web/ui"
)

// accountData is what the page of the user's own account shows.
type accountData struct {
	User     auth.User
	Session  auth.Session
	Sessions ui.Table
	Others   *ui.Action // ends all other sessions; nil where there is none
	Password *ui.Form
	Renew    *ui.Form
	Remove   *ui.Form
}

// factorData is what the page that sets up a second factor shows.
type factorData struct {
	*begunFactor
	Form *ui.Form
}

// begunFactor is what an authenticator app is told.
type begunFactor struct {
	Secret string // in groups of four, to be typed
	Size   int    // of the picture, in modules
	Path   string // of the picture's dark modules
}

// recoveryData is what the page with new recovery codes shows, once.
type recoveryData struct{ Codes []string }

// account shows the user's own account.
func (v *visit) account() error {
	data, err := v.accountData()
	if err != nil {
		return err
	}
	return v.render("account", "Account", data)
}

func (v *visit) accountData() (*accountData, error) {
	all, err := v.Auth.Sessions.List(v.r.Context(), v.session.User.ID)
	if err != nil {
		return nil, err
	}
	data := &accountData{
		User: v.session.User, Session: v.session, Sessions: v.sessionTable(all, true), Password: ownPasswordForm(),
		Renew:  factorForm("renew-", "/account/recovery-codes", "Make new codes", "From your app. The codes made before stop working."),
		Remove: removeFactorForm(),
	}
	if len(all) > 1 {
		data.Others = &ui.Action{Label: "End all other sessions", Path: "/account/sessions/end-others", Post: true}
	}
	return data, nil
}

// refuseAccount shows the account again with a fault in one of its forms.
func (v *visit) refuseAccount(fault error, form func(*accountData) *ui.Form) error {
	data, err := v.accountData()
	if err != nil {
		return err
	}
	return v.again(form(data), fault, "account", "Account", data)
}

func ownPasswordForm() *ui.Form {
	return &ui.Form{
		Action: "/account/password", Submit: "Change the password",
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
	form := factorForm("remove-", "/account/second-factor/remove", "Turn it off", "From your app, or a recovery code.")
	form.Danger = true
	return form
}

// changePassword gives the user another password, renews the session and ends
// the others.
func (v *visit) changePassword() error {
	err := v.repeated("next")
	token := ""
	if err == nil {
		token, err = v.Auth.Account.ChangePassword(v.r.Context(), v.by(), v.session, v.secret("current"), v.secret("next"))
	}
	if err != nil {
		return v.refuseAccount(err, func(data *accountData) *ui.Form { return data.Password })
	}
	v.renewed(token)
	return v.done("Your password has been changed, and other browsers have been signed out.")
}

// done leads back to the account with a message.
func (v *visit) done(message string) error {
	v.flash(message)
	v.redirect("/account")
	return nil
}

// secondFactor shows what an authenticator app needs, and the form that
// confirms. Nothing is in force until a code shows that the app has it.
func (v *visit) secondFactor() error {
	data, err := v.factorData()
	if err != nil {
		return v.unless(err)
	}
	return v.render("second-factor", "Set up a second factor", data)
}

// unless leads back to the account where a second factor is on already.
func (v *visit) unless(err error) error {
	if db.Is(err, db.Conflict) {
		return v.done(message(err))
	}
	return err
}

// factorData shows the same secret for as long as the session lasts.
func (v *visit) factorData() (*factorData, error) {
	factor, err := v.Auth.Account.BeginSecondFactor(v.r.Context(), v.session)
	if err != nil {
		return nil, err
	}
	begun, err := newBegunFactor(factor)
	if err != nil {
		return nil, err
	}
	form := factorForm("", "/account/second-factor", "Turn it on", "The six digits that the app shows now.")
	form.Cancel = "/account"
	return &factorData{begun, form}, nil
}

// confirmSecondFactor turns it on and leads to its recovery codes.
func (v *visit) confirmSecondFactor() error {
	codes, token, err := v.Auth.Account.ConfirmSecondFactor(v.r.Context(), v.session, v.value("code"))
	if err != nil {
		data, begun := v.factorData()
		if begun != nil {
			return v.unless(begun)
		}
		return v.again(data.Form, err, "second-factor", "Set up a second factor", data)
	}
	v.renewed(token)
	return v.showCodes(codes)
}

// showCodes leads to the page that shows recovery codes, once.
func (v *visit) showCodes(codes []string) error {
	v.redirect(ui.WithQuery("/account/recovery-codes", "once", v.keepOnce(codes)))
	return nil
}

// recoveryCodes shows new recovery codes, once.
func (v *visit) recoveryCodes() error {
	codes, _ := v.takeOnce().([]string)
	return v.render("recovery-codes", "Recovery codes", recoveryData{codes})
}

// newRecoveryCodes makes other recovery codes.
func (v *visit) newRecoveryCodes() error {
	codes, err := v.Auth.Account.NewRecoveryCodes(v.r.Context(), v.session, v.value("code"))
	if err != nil {
		return v.refuseAccount(err, func(data *accountData) *ui.Form { return data.Renew })
	}
	return v.showCodes(codes)
}

// removeSecondFactor turns the second factor off.
func (v *visit) removeSecondFactor() error {
	token, err := v.Auth.Account.RemoveSecondFactor(v.r.Context(), v.session, v.value("code"))
	if err != nil {
		return v.refuseAccount(err, func(data *accountData) *ui.Form { return data.Remove })
	}
	v.renewed(token)
	return v.done("The second factor is off, and other browsers have been signed out. Your password alone signs you in.")
}

// signOutEverywhere ends all of the user's sessions, this one too.
func (v *visit) signOutEverywhere() error {
	if err := v.Auth.Sessions.SignOutEverywhere(v.r.Context(), v.by(), v.session.User.ID); err != nil {
		return err
	}
	return v.out("You have signed out everywhere.")
}

// newBegunFactor draws the picture as one path of squares, so that it needs no
// image file and stays sharp.
func newBegunFactor(factor auth.SecondFactor) (*begunFactor, error) {
	code, err := qr.Encode(factor.URI, qr.M)
	if err != nil {
		return nil, fmt.Errorf("the picture of a second factor: %w", err)
	}
	const quiet = 4 // modules of white around it, as the standard wants
	var path strings.Builder
	for y := range code.Size {
		for x := range code.Size {
			if code.Black(x, y) {
				fmt.Fprintf(&path, "M%d %dh1v1h-1z", x+quiet, y+quiet)
			}
		}
	}
	return &begunFactor{Secret: grouped(factor.Secret), Size: code.Size + 2*quiet, Path: path.String()}, nil
}

func grouped(secret string) string {
	var groups []string
	for len(secret) > 4 {
		groups, secret = append(groups, secret[:4]), secret[4:]
	}
	return strings.Join(append(groups, secret), " ")
}
