package account

import (
	"fmt"

	"govsvc/web/page"
)

// SwitchOrganisation switches the session to another organisation.
func SwitchOrganisation(r *page.Request) error {
	name := r.RawValue("name")
	if err := r.Auth.Sessions.SwitchOrganisation(r.Context(), r.Session, name); err != nil {
		return err
	}
	return r.RedirectWithMessage(page.LocalPath(r.Value("next")), fmt.Sprintf("You are now working on %s.", name))
}
