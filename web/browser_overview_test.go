//go:build browser

package web_test

import (
	"testing"

	"govsvc/db"
)

// TestBrowserOverview looks at the first page with the demonstration data and
// without any.
func TestBrowserOverview(t *testing.T) {
	s := newScene(t)
	b := newBrowser(t, s).as(db.Admin)
	b.open("/")
	b.wants("Open risks by severity and likelihood", "Notification clocks", "KPIs against target")
	b.look("overview")

	s = newScene(t, setting{data: noRecords})
	b = newBrowser(t, s).as(db.Admin)
	b.open("/")
	b.wants("There is nothing to show yet", "Mint a key")
	b.look("overview-nothing")
}
