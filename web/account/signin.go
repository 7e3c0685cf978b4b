package account

import (
	"time"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// credentials are the input of the first step of a sign-in. Until the second step
// they are in memory, never in a page or on disk.
type credentials struct {
	name, password string
	next           string // path after the sign-in
}

// pendingCookie holds the ticket of a sign-in that waits for its code.
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

// signInData is the argument of the sign-in page.
type signInData struct {
	Form  *ui.Form
	First bool // no user exists
	Code  bool // this is the second step
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

// Show returns the first step: name and password.
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

// CheckPassword completes the first step.
func (s *SignIn) CheckPassword(r *page.Request) error {
	entered := credentials{name: r.Value("name"), password: r.RawValue("password"), next: page.LocalPath(r.Value("next"))}
	err := signIn(r, entered, "")
	if db.Is(err, db.CodeNeeded) {
		r.SetCookie(pendingCookie, s.pending.Put(entered), pendingFor)
		return r.Redirect("/signin/code")
	}
	if err != nil {
		form := signInForm(entered.next)
		return r.RenderRefused(form, err, "signin", "Sign in", signInData{Form: form})
	}
	return r.Redirect(entered.next)
}

// ShowCode returns the second step: the code of the second factor.
func (s *SignIn) ShowCode(r *page.Request) error {
	if _, waits := s.pending.Peek(r.Cookie(pendingCookie)); !waits {
		return r.Redirect("/signin")
	}
	return r.Render("signin", "Sign in: code", signInData{Form: codeForm(), Code: true})
}

// CheckCode completes the second step.
func (s *SignIn) CheckCode(r *page.Request) error {
	ticket := r.Cookie(pendingCookie)
	entered, waits := s.pending.Peek(ticket)
	if !waits {
		return r.RedirectWithMessage("/signin", "The sign-in took too long. Sign in again.")
	}
	code := r.Value("code")
	if code == "" {
		return renderCodeError(r, &db.Error{Code: db.Invalid, Param: "code", Message: "enter a code"})
	}
	if err := signIn(r, entered, code); err != nil {
		return renderCodeError(r, err)
	}
	s.pending.Take(ticket)
	r.ClearCookie(pendingCookie)
	return r.Redirect(entered.next)
}

func renderCodeError(r *page.Request, err error) error {
	form := codeForm()
	return r.RenderRefused(form, err, "signin", "Sign in: code", signInData{Form: form, Code: true})
}

// signIn starts a session and ends the session that the browser had before.
func signIn(r *page.Request, entered credentials, code string) error {
	token, _, err := r.Auth.Sessions.SignIn(r.Context(), auth.SignInAttempt{
		Name: entered.name, Password: entered.password, Code: code, Address: r.ClientAddress(), Browser: r.HTTP.UserAgent(),
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

// SignOut ends the current session.
func SignOut(r *page.Request) error {
	if err := r.Auth.Sessions.SignOut(r.Context(), r.Session); err != nil {
		return err
	}
	return redirectToSignIn(r, "You have signed out.")
}

// redirectToSignIn redirects to the sign-in after the end of the session.
func redirectToSignIn(r *page.Request, message string) error {
	r.ClearSession()
	return r.RedirectWithMessage("/signin", message)
}
