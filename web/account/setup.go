package account

import (
	"fmt"
	"net/http"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// setupData is what the page for making the first admin shows.
type setupData struct {
	Open bool // the link works
	// Users tells that there are users already, so that no link is needed.
	Users bool
	Form  *ui.Form
}

// ShowSetup shows the form for making the first admin to who has the link.
func (s *SignIn) ShowSetup(r *page.Request) error {
	return s.renderSetup(r, r.HTTP.URL.Query().Get("token"))
}

func (s *SignIn) renderSetup(r *page.Request, token string) error {
	users, err := r.Auth.Users.Any(r.Context())
	if err != nil {
		return err
	}
	data := setupData{Open: !users && s.link.open(token), Users: users}
	if !data.Open {
		return r.RenderStatus(http.StatusGone, "setup", "This link does not work", data)
	}
	data.Form = setupForm(token)
	return r.Render("setup", "Make the first admin", data)
}

func setupForm(token string) *ui.Form {
	return &ui.Form{
		Action: "/setup", Submit: "Make the admin and sign in", Hidden: map[string]string{"token": token},
		Fields: []*ui.Field{
			{Name: "name", Label: "Name", Hint: "You sign in with it; an e-mail address will do.", Required: true, MaxLength: 200, Autocomplete: "username", Autofocus: true},
			passwordField("password", "Password"),
			repeatField("password"),
		},
	}
}

// passwordLength is the sentence of a hint.
var passwordLength = fmt.Sprintf("At least %d characters. ", auth.MinPassword)

func passwordField(name, label string) *ui.Field {
	return &ui.Field{
		Name: name, Label: label, Type: "password", Required: true, Autocomplete: "new-password", MinLength: auth.MinPassword,
		Hint: passwordLength + "A few words in a row are easier to keep in mind than signs.",
	}
}

func repeatField(of string) *ui.Field {
	return &ui.Field{Name: of + "-again", Label: "The same again", Type: "password", Required: true, Autocomplete: "new-password"}
}

// checkRepeated refuses a new password that was not typed the same twice.
func checkRepeated(r *page.Request, name string) error {
	if r.RawValue(name) == r.RawValue(name+"-again") {
		return nil
	}
	return &db.Error{Code: db.Invalid, Param: name + "-again", Message: "the two passwords differ"}
}

// CreateFirstUser makes the first admin and signs it in.
func (s *SignIn) CreateFirstUser(r *page.Request) error {
	token := r.RawValue("token")
	if !s.link.open(token) {
		return s.renderSetup(r, token)
	}
	err := checkRepeated(r, "password")
	if err == nil {
		_, err = r.Auth.Users.CreateFirst(r.Context(), db.Actor{Address: r.ClientAddress(), RequestID: r.ID}, r.Value("name"), r.RawValue("password"))
	}
	if db.Is(err, db.Conflict) { // somebody was faster
		return s.renderSetup(r, token)
	}
	if err != nil {
		form := setupForm(token)
		return r.RenderRefused(form, err, "setup", "Make the first admin", setupData{Open: true, Form: form})
	}
	s.link.use()
	if err := signIn(r, credentials{name: r.Value("name"), password: r.RawValue("password")}, ""); err != nil {
		return err
	}
	return r.Redirect("/")
}
