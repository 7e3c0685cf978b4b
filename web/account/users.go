package account

import (
	"cmp"
	"net/http"
	"slices"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// usersData is the argument of the page "Users".
type usersData struct {
	Organisation string
	MayChange    bool
	Table        ui.Table
	Pager        ui.Pager
}

// usersOnPage is the number of users on a page of the list.
const usersOnPage = 100

// ListUsers lists the members of the organisation.
func ListUsers(r *page.Request) error {
	all, err := r.Auth.Users.List(r.Context(), r.Session.Organisation.Org)
	if err != nil {
		return err
	}
	data := usersData{Organisation: r.Session.Organisation.Name, MayChange: r.May(auth.Administer), Table: ui.Table{Caption: "Users", Columns: []ui.Column{
		{Label: "Name"}, {Label: "Role", Kind: ui.Badge}, {Label: "Second factor", Kind: ui.Badge}, {Label: "Last sign-in", Kind: ui.Time}, {Label: "Added", Kind: ui.Time},
	}}}
	all, data.Pager = ui.Paginate(all, usersOnPage, r.HTTP.URL.Query().Get("page"), func(page int) string { return ui.WithQuery("/users", "page", page) })
	data.Pager.One, data.Pager.Many = "user", "users"
	for _, u := range all {
		data.Table.Rows = append(data.Table.Rows, ui.Row{Href: ui.Path("users", u.ID), Cells: []any{u.Name, u.Role, factorState(u), u.LastSignInAt, u.CreatedAt}})
	}
	return r.Render("users", "Users", data)
}

func factorState(u auth.User) string {
	if u.SecondFactor {
		return "on"
	}
	return "off"
}

// newUserData is the argument of the page that adds a user.
type newUserData struct{ Form *ui.Form }

func newUserForm() *ui.Form {
	password, again := passwordField("password", "First password"), repeatField("password")
	password.Hint = passwordLength + "Send it to the user in a safe way. The user can change it under Account. " +
		"Leave both fields empty for a user of another organisation, who keeps the present password."
	password.Required, again.Required = false, false
	return &ui.Form{Action: "/users/new", Submit: "Add user", Cancel: "/users", Fields: []*ui.Field{
		{Name: "name", Label: "Name", Hint: "The user signs in with this name. An e-mail address is fine.", Required: true, MaxLength: 200, Autofocus: true},
		roleField(""),
		password, again,
	}}
}

func roleField(role auth.Role) *ui.Field {
	return &ui.Field{
		Name: "role", Label: "Role", Type: "select", Value: string(role), Options: ui.Options(auth.Roles()...), Required: true,
		Hint: "Viewers read records. Editors also change them. Auditors read everything, including the audit log, and change nothing. Admins also change keys, webhooks, users and settings.",
	}
}

// NewUser shows the form that adds a user.
func NewUser(r *page.Request) error {
	return r.Render("user-new", "Add a user", newUserData{newUserForm()})
}

// CreateUser creates a user with a password. Without a password it adds a user of
// another organisation.
func CreateUser(r *page.Request) error {
	name, role, plain := r.Value("name"), auth.Role(r.Value("role")), r.RawValue("password")
	added, outcome := auth.User{}, " has been added and can sign in now."
	err := checkRepeated(r, "password")
	switch {
	case err != nil:
	case plain != "":
		added, err = r.Auth.Users.Create(r.Context(), r.Actor(), name, role, plain)
	default:
		outcome = " has been added and signs in with the present password."
		if added, err = r.Auth.Memberships.Add(r.Context(), r.Actor(), name, role); db.Is(err, db.NotFound) {
			added, err = r.Auth.Users.Create(r.Context(), r.Actor(), name, role, "") // its error asks for the password
		}
	}
	if err != nil {
		form := newUserForm()
		return r.RenderRefused(form, err, "user-new", "Add a user", newUserData{form})
	}
	return r.RedirectWithMessage("/users", "The user "+added.Name+outcome)
}

// userData is the argument of the page of a user.
type userData struct {
	User         auth.User
	Organisation string
	Own          bool // the page is about the signed-in user
	MayChange    bool // the signed-in user can change the membership
	Managed      bool // the signed-in user can also change the account
	Error        string
	Facts        []ui.Fact
	Role         *ui.Form
	Password     *ui.Form
	Factor       *ui.Action // nil without a second factor
	SignOut      ui.Action
	Remove       ui.Action
	Sessions     ui.Table
}

// ShowUser shows a user with its sessions and actions.
func ShowUser(r *page.Request) error {
	data, err := loadUser(r)
	if err != nil {
		return err
	}
	return r.Render("user-page", data.User.Name, data)
}

func loadUser(r *page.Request) (*userData, error) {
	org := r.Session.Organisation
	all, err := r.Auth.Users.List(r.Context(), org.Org)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(u auth.User) bool { return u.ID == r.PathValue("id") })
	if at < 0 {
		return nil, &page.NotFound
	}
	u := all[at]
	about := "the user " + u.Name
	data := &userData{
		User: u, Organisation: org.Name, Own: u.ID == r.Session.User.ID, MayChange: r.May(auth.Administer),
		Facts: []ui.Fact{
			{Label: "Role", Kind: ui.Badge, Value: u.Role},
			{Label: "Second factor", Kind: ui.Badge, Value: factorState(u)},
			{Label: "Last sign-in", Kind: ui.Time, Value: u.LastSignInAt},
			{Label: "Added", Kind: ui.Time, Value: u.CreatedAt},
			{Label: "Changed", Kind: ui.Time, Value: u.UpdatedAt},
		},
		Role: &ui.Form{Action: ui.Path("users", u.ID, "role"), Submit: "Change role", Fields: []*ui.Field{roleField(u.Role)}},
		Password: &ui.Form{
			Action: ui.Path("users", u.ID, "password"), Submit: "Reset password", Hidden: map[string]string{"username": u.Name},
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
	if data.Managed, err = r.Auth.Memberships.ManagesAccount(r.Context(), r.Actor(), u.ID); err != nil {
		return nil, err
	}
	data.Managed = data.MayChange && (data.Managed || data.Own)
	sessions, err := r.Auth.Sessions.List(r.Context(), u.ID)
	if err != nil {
		return nil, err
	}
	sessions = slices.DeleteFunc(sessions, func(s auth.Session) bool { return s.Organisation.Org != org.Org })
	data.Sessions = sessionTable(r, sessions, false)
	if u.SecondFactor {
		data.Factor = &ui.Action{
			Label: "Turn off", Path: ui.Path("users", u.ID, "second-factor", "remove"), Post: true, Danger: true, About: "the second factor of " + u.Name,
			Ask: u.Name + " then signs in with the password alone. Do this only if you are sure who asks for it.",
		}
	}
	return data, nil
}

// backToUser redirects to the page of a user with a message.
func backToUser(r *page.Request, u auth.User, message string) error {
	return r.RedirectWithMessage(ui.Path("users", u.ID), message)
}

// ChangeRole changes the role of a user.
func ChangeRole(r *page.Request) error {
	data, err := loadUser(r)
	if err != nil {
		return err
	}
	role := auth.Role(r.Value("role"))
	if _, err := r.Auth.Memberships.SetRole(r.Context(), r.Actor(), data.User.ID, role); err != nil {
		return r.RenderRefused(data.Role, err, "user-page", data.User.Name, data)
	}
	message := data.User.Name + " is now " + ui.WithArticle(string(role)) + "."
	if data.Own && !role.May(auth.Administer) { // the user can no longer see this page
		return r.RedirectWithMessage("/", message)
	}
	return backToUser(r, data.User, message)
}

// refuseOwn refuses changes of the signed-in user's own account. They need the
// current password or a code, so that a stolen session is not enough.
func (d *userData) refuseOwn() error {
	if d.Own {
		return &page.Problem{Status: http.StatusConflict, Title: "That is your own account", Advice: "Change your own password and second factor under Account, where you are asked for the current ones."}
	}
	return nil
}

// refuseShared refuses changes of an account that also belongs to an organisation
// where the signed-in user is not an admin.
func (d *userData) refuseShared() error {
	if !d.Managed {
		return &page.Problem{
			Status: http.StatusConflict, Title: "This user also belongs to another organisation",
			Advice: "Only an admin of all its organisations can change the password and the second factor, and end the sessions. The operator of the service can do it with `govsvc users`.",
		}
	}
	return nil
}

// ResetPassword sets a new password for a user.
func ResetPassword(r *page.Request) error {
	data, err := loadUser(r)
	if err == nil {
		err = cmp.Or(data.refuseOwn(), data.refuseShared())
	}
	if err != nil {
		return err
	}
	if err = checkRepeated(r, "password"); err == nil {
		err = r.Auth.Users.SetPassword(r.Context(), r.Actor(), data.User.ID, r.RawValue("password"))
	}
	if err != nil {
		return r.RenderRefused(data.Password, err, "user-page", data.User.Name, data)
	}
	return backToUser(r, data.User, "The password of "+data.User.Name+" has been set, and all sessions have ended.")
}

// ResetSecondFactor turns off the second factor of a user, after its loss.
func ResetSecondFactor(r *page.Request) error {
	data, err := loadUser(r)
	if err == nil {
		err = cmp.Or(data.refuseOwn(), data.refuseShared())
	}
	if err == nil {
		err = r.Auth.Users.RemoveSecondFactor(r.Context(), r.Actor(), data.User.ID)
	}
	if err != nil {
		return err
	}
	return backToUser(r, data.User, "The second factor of "+data.User.Name+" is off, and all sessions have ended.")
}

// SignOutUser ends all sessions of a user.
func SignOutUser(r *page.Request) error {
	data, err := loadUser(r)
	if err == nil {
		err = data.refuseShared()
	}
	if err == nil {
		err = r.Auth.Sessions.SignOutEverywhere(r.Context(), r.Actor(), data.User.ID)
	}
	switch {
	case err != nil:
		return err
	case data.Own:
		return redirectToSignIn(r, "You have signed out everywhere.")
	}
	return backToUser(r, data.User, data.User.Name+" has been signed out everywhere.")
}

// RemoveUser ends the membership of a user, except of the last admin.
func RemoveUser(r *page.Request) error {
	data, err := loadUser(r)
	if err != nil {
		return err
	}
	left, err := r.Auth.Memberships.Organisations(r.Context(), data.User.ID)
	if err == nil {
		err = r.Auth.Memberships.Remove(r.Context(), r.Actor(), data.User.ID)
	}
	switch {
	case db.Is(err, db.Conflict):
		data.Error = page.Message(err)
		return r.RenderStatus(http.StatusConflict, "user-page", data.User.Name, data)
	case err != nil:
		return err
	case data.Own && len(left) > 1: // the overview reports it
		return r.Redirect("/")
	case data.Own:
		return redirectToSignIn(r, "Your account has been removed.")
	}
	return r.RedirectWithMessage("/users", "The user "+data.User.Name+" has been removed.")
}
