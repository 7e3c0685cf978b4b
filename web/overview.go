package web

import "govsvc/db"

// overviewData is what the overview shows.
type overviewData struct {
	Organisation db.Organisation
}

// overview is the first page.
func (v *visit) overview() error {
	return v.render("overview", "Overview", overviewData{v.session.Organisation})
}
