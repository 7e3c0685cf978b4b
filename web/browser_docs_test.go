//go:build browser

package web_test

import (
	"strings"
	"testing"

	"govsvc/db/auth"
)

// TestBrowserDocs opens the API reference. It runs an operation on the sandbox with
// a test key that the page creates.
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
		t.Errorf("the response is not from the sandbox: %s", answer)
	}
	b.checkPage("docs-tried")
}

// waitFor waits until a JavaScript expression is true in the page.
func waitFor(b *browser, expression string) {
	b.t.Helper()
	evaluate[bool](b, `new Promise((done) => { const look = () => (`+expression+`) ? done(true) : setTimeout(look, 20); look() })`)
}
