//go:build browser

package web_test

import (
	"strings"
	"testing"

	"govsvc/db/auth"
)

// TestBrowserDocs reads the reference and tries an operation out on the
// sandbox, with a key that was minted for it; a live key stays on the page.
func TestBrowserDocs(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	b := newBrowser(t, h)
	b.open("/docs")
	waitFor(b, `document.querySelectorAll(".opblock").length > 25`)
	b.expect("API reference", "/risks", "List risks")
	b.as(auth.Admin)
	b.open("/docs")
	b.press("Get a 1-hour test key")
	b.expect("This test key is valid for 1 hour")
	waitFor(b, `document.querySelectorAll(".opblock").length > 25`)
	evaluate[bool](b, `document.querySelector("#operations-risks-listRisks .opblock-summary-control").click(), true`)
	waitFor(b, `document.querySelector("#operations-risks-listRisks .execute") !== null`)
	evaluate[bool](b, `document.querySelector("#operations-risks-listRisks .execute").click(), true`)
	waitFor(b, `document.querySelector("#operations-risks-listRisks .live-responses-table .response-col_status") !== null`)
	if answer := evaluate[string](b, `document.querySelector("#operations-risks-listRisks .live-responses-table").innerText`); !strings.Contains(answer, "[SANDBOX]") {
		t.Errorf("not of the sandbox: %s", answer)
	}
	b.checkPage("docs-tried")
}

// waitFor waits until an expression of the page is true.
func waitFor(b *browser, expression string) {
	b.t.Helper()
	evaluate[bool](b, `new Promise((done) => { const look = () => (`+expression+`) ? done(true) : setTimeout(look, 20); look() })`)
}
