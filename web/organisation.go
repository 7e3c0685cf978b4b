package web

import "fmt"

// switchOrganisation has the session work on another organisation.
func (v *visit) switchOrganisation() error {
	name := v.secret("name")
	if err := v.Auth.Sessions.SwitchOrganisation(v.r.Context(), v.session, name); err != nil {
		return err
	}
	v.flash(fmt.Sprintf("You are working on %s now.", name))
	v.redirect(localPath(v.value("next")))
	return nil
}
