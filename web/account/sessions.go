package account

import (
	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// sessionTable lists sessions of a user. With canEnd, each session except the
// current one has an action that ends it.
func sessionTable(r *page.Request, all []auth.Session, canEnd bool) ui.Table {
	table := ui.Table{
		Caption: "Signed in on",
		Columns: []ui.Column{{Label: "Browser"}, {Label: "Address", Kind: ui.Code}, {Label: "Started", Kind: ui.Time}, {Label: "Last seen", Kind: ui.Time}},
		Empty:   ui.Empty{Title: "No sessions", Advice: "A session starts when the user signs in."},
	}
	for _, s := range all {
		row := ui.Row{Cells: []any{browserName(s.Browser), s.Address, s.CreatedAt, s.SeenAt}}
		switch {
		case s.ID() == r.Session.ID():
			row.Under = "this browser"
		case canEnd:
			row.Actions = []ui.Action{{
				Label: "End", Path: ui.Path("account", "sessions", s.ID(), "end"), Post: true,
				About: "the session of " + browserName(s.Browser) + " that started " + ui.FormatTime(s.CreatedAt),
			}}
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// EndSession ends another session of the user.
func EndSession(r *page.Request) error {
	err := r.Auth.Sessions.End(r.Context(), r.Session, r.PathValue("id"))
	if db.Is(err, db.NotFound) || db.Is(err, db.Conflict) {
		return backToAccount(r, page.Message(err))
	}
	if err != nil {
		return err
	}
	return backToAccount(r, "The session has ended. Its browser has to sign in again.")
}

// EndOtherSessions ends all sessions of the user except the current one.
func EndOtherSessions(r *page.Request) error {
	ended, err := r.Auth.Sessions.EndOthers(r.Context(), r.Session)
	if err != nil {
		return err
	}
	if ended == 0 {
		return backToAccount(r, "There is no other session.")
	}
	return backToAccount(r, "All other sessions have ended.")
}
