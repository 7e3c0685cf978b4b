package web

import (
	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/web/ui"
)

// sessionTable lists sessions of a user. With end, each but the one in use has
// an action that ends it.
func (v *visit) sessionTable(all []auth.Session, end bool) ui.Table {
	table := ui.Table{
		Caption: "Signed in on",
		Columns: []ui.Column{{Label: "Browser"}, {Label: "Address", Kind: ui.Code}, {Label: "Started", Kind: ui.Time}, {Label: "Last seen", Kind: ui.Time}},
		Empty:   ui.Empty{Title: "No session", Advice: "A session starts when the user signs in."},
	}
	for _, s := range all {
		row := ui.Row{Cells: []any{browserName(s.Browser), s.Address, s.CreatedAt, s.SeenAt}}
		switch {
		case s.ID() == v.session.ID():
			row.Under = "this browser"
		case end:
			row.Actions = []ui.Action{{
				Label: "End", Path: ui.Path("account", "sessions", s.ID(), "end"), Post: true,
				About: "the session of " + browserName(s.Browser) + " that started " + ui.FormatTime(s.CreatedAt),
			}}
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// endSession ends another session of the user.
func (v *visit) endSession() error {
	err := v.Auth.Sessions.End(v.r.Context(), v.session, v.r.PathValue("id"))
	if db.Is(err, db.NotFound) || db.Is(err, db.Conflict) {
		return v.done(message(err))
	}
	if err != nil {
		return err
	}
	return v.done("The session has ended. Its browser has to sign in again.")
}

// endOtherSessions ends all sessions of the user but the one in use.
func (v *visit) endOtherSessions() error {
	ended, err := v.Auth.Sessions.EndOthers(v.r.Context(), v.session)
	if err != nil {
		return err
	}
	if ended == 0 {
		return v.done("There is no other session.")
	}
	return v.done("All other sessions have ended.")
}

// renewed gives the browser the new token of its session.
func (v *visit) renewed(token string) { v.setCookie(sessionCookie, token, 0) }
