//go:build browser

package web_test

import (
	"strings"
	"testing"

	"govsvc/db/auth"
)

// TestBrowserRecordPage links a risk, attaches a file, comments, archives and restores it,
// and goes to the next record.
func TestBrowserRecordPage(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	b := newBrowser(t, h).as(auth.Editor)
	at := h.pathOf("/risks", "risk", "RISK-0040")
	b.open(at)
	b.expect("Untreated baseline", "Claims agent sent settlement letters")
	b.checkPage("record")
	b.press("Add link")
	b.fill("Name or key of the other record", "RISK-0036")
	b.press("Find records")
	b.expect("Letters explaining LifeScore")
	b.checkPage("record-link")
	b.pressFor("Link Letters explaining LifeScore outcomes differ from case to case", 200)
	b.expect("Linked to", "RISK-0036")
	b.chooseFile("Files", "minutes.txt", "minutes")
	b.pressFor("Attach", 200)
	b.expect("minutes.txt", "SHA-256")
	b.fill("Comment", "Agreed in the risk committee.")
	b.pressFor("Add comment", 200)
	b.expect("Agreed in the risk committee.", "Commented")
	b.pressFor("Add comment", 422)
	b.expect("Enter a comment")
	b.checkPage("record-annotated")
	b.open(at)
	b.toggle("Archive…")
	b.pressFor("Archive", 200)
	b.expect("Archived by editor")
	b.checkPage("record-archived")
	b.open("/risks?archived=only")
	b.expect("Agent letters reach former addresses")
	b.checkPage("risks-archived")
	b.open(at)
	b.pressFor("Restore", 200)
	b.press("Next")
	if path := evaluate[string](b, "location.pathname"); !strings.HasPrefix(path, "/risks/") || path == at {
		t.Errorf("got %s, want the next risk", path)
	}
}
