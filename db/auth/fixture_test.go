package auth_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

const (
	rightPassword = "plain tulips at noon"
	otherPassword = "seven quiet harbours"
)

// operator is the actor of the command line.
var operator = db.Actor{ID: "system"}

// fixture is the services over a data file. Its clock starts at testkit.Start.
type fixture struct {
	*auth.Service
	t     *testing.T
	path  string
	clock *testkit.Clock
	store *db.DB
	org   db.Organisation
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, clock: testkit.NewClock(testkit.Start), path: testdb.EmptyFile(t)}
	f.reopen()
	f.org = testdb.DefaultOrg(t, f.store)
	return f
}

// reopen closes the store and the services, and opens them again.
func (f *fixture) reopen() {
	f.t.Helper()
	if f.store != nil {
		f.Close()
		if err := f.store.Close(); err != nil {
			f.t.Fatal(err)
		}
	}
	f.store, f.Service = f.open()
}

// open opens the file as another process does.
func (f *fixture) open() (*db.DB, *auth.Service) {
	f.t.Helper()
	store := testdb.Open(f.t, db.Options{Path: f.path, Now: f.clock.Now})
	service := auth.New(store)
	f.t.Cleanup(service.Close)
	return store, service
}

// addUser adds a user with rightPassword to the default organisation.
func (f *fixture) addUser(name string, role auth.Role) auth.User {
	f.t.Helper()
	u, err := f.Users.Create(f.t.Context(), operator, name, role, rightPassword)
	if err != nil {
		f.t.Fatal(err)
	}
	return u
}

// addMember makes an existing user a member of another organisation.
func (f *fixture) addMember(organisation, name string, role auth.Role) {
	f.t.Helper()
	o, err := f.store.Orgs.ByName(f.t.Context(), organisation)
	if err != nil {
		f.t.Fatal(err)
	}
	if _, err := f.Memberships.Add(f.t.Context(), db.Actor{Org: o.Org, ID: operator.ID}, name, role); err != nil {
		f.t.Fatal(err)
	}
}

// signIn signs in with rightPassword.
func (f *fixture) signIn(name string) (token string, s auth.Session) {
	f.t.Helper()
	token, s, err := f.Sessions.SignIn(f.t.Context(), auth.SignInAttempt{Name: name, Password: rightPassword})
	if err != nil {
		f.t.Fatal(err)
	}
	return token, s
}

// ended reports whether the session of the token has ended.
func (f *fixture) ended(token string) bool {
	f.t.Helper()
	s, err := f.Sessions.ByToken(f.t.Context(), token)
	if err != nil && (!db.Is(err, db.Unauthenticated) || s != (auth.Session{})) {
		f.t.Fatal(s, err)
	}
	return err != nil
}

// events returns the events of the audit log, a line each: action, category, severity,
// the names of the actor and of the user, and the metadata.
func (f *fixture) events() []string {
	f.t.Helper()
	page, err := f.store.Audit.Events(f.t.Context(), f.org, db.AuditQuery{Limit: 1000})
	if err != nil {
		f.t.Fatal(err)
	}
	named := map[string]string{"system": "system", "": "none"}
	lines := []string{}
	for _, text := range page.Events {
		var e struct {
			Actor, Action, Category string
			ResourceType            string `json:"resource_type"`
			ResourceID              string `json:"resource_id"`
			Severity                int
			Metadata                map[string]any
		}
		if err := json.Unmarshal(text, &e); err != nil {
			f.t.Fatal(err)
		}
		if name, ok := e.Metadata["name"].(string); ok && e.Action == "user.created" {
			named[e.ResourceID] = name
		}
		detail, err := json.Marshal(e.Metadata)
		if err != nil {
			f.t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%s %s %d: %s on %s %s %s", e.Action, e.Category, e.Severity, named[e.Actor], e.ResourceType, named[e.ResourceID], detail))
	}
	return lines
}

// signedIn is the event of a sign-in in the form of events, with its metadata.
func signedIn(name, metadata string) string {
	return fmt.Sprintf("user.signed_in authentication 3: %s on user %[1]s %s", name, metadata)
}

// signInRefused is the event of a refused sign-in in the form of events. name is empty
// if there is no such user, address if it is unknown.
func signInRefused(name, address, reason string) string {
	actor, user, from := name, name, ""
	if name == "" {
		actor, user = "system", "none"
	}
	if address != "" {
		from = fmt.Sprintf(`"address":"%s",`, address)
	}
	return fmt.Sprintf(`user.sign_in_refused authentication 5: %s on user %s {%s"reason":"%s"}`, actor, user, from, reason)
}

// codeRefused is the event of a wrong code in a session in the form of events.
func codeRefused(name string) string {
	return fmt.Sprintf(`user.check_refused authentication 5: %s on user %[1]s {"reason":"wrong_code"}`, name)
}

// wantEvents compares the events after the first ones. No event may contain a password.
func (f *fixture) wantEvents(after int, want ...string) {
	f.t.Helper()
	got := f.events()
	if diff := cmp.Diff(want, got[min(after, len(got)):]); diff != "" {
		f.t.Errorf("the audit log (-want +got):\n%s", diff)
	}
	text := strings.Join(got, "\n")
	for _, secret := range []string{rightPassword, otherPassword} {
		if strings.Contains(text, secret) {
			f.t.Errorf("the audit log contains a password: %s", text)
		}
	}
}

// wantError compares an error with a code, a parameter and a part of the message.
func wantError(t *testing.T, what string, err error, code db.Code, param, message string) {
	t.Helper()
	var known *db.Error
	if !errors.As(err, &known) || known.Code != code || known.Param != param || !strings.Contains(known.Message, message) {
		t.Errorf("%s: got %#v, want code %d, param %q, %q", what, err, code, param, message)
	}
}
