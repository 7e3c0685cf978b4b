package web

import (
	"fmt"
	"net/http"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/web/ui"
)

// setupData is what the page for making the first admin shows.
type setupData struct {
	Open bool // the link works
	// Users tells that there are users already, so that no link is needed.
	Users bool
	Form  *ui.Form
}

// setup shows the form for making the first admin to who has the link.
func (v *visit) setup() error {
	return v.showSetup(v.r.URL.Query().Get("token"))
}

func (v *visit) showSetup(token string) error {
	users, err := v.Auth.Users.Any(v.r.Context())
	if err != nil {
		return err
	}
	data := setupData{Open: !users && v.FirstLink.open(token), Users: users}
	if !data.Open {
		return v.renderStatus(http.StatusGone, "setup", "This link does not work", data)
	}
	data.Form = setupForm(token)
	return v.render("setup", "Make the first admin", data)
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

// repeated refuses a new password that was not typed the same twice.
func (v *visit) repeated(name string) error {
	if v.secret(name) == v.secret(name+"-again") {
		return nil
	}
	return &db.Error{Code: db.Invalid, Param: name + "-again", Message: "the two passwords differ"}
}

// createFirstUser makes the first admin and signs it in.
func (v *visit) createFirstUser() error {
	token := v.secret("token")
	if !v.FirstLink.open(token) {
		return v.showSetup(token)
	}
	err := v.repeated("password")
	if err == nil {
		_, err = v.Auth.Users.CreateFirst(v.r.Context(), db.Actor{Address: v.ClientAddress(v.r), RequestID: v.requestID}, v.value("name"), v.secret("password"))
	}
	if db.Is(err, db.Conflict) { // somebody was faster
		return v.showSetup(token)
	}
	if err != nil {
		form := setupForm(token)
		return v.again(form, err, "setup", "Make the first admin", setupData{Open: true, Form: form})
	}
	v.FirstLink.use()
	if err := v.letIn(credentials{name: v.value("name"), password: v.secret("password")}, ""); err != nil {
		return err
	}
	v.redirect("/")
	return nil
}
