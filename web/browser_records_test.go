//go:build browser

package web_test

import (
	"testing"

	"govsvc/db"
)

// TestBrowserRecordPages looks at the list and at a record of each family.
func TestBrowserRecordPages(t *testing.T) {
	s := newScene(t)
	b := newBrowser(t, s).as(db.Editor)
	for _, page := range []struct{ list, name string }{
		{"/assessments", "assessments"},
		{"/risks", "risks"},
		{"/signals", "signals"},
		{"/roadmap", "milestones"},
		{"/roadmap/versions", "roadmaps"},
		{"/compliance", "obligations"},
		{"/compliance/postures", "postures"},
		{"/vendors", "vendors"},
		{"/vendors/portfolio", "portfolios"},
		{"/talent", "gaps"},
		{"/talent/readiness", "readiness"},
		{"/incidents", "incidents"},
		{"/kpis", "kpis"},
	} {
		if status := b.open(page.list); status != 200 {
			t.Errorf("%s: status %d", page.list, status)
		}
		b.look(page.name)
		first := evaluate[string](b, `document.querySelector("tbody th a").getAttribute("href")`)
		if status := b.open(first); status != 200 {
			t.Errorf("%s: status %d", first, status)
		}
		b.look(page.name + "-record")
	}
}
