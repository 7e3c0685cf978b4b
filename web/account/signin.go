package account

import (
	"time"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// credentials are what somebody gave at the first step of a sign-in. Between
// the steps they stay in the server's memory, never in a page or on the disk.
type credentials struct {
	name, password string
	next           string // where to go then
}

// pendingCookie has the ticket of a sign-in that waits for its code.
const (
	pendingCookie = "govsvc_signin"
	pendingFor    = 5 * time.Minute
)

// SignIn has the pages of the sign-in and those that create the first user.
type SignIn struct {
	pending *page.Tickets[credentials] // sign-ins that wait for a code
	link    *FirstLink
}

// NewSignIn makes the pages. link is nil if users exist.
func NewSignIn(now func() time.Time, link *FirstLink) *SignIn {
	return &SignIn{page.NewTickets[credentials](now, pendingFor, page.MaxTickets), link}
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

// Show shows the first step: name and password.
func (s *SignIn) Show(r *page.Request) error {
	next := page.LocalPath(r.HTTP.URL.Query().Get("next"))
	if r.SignedIn() {
		return r.Redirect(next)
	}
	users, err := r.Auth.Users.Any(r.Context())
	if err != nil {
		return err
	}
	return r.Render("signin", "Sign in", signInData{Form: signInForm(next), First: !users})
}

// CheckPassword takes the first step.
func (s *SignIn) CheckPassword(r *page.Request) error {
	given := credentials{name: r.Value("name"), password: r.RawValue("password"), next: page.LocalPath(r.Value("next"))}
	err := signIn(r, given, "")
	if db.Is(err, db.CodeNeeded) {
		r.SetCookie(pendingCookie, s.pending.Put(given), pendingFor)
		return r.Redirect("/signin/code")
	}
	if err != nil {
		form := signInForm(given.next)
		return r.RenderRefused(form, err, "signin", "Sign in", signInData{Form: form})
	}
	return r.Redirect(given.next)
}

// ShowCode shows the second step: the code of the second factor.
func (s *SignIn) ShowCode(r *page.Request) error {
	if _, waits := s.pending.Peek(r.Cookie(pendingCookie)); !waits {
		return r.Redirect("/signin")
	}
	return r.Render("signin", "Sign in: code", signInData{Form: codeForm(), Code: true})
}

// CheckCode takes the second step.
func (s *SignIn) CheckCode(r *page.Request) error {
	ticket := r.Cookie(pendingCookie)
	given, waits := s.pending.Peek(ticket)
	if !waits {
		return r.RedirectWithMessage("/signin", "That took too long. Sign in again.")
	}
	code := r.Value("code")
	if code == "" {
		return renderCodeError(r, &db.Error{Code: db.Invalid, Param: "code", Message: "a code is needed"})
	}
	if err := signIn(r, given, code); err != nil {
		return renderCodeError(r, err)
	}
	s.pending.Take(ticket)
	r.ClearCookie(pendingCookie)
	return r.Redirect(given.next)
}

func renderCodeError(r *page.Request, err error) error {
	form := codeForm()
	return r.RenderRefused(form, err, "signin", "Sign in: code", signInData{Form: form, Code: true})
}

// signIn signs in and gives the browser its session. One that it had before
// ends.
func signIn(r *page.Request, given credentials, code string) error {
	token, _, err := r.Auth.Sessions.SignIn(r.Context(), auth.SignInAttempt{
		Name: given.name, Password: given.password, Code: code, Address: r.ClientAddress(), Browser: r.HTTP.UserAgent(),
		RequestID: r.ID,
	})
	if err != nil {
		return err
	}
	if r.SignedIn() {
		if err := r.Auth.Sessions.SignOut(r.Context(), r.Session); err != nil {
			return err
		}
	}
	r.SetSession(token)
	return nil
}

// SignOut ends the session.
func SignOut(r *page.Request) error {
	if err := r.Auth.Sessions.SignOut(r.Context(), r.Session); err != nil {
		return err
	}
	return redirectToSignIn(r, "You have signed out.")
}

// redirectToSignIn leads a user whose session has ended to the sign-in.
func redirectToSignIn(r *page.Request, message string) error {
	r.ClearSession()
	return r.RedirectWithMessage("/signin", message)
}
