package web

import (
	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/web/ui"
)

// credentials are what somebody gave at the first step of a sign-in. Between
// the steps they stay in the server's memory, never in a page or on the disk.
type credentials struct {
	name, password string
	next           string // where to go then
}

// signInData is what the sign-in shows.
type signInData struct {
	Form *ui.Form
	// First tells that there is no user yet, and so nobody to sign in.
	First bool
	// Code tells that this is the second step.
	Code bool
}

func signInForm(next string) *ui.Form {
	return &ui.Form{
		Action: "/signin", Submit: "Sign in", Hidden: map[string]string{"next": next},
		Fields: []*ui.Field{
			{Name: "name", Label: "Name", Required: true, MaxLength: 200, Autocomplete: "username", Autofocus: true},
			{Name: "password", Label: "Password", Type: "password", Required: true, Autocomplete: "current-password"},
		},
	}
}

func codeForm() *ui.Form {
	return &ui.Form{
		Action: "/signin/code", Submit: "Sign in", Cancel: "/signin",
		Fields: []*ui.Field{{
			Name: "code", Label: "Code", Required: true, MaxLength: 40, Autocomplete: "one-time-code", Autofocus: true,
			Hint: "The six digits that your authenticator app shows now, or one of your recovery codes.",
		}},
	}
}

// signIn shows the first step: name and password.
func (v *visit) signIn() error {
	next := localPath(v.r.URL.Query().Get("next"))
	if v.signedIn() {
		v.redirect(next)
		return nil
	}
	users, err := v.Auth.Users.Any(v.r.Context())
	if err != nil {
		return err
	}
	return v.render("signin", "Sign in", signInData{Form: signInForm(next), First: !users})
}

// checkPassword takes the first step.
func (v *visit) checkPassword() error {
	given := credentials{name: v.value("name"), password: v.secret("password"), next: localPath(v.value("next"))}
	err := v.letIn(given, "")
	if db.Is(err, db.CodeNeeded) {
		v.setCookie(pendingCookie, v.pending.put(given), pendingFor)
		v.redirect("/signin/code")
		return nil
	}
	if err != nil {
		form := signInForm(given.next)
		return v.again(form, err, "signin", "Sign in", signInData{Form: form})
	}
	v.redirect(given.next)
	return nil
}

// askCode shows the second step: the code of the second factor.
func (v *visit) askCode() error {
	if _, waits := v.pending.look(v.cookie(pendingCookie)); !waits {
		v.redirect("/signin")
		return nil
	}
	return v.render("signin", "Sign in: code", signInData{Form: codeForm(), Code: true})
}

// checkCode takes the second step.
func (v *visit) checkCode() error {
	ticket := v.cookie(pendingCookie)
	given, waits := v.pending.look(ticket)
	if !waits {
		v.flash("That took too long. Sign in again.")
		v.redirect("/signin")
		return nil
	}
	code := v.value("code")
	if code == "" {
		return v.codeRefused(&db.Error{Code: db.Invalid, Param: "code", Message: "a code is needed"})
	}
	if err := v.letIn(given, code); err != nil {
		return v.codeRefused(err)
	}
	v.pending.take(ticket)
	v.clearCookie(pendingCookie)
	v.redirect(given.next)
	return nil
}

func (v *visit) codeRefused(err error) error {
	form := codeForm()
	return v.again(form, err, "signin", "Sign in: code", signInData{Form: form, Code: true})
}

// letIn signs in and gives the browser its session. One that it had before
// ends.
func (v *visit) letIn(given credentials, code string) error {
	token, _, err := v.Auth.Sessions.SignIn(v.r.Context(), auth.SignInAttempt{
		Name: given.name, Password: given.password, Code: code, Address: v.ClientAddress(v.r), Browser: v.r.UserAgent(),
		RequestID: v.requestID,
	})
	if err != nil {
		return err
	}
	if v.signedIn() {
		if err := v.Auth.Sessions.SignOut(v.r.Context(), v.session); err != nil {
			return err
		}
	}
	v.setCookie(sessionCookie, token, 0)
	return nil
}

// signOut ends the session.
func (v *visit) signOut() error {
	if err := v.Auth.Sessions.SignOut(v.r.Context(), v.session); err != nil {
		return err
	}
	return v.out("You have signed out.")
}

// out leads a user whose session has ended to the sign-in.
func (v *visit) out(message string) error {
	v.clearCookie(sessionCookie)
	v.flash(message)
	v.redirect("/signin")
	return nil
}
