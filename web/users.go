package web

import (
	"cmp"
	"net/http"
	"slices"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/web/ui"
)

// usersData is what the list of users shows.
type usersData struct {
	Organisation string
	MayChange    bool
	Table        ui.Table
	Pager        ui.Pager
}

// usersOnPage bounds a page of the list of users.
const usersOnPage = 100

// users lists the members of the organisation.
func (v *visit) users() error {
	all, err := v.Auth.Users.List(v.r.Context(), v.session.Organisation.Org)
	if err != nil {
		return err
	}
	data := usersData{Organisation: v.session.Organisation.Name, MayChange: v.may(auth.Administer), Table: ui.Table{Caption: "Users", Columns: []ui.Column{
		{Label: "Name"}, {Label: "Role", Kind: ui.Badge}, {Label: "Second factor", Kind: ui.Badge}, {Label: "Last sign-in", Kind: ui.Time}, {Label: "Added", Kind: ui.Time},
	}}}
	all, data.Pager = ui.Paginate(all, usersOnPage, v.r.URL.Query().Get("page"), func(page int) string { return ui.WithQuery("/users", "page", page) })
	data.Pager.One, data.Pager.Many = "user", "users"
	for _, u := range all {
		data.Table.Rows = append(data.Table.Rows, ui.Row{Href: ui.Path("users", u.ID), Cells: []any{u.Name, u.Role, factorState(u), u.LastSignInAt, u.CreatedAt}})
	}
	return v.render("users", "Users", data)
}

func factorState(u auth.User) string {
	if u.SecondFactor {
		return "on"
	}
	return "off"
}

// newUserData is what the page that adds a user shows.
type newUserData struct{ Form *ui.Form }

func newUserForm() *ui.Form {
	password, again := passwordField("password", "First password"), repeatField("password")
	password.Hint = passwordLength + "Give it to the user in a safe way. The user can change it under Account. " +
		"Leave both fields empty for a user of another organisation: that user keeps its password."
	password.Required, again.Required = false, false
	return &ui.Form{Action: "/users/new", Submit: "Add the user", Cancel: "/users", Fields: []*ui.Field{
		{Name: "name", Label: "Name", Hint: "The user signs in with it; an e-mail address will do.", Required: true, MaxLength: 200, Autofocus: true},
		roleField(""),
		password, again,
	}}
}

func roleField(role auth.Role) *ui.Field {
	return &ui.Field{
		Name: "role", Label: "Role", Type: "select", Value: string(role), Options: ui.Options(auth.Roles()...), Required: true,
		Hint: "Viewers read records. Editors also change them. Auditors read everything, with the audit log, and change nothing. Admins also change keys, webhooks, users and settings.",
	}
}

// newUser shows the form that adds a user.
func (v *visit) newUser() error {
	return v.render("user-new", "Add a user", newUserData{newUserForm()})
}

// createUser adds a user: a new one with a password, or without one a user of
// another organisation.
func (v *visit) createUser() error {
	name, role, plain := v.value("name"), auth.Role(v.value("role")), v.secret("password")
	added, said := auth.User{}, " has been added and can sign in now."
	err := v.repeated("password")
	switch {
	case err != nil:
	case plain != "":
		added, err = v.Auth.Users.Create(v.r.Context(), v.by(), name, role, plain)
	default:
		said = " has been added and signs in with its own password."
		if added, err = v.Auth.Memberships.Add(v.r.Context(), v.by(), name, role); db.Is(err, db.NotFound) {
			added, err = v.Auth.Users.Create(v.r.Context(), v.by(), name, role, "") // which says what is missing
		}
	}
	if err != nil {
		form := newUserForm()
		return v.again(form, err, "user-new", "Add a user", newUserData{form})
	}
	v.flash("The user " + added.Name + said)
	v.redirect("/users")
	return nil
}

// userData is what a user's page shows.
type userData struct {
	User         auth.User
	Organisation string
	Own          bool // it is the user who looks
	MayChange    bool // the user who looks may change the membership
	Managed      bool // and the account
	Fault        string
	Facts        []ui.Fact
	Role         *ui.Form
	Password     *ui.Form
	Factor       *ui.Action // nil where no second factor is on
	SignOut      ui.Action
	Remove       ui.Action
	Sessions     ui.Table
}

// user shows a user and what can be done about it.
func (v *visit) user() error {
	data, err := v.userData()
	if err != nil {
		return err
	}
	return v.render("user-page", data.User.Name, data)
}

func (v *visit) userData() (*userData, error) {
	org := v.session.Organisation
	all, err := v.Auth.Users.List(v.r.Context(), org.Org)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(u auth.User) bool { return u.ID == v.r.PathValue("id") })
	if at < 0 {
		return nil, &nothingHere
	}
	u := all[at]
	about := "the user " + u.Name
	data := &userData{
		User: u, Organisation: org.Name, Own: u.ID == v.session.User.ID, MayChange: v.may(auth.Administer),
		Facts: []ui.Fact{
			{Label: "Role", Kind: ui.Badge, Value: u.Role},
			{Label: "Second factor", Kind: ui.Badge, Value: factorState(u)},
			{Label: "Last sign-in", Kind: ui.Time, Value: u.LastSignInAt},
			{Label: "Added", Kind: ui.Time, Value: u.CreatedAt},
			{Label: "Changed", Kind: ui.Time, Value: u.UpdatedAt},
		},
		Role: &ui.Form{Action: ui.Path("users", u.ID, "role"), Submit: "Change the role", Fields: []*ui.Field{roleField(u.Role)}},
		Password: &ui.Form{
			Action: ui.Path("users", u.ID, "password"), Submit: "Set the password", Hidden: map[string]string{"username": u.Name},
			Fields: []*ui.Field{passwordField("password", "New password"), repeatField("password")},
		},
		SignOut: ui.Action{
			Label: "Sign out everywhere", Path: ui.Path("users", u.ID, "signout"), Post: true, About: about,
			Ask: "Ends all sessions of " + u.Name + ", in every browser.",
		},
		Remove: ui.Action{
			Label: "Remove", Path: ui.Path("users", u.ID, "remove"), Post: true, Danger: true, About: about,
			Ask: u.Name + " is no longer a member of " + org.Name + ". A user who is a member of no other organisation can no longer sign in. The audit log keeps what was done.",
		},
	}
	if data.Managed, err = v.Auth.Memberships.ManagesAccount(v.r.Context(), v.by(), u.ID); err != nil {
		return nil, err
	}
	data.Managed = data.MayChange && (data.Managed || data.Own)
	sessions, err := v.Auth.Sessions.List(v.r.Context(), u.ID)
	if err != nil {
		return nil, err
	}
	sessions = slices.DeleteFunc(sessions, func(s auth.Session) bool { return s.Organisation.Org != org.Org })
	data.Sessions = v.sessionTable(sessions, false)
	if u.SecondFactor {
		data.Factor = &ui.Action{
			Label: "Turn it off", Path: ui.Path("users", u.ID, "second-factor", "remove"), Post: true, Danger: true, About: "the second factor of " + u.Name,
			Ask: "The password alone signs " + u.Name + " in then. Do this only if you are sure who asks for it.",
		}
	}
	return data, nil
}

// changed leads back to a user's page with a message.
func (v *visit) changed(u auth.User, message string) error {
	v.flash(message)
	v.redirect(ui.Path("users", u.ID))
	return nil
}

// changeRole gives a user another role.
func (v *visit) changeRole() error {
	data, err := v.userData()
	if err != nil {
		return err
	}
	role := auth.Role(v.value("role"))
	if _, err := v.Auth.Memberships.SetRole(v.r.Context(), v.by(), data.User.ID, role); err != nil {
		return v.again(data.Role, err, "user-page", data.User.Name, data)
	}
	said := data.User.Name + " is " + ui.WithArticle(string(role)) + " now."
	if data.Own && !role.May(auth.Administer) { // this page is closed to the user from now on
		v.flash(said)
		v.redirect("/")
		return nil
	}
	return v.changed(data.User, said)
}

// notOwn refuses what would get around the checks of the user's own account:
// a session that somebody else has got hold of must not do.
func (d *userData) notOwn() error {
	if d.Own {
		return &problem{http.StatusConflict, "That is your own account", "Change your own password and second factor under Account, where you are asked for the ones of now."}
	}
	return nil
}

// shared refuses a change of an account that also belongs to an organisation of
// which the user who looks is not an admin.
func (d *userData) shared() error {
	if !d.Managed {
		return &problem{
			http.StatusConflict, "This user also belongs to another organisation",
			"Only an admin of all of them can change the password and the second factor or end the sessions. The operator of the service can do it with `govsvc users`.",
		}
	}
	return nil
}

// resetPassword gives a user another password.
func (v *visit) resetPassword() error {
	data, err := v.userData()
	if err == nil {
		err = cmp.Or(data.notOwn(), data.shared())
	}
	if err != nil {
		return err
	}
	if err = v.repeated("password"); err == nil {
		err = v.Auth.Users.SetPassword(v.r.Context(), v.by(), data.User.ID, v.secret("password"))
	}
	if err != nil {
		return v.again(data.Password, err, "user-page", data.User.Name, data)
	}
	return v.changed(data.User, "The password of "+data.User.Name+" has been set, and all sessions have ended.")
}

// resetSecondFactor turns off the second factor of a user who has lost it.
func (v *visit) resetSecondFactor() error {
	data, err := v.userData()
	if err == nil {
		err = cmp.Or(data.notOwn(), data.shared())
	}
	if err == nil {
		err = v.Auth.Users.RemoveSecondFactor(v.r.Context(), v.by(), data.User.ID)
	}
	if err != nil {
		return err
	}
	return v.changed(data.User, "The second factor of "+data.User.Name+" is off, and all sessions have ended.")
}

// signOutUser ends all sessions of a user.
func (v *visit) signOutUser() error {
	data, err := v.userData()
	if err == nil {
		err = data.shared()
	}
	if err == nil {
		err = v.Auth.Sessions.SignOutEverywhere(v.r.Context(), v.by(), data.User.ID)
	}
	switch {
	case err != nil:
		return err
	case data.Own:
		return v.out("You have signed out everywhere.")
	}
	return v.changed(data.User, data.User.Name+" has been signed out everywhere.")
}

// removeUser ends a user's membership, unless it is the last admin.
func (v *visit) removeUser() error {
	data, err := v.userData()
	if err != nil {
		return err
	}
	left, err := v.Auth.Memberships.Organisations(v.r.Context(), data.User.ID)
	if err == nil {
		err = v.Auth.Memberships.Remove(v.r.Context(), v.by(), data.User.ID)
	}
	switch {
	case db.Is(err, db.Conflict):
		data.Fault = message(err)
		return v.renderStatus(http.StatusConflict, "user-page", data.User.Name, data)
	case err != nil:
		return err
	case data.Own && len(left) > 1: // the next page says so
		v.redirect("/")
		return nil
	case data.Own:
		return v.out("Your account has been removed.")
	}
	v.flash("The user " + data.User.Name + " has been removed.")
	v.redirect("/users")
	return nil
}
