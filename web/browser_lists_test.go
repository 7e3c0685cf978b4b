//go:build browser

package web_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"govsvc/db/auth"
)

// choose chooses an option of the select with a label, as a user does, and waits for the
// page that this opens.
func (b *browser) choose(label, value string) {
	b.t.Helper()
	at := b.element(label)
	b.load(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`{ const field = document.querySelector(%q); field.focus(); field.value = %q; field.dispatchEvent(new Event("change", {bubbles: true})); }`, at, value)))
}

// focused returns the text of the element that has the focus.
func (b *browser) focused() string {
	b.t.Helper()
	return evaluate[string](b, "document.activeElement.id || document.activeElement.innerText")
}

// keys presses keys, one after the other. Their texts are typed unless a script prevents it.
func (b *browser) keys(texts string) {
	b.t.Helper()
	for _, text := range strings.Split(texts, "") {
		b.call(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: text, Text: text})
			return err
		}))
	}
}

// TestBrowserLists filters on change, chooses columns and a page size, saves a view, and
// moves with keys.
func TestBrowserLists(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.importRisks(60)
	b := newBrowser(t, h).as(auth.Editor)
	b.open("/risks?sort=target_date")
	b.expect("!Apply", "overdue")
	b.checkPage("lists-due")
	b.choose("Severity", "HIGH")
	if query := evaluate[string](b, "location.search"); query != "?sort=target_date&q=&severity=HIGH&status=&likelihood=&residual_severity=&owner_name=&due=&updated_since=&archived=" {
		t.Errorf("got query %s", query)
	}
	if focus := b.focused(); focus != "f-severity" {
		t.Errorf("the focus is on %q, want the filter that changed", focus)
	}
	b.toggle("Columns")
	b.checkPage("lists-columns")
	b.toggle("Dimension")
	b.toggle("Likelihood")
	b.press("Show columns")
	if heads := evaluate[string](b, `document.querySelector("thead").innerText`); !strings.Contains(heads, "Dimension") || strings.Contains(heads, "Likelihood") {
		t.Errorf("got columns %s", heads)
	}
	b.toggle("Save view")
	b.fill("Name", "High and soon")
	b.press("Save")
	b.expect("The view “High and soon” has been saved.")
	b.checkPage("lists-view")
	b.press("All risks")
	b.press("25 per page")
	b.expect("100 risks")
	if n := evaluate[int](b, `document.querySelectorAll("tbody tr").length`); n != 25 {
		t.Errorf("got %d risks on the page, want 25", n)
	}
	b.press("High and soon")
	b.press("Remove view")
	b.expect("The view has been removed.", "!High and soon\n")
}

// TestBrowserLists_Keys moves between the records of a list, selects and opens them with
// keys, and turns the keys off.
func TestBrowserLists_Keys(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	b := newBrowser(t, h).as(auth.Editor)
	b.open("/risks?sort=risk_id")
	names := evaluate[[]string](b, `[...document.querySelectorAll("tbody th a")].map((a) => a.innerText)`)
	for _, step := range []struct {
		keys string
		want string
	}{
		{"j", names[0]}, {"j", names[1]}, {"jj", names[3]}, {"k", names[2]}, {"kkkk", names[0]}, {"/", "f-q"}, {"j", "f-q"},
	} {
		b.keys(step.keys)
		if got := b.focused(); got != step.want {
			t.Errorf("after the keys %s the focus is on %q, want %q", step.keys, got, step.want)
		}
	}
	if typed := evaluate[string](b, `document.querySelector("[type=search]").value`); typed != "j" {
		t.Errorf("got %q in the search, want the key that was typed", typed)
	}
	b.open("/risks?sort=risk_id")
	b.keys("jxjx")
	b.expect("Change 2 selected")
	b.checkPage("lists-selected")
	b.keys("?")
	b.expect("Keyboard shortcuts", "Next and previous record")
	b.checkPage("lists-keys")
	b.toggle("Use keyboard shortcuts")
	b.toggle("Close")
	b.keys("?")
	b.expect("!Next and previous record")
	b.toggle("Keyboard shortcuts")
	b.toggle("Use keyboard shortcuts")
	b.toggle("Close")
	b.open("/risks?sort=risk_id")
	b.keys("j")
	b.load(chromedp.KeyEvent(kb.Enter))
	b.expect(names[0], "RISK-0001")
}

// TestBrowserLists_Bulk gives several risks a status: with a preview, a justification and
// one change for all of them.
func TestBrowserLists_Bulk(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	b := newBrowser(t, h).as(auth.Editor)
	b.open("/risks?severity=CRITICAL&status=Open,InProgress")
	b.expect("!Preview changes")
	b.call(chromedp.Click(chromedp.CSS("[data-select-all]")))
	b.expect("Preview changes")
	n := evaluate[int](b, `document.querySelectorAll("tbody tr").length`)
	evaluate[chromedp.Void](b, `document.querySelector("#f-bulk-status").value = "Accepted"`)
	b.press("Preview changes")
	change := fmt.Sprintf("Change %d risks", n)
	b.expect(change, fmt.Sprintf("%d risks need a justification", n), "Nothing has been changed yet.")
	b.checkPage("lists-bulk")
	b.pressFor(change, 422)
	b.expect("Nothing has been changed.")
	b.checkPage("lists-bulk-refused")
	b.fill("Rating justification", "The committee accepts these risks until the release gate is passed.")
	b.pressFor(change, 200)
	b.expect(fmt.Sprintf("%d risks have been changed.", n), "No matching risks")
}
