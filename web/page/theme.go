package page

import (
	"slices"
	"time"
)

// themeCookie has the theme of the browser. Without it, the browser's preference counts.
const themeCookie = "govsvc_theme"

const themeLife = 365 * 24 * time.Hour

// themes lists the themes that a user can choose instead of the browser's preference.
var themes = []string{"light", "dark"}

// theme returns the theme that the user has chosen, or "".
func (r *Request) theme() string {
	if chosen := r.Cookie(themeCookie); slices.Contains(themes, chosen) {
		return chosen
	}
	return ""
}

// ChooseTheme stores the theme of the browser. Any other value than a theme removes it.
func ChooseTheme(r *Request) error {
	if chosen := r.Value("theme"); slices.Contains(themes, chosen) {
		r.SetCookie(themeCookie, chosen, themeLife)
	} else {
		r.ClearCookie(themeCookie)
	}
	return r.Redirect(LocalPath(r.Value("next")))
}
