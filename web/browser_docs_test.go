//go:build browser

package web_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"govsvc/db"
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
	b.checkReference()
}

// TestBrowserDocs_Live runs an operation on live data with a pasted key, where the
// operator allows it. Elsewhere the page does not send live keys.
func TestBrowserDocs_Live(t *testing.T) {
	t.Parallel()
	for _, live := range []bool{false, true} {
		h := newHarness(t, options{liveReference: live})
		_, key, err := h.store.Keys.Mint(t.Context(), h.by(), db.KeyDraft{Name: "try", Kind: db.LiveKey, Scopes: []string{"read:all"}})
		if err != nil {
			t.Fatal(err)
		}
		b := newBrowser(t, h)
		b.open("/docs")
		waitFor(b, `document.querySelectorAll(".opblock").length > 25`)
		evaluate[bool](b, `document.querySelector("#operations-risks-listRisks .opblock-summary-control").click(), true`)
		waitFor(b, `document.querySelector("#operations-risks-listRisks .execute") !== null`)
		evaluate[bool](b, `document.querySelector(".auth-wrapper .authorize").click(), true`)
		waitFor(b, `document.querySelector(".modal-ux input") !== null`)
		b.checkReference()
		evaluate[bool](b, `(() => {
			const input = document.querySelector(".modal-ux input");
			Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(input, "`+key+`");
			input.dispatchEvent(new Event("input", {bubbles: true}));
			document.querySelector(".modal-ux .authorize").click();
			document.querySelector(".modal-ux .btn-done").click();
			document.querySelector("#operations-risks-listRisks .execute").click();
			return true;
		})()`)
		waitFor(b, `document.querySelector("#operations-risks-listRisks .live-responses-table .response-col_description") !== null`)
		answer := evaluate[string](b, `document.querySelector("#operations-risks-listRisks .live-responses-table").innerText`)
		refused := evaluate[bool](b, `!document.getElementById("refused").hidden`)
		if got := strings.Contains(answer, "RISK-0040"); got != live || refused == live {
			t.Errorf("live %v: refused %v, got %.500s", live, refused, answer)
		}
		if !live { // the request without the key
			b.forget("returned status 401")
		}
		if stored := evaluate[string](b, `JSON.stringify([localStorage, sessionStorage, document.cookie, location.href])`); strings.Contains(stored, key) {
			t.Errorf("the browser stores the key: %s", stored)
		}
		if strings.Contains(h.log.String(), key) {
			t.Error("the log has the key")
		}
		b.open("/signin")
		b.open("/docs")
		waitFor(b, `document.querySelectorAll(".opblock").length > 25`)
		if evaluate[bool](b, `document.querySelector(".auth-wrapper .authorize.locked") !== null`) {
			t.Error("the page still has the key")
		}
	}
}

// forget removes an expected fault from those that the browser found.
func (b *browser) forget(part string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.found = slices.DeleteFunc(b.found, func(fault string) bool { return strings.Contains(fault, part) })
}

// checkReference checks the contrast of Swagger UI, which checkPage leaves out, in both
// colour schemes.
func (b *browser) checkReference() {
	b.t.Helper()
	script, err := axeScript()
	if err != nil {
		b.t.Logf("not checked with axe: %v", err)
		return
	}
	defer b.setColourScheme("light")
	for _, scheme := range []string{"light", "dark"} {
		b.setColourScheme(scheme)
		if !evaluate[bool](b, "typeof axe === 'object'") {
			evaluate[chromedp.Void](b, string(script))
		}
		faults := evaluate[[]string](b, `axe.run("#reference", {runOnly: ["color-contrast"], resultTypes: ["violations"]}).then((r) =>
			r.violations.flatMap((v) => v.nodes.map((n) => n.html.slice(0, 200) + " " + n.failureSummary.replaceAll("\n", " "))))`)
		for i, fault := range faults {
			if i < 10 {
				b.t.Errorf("%s (%d faults): %s", scheme, len(faults), fault)
			}
		}
	}
}

// waitFor waits until a JavaScript expression is true in the page.
func waitFor(b *browser, expression string) {
	b.t.Helper()
	evaluate[bool](b, `new Promise((done) => { const look = () => (`+expression+`) ? done(true) : setTimeout(look, 20); look() })`)
}
