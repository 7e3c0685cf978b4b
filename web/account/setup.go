package account

import (
	"fmt"
	"net/http"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// setupData is the argument of the page that creates the first administrator.
type setupData struct {
	Open  bool // the link is valid
	Users bool // users exist, so that no link is needed
	Form  *ui.Form
}

// ShowSetup shows the form for the first administrator if the link is valid.
func (s *SignIn) ShowSetup(r *page.Request) error {
	return s.renderSetup(r, r.HTTP.URL.Query().Get("token"))
}

func (s *SignIn) renderSetup(r *page.Request, token string) error {
	users, err := r.Auth.Users.Any(r.Context())
	if err != nil {
		return err
	}
	data := setupData{Open: !users && s.link.valid(token), Users: users}
	if !data.Open {
		return r.RenderStatus(http.StatusGone, "setup", "This link does not work", data)
	}
	data.Form = setupForm(token)
	return r.Render("setup", "Create the first administrator", data)
}

func setupForm(token string) *ui.Form {
	return &ui.Form{
		Action: "/setup", Submit: "Create account and sign in", Hidden: map[string]string{"token": token},
		Fields: []*ui.Field{
			{Name: "name", Label: "Name", Hint: "You sign in with this name. An e-mail address is fine.", Required: true, MaxLength: 200, Autocomplete: "username", Autofocus: true},
			passwordField("password", "Password"),
			repeatField("password"),
		},
	}
}

// passwordLength is a sentence of hints.
var passwordLength = fmt.Sprintf("At least %d characters. ", auth.MinPassword)

func passwordField(name, label string) *ui.Field {
	return &ui.Field{
		Name: name, Label: label, Type: "password", Required: true, Autocomplete: "new-password", MinLength: auth.MinPassword,
		Hint: passwordLength + "A few words in a row are easier to remember than symbols.",
	}
}

// repeatField asks for the password of another field again.
func repeatField(of string) *ui.Field {
	return &ui.Field{Name: of + "-again", Label: "Confirm password", Type: "password", Required: true, Autocomplete: "new-password"}
}

// checkRepeated refuses a new password if the two fields differ.
func checkRepeated(r *page.Request, name string) error {
	if r.RawValue(name) == r.RawValue(name+"-again") {
		return nil
	}
	return &db.Error{Code: db.Invalid, Param: name + "-again", Message: "the two passwords differ"}
}

// CreateFirstUser creates the first administrator and signs in.
func (s *SignIn) CreateFirstUser(r *page.Request) error {
	token := r.RawValue("token")
	if !s.link.valid(token) {
		return s.renderSetup(r, token)
	}
	err := checkRepeated(r, "password")
	if err == nil {
		_, err = r.Auth.Users.CreateFirst(r.Context(), db.Actor{Address: r.ClientAddress(), RequestID: r.ID}, r.Value("name"), r.RawValue("password"))
	}
	if db.Is(err, db.Conflict) { // another request created the first user
		return s.renderSetup(r, token)
	}
	if err != nil {
		form := setupForm(token)
		return r.RenderRefused(form, err, "setup", "Create the first administrator", setupData{Open: true, Form: form})
	}
	s.link.invalidate()
	if err := signIn(r, credentials{name: r.Value("name"), password: r.RawValue("password")}, ""); err != nil {
		return err
	}
	return r.Redirect("/")
}
