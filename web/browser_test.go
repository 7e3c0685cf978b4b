//go:build browser

package web_test

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"govsvc/db/auth"
	"govsvc/db/resource"
	"govsvc/internal/testkit/testdb"
)

// TestBrowserFirstAdmin creates the first administrator from the setup link and turns
// on a second factor. It signs in with a code and again with a recovery code.
func TestBrowserFirstAdmin(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: noData})
	b := newBrowser(t, h)
	b.open("/")
	b.expect("There is no user yet")
	b.checkPage("signin-first")
	b.checkStatus("/setup?token=guessed", 410)
	b.checkPage("setup-gone")

	b.open(h.setupLink)
	b.checkPage("setup")
	b.fill("Name", "Ada Lovelace")
	b.fill("Password", "short")
	b.fill("Confirm password", "short")
	b.pressFor("Create account and sign in", 422)
	b.checkPage("setup-refused")
	b.fill("Password", password)
	b.fill("Confirm password", password)
	b.press("Create account and sign in")
	b.expect("Overview", "Ada Lovelace")
	b.checkPage("overview-empty")
	b.open(h.setupLink)
	b.expect("This link is used")

	b.open("/account")
	b.checkPage("account")
	b.press("Set up a second factor")
	b.checkPage("second-factor")
	secret := evaluate[string](b, `document.querySelector(".copy code").textContent`)
	b.fill("Code", "000000")
	b.pressFor("Turn on", 422)
	b.fill("Code", totp(t, secret, h.clock.Now()))
	b.press("Turn on")
	b.checkPage("recovery-codes")
	codes := strings.Fields(evaluate[string](b, `document.querySelector(".copy code").textContent`))
	b.press("I have saved them")
	b.expect("10 recovery codes left")
	b.checkPage("account-factor")

	b.toggle("Ada Lovelace")
	b.checkPage("user-menu")
	b.press("Sign out")
	b.expect("You have signed out.")
	b.checkPage("signin")
	b.signIn("wrong password")
	b.expect("The name or the password is wrong.")
	b.checkPage("signin-refused")
	h.clock.Advance(30 * time.Second)
	b.signIn(password)
	b.expect("Now enter the code of your second factor")
	b.checkPage("signin-code")
	b.fill("Code", totp(t, secret, h.clock.Now()))
	b.press("Sign in")
	b.expect("Overview")

	b.open("/account")
	b.press("Sign out everywhere")
	b.signIn(password)
	b.fill("Code", codes[0])
	b.press("Sign in")
	b.open("/account")
	b.expect("9 recovery codes left")
}

// TestBrowserProblems opens the error pages for unknown paths, signed out and signed
// in.
func TestBrowserProblems(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	b := newBrowser(t, h)
	b.checkStatus("/nothing", http.StatusNotFound)
	b.checkPage("not-found-guest")
	b.as(auth.Viewer)
	b.open("/nothing")
	b.checkPage("not-found")
}

// TestBrowserMenus checks that menus close on Escape and on a click elsewhere. Escape
// returns the focus to the menu's button.
func TestBrowserMenus(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	b := newBrowser(t, h).as(auth.Viewer)
	b.open("/account")
	const open = `document.querySelectorAll("details[data-menu][open]").length`
	b.toggle("viewer")
	if n := evaluate[int](b, open); n != 1 {
		t.Fatalf("%d menus are open, want 1", n)
	}
	b.call(chromedp.KeyEvent(kb.Escape))
	if n := evaluate[int](b, open); n != 0 || evaluate[string](b, "document.activeElement.innerText.trim()") != "viewer" {
		t.Errorf("%d menus are open after Escape, or the focus is lost", n)
	}
	b.toggle("viewer")
	b.call(chromedp.Click(chromedp.CSS("h1")))
	if n := evaluate[int](b, open); n != 0 {
		t.Errorf("%d menus are open after a click elsewhere", n)
	}
	b.narrow()
	b.toggle("Menu")
	b.saveScreenshot("menu-narrow")
	b.press("Overview")
	if at := b.path(); at != "/" {
		t.Errorf("got path %s, want /", at)
	}
}

// TestBrowserKeyboard moves through a page with the Tab key. The first element is the
// link to the content, and every focused element is visibly marked.
func TestBrowserKeyboard(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	b := newBrowser(t, h).as(auth.Admin)
	b.open("/account")
	b.call(chromedp.KeyEvent(kb.Tab))
	if got := evaluate[string](b, "document.activeElement.innerText"); got != "Skip to the content" {
		t.Fatalf("the first focused element is %q, want the link to the content", got)
	}
	b.saveScreenshot("skip")
	for range 60 {
		b.call(chromedp.KeyEvent(kb.Tab))
		if evaluate[bool](b, "document.activeElement === document.body") {
			return
		}
		if !evaluate[bool](b, `(() => { const s = getComputedStyle(document.activeElement); return document.activeElement.checkVisibility() && s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2; })()`) {
			t.Errorf("the focus is not visible on %s", evaluate[string](b, "document.activeElement.outerHTML"))
		}
	}
	t.Error("the focus did not leave the page after 60 presses of Tab")
}

// TestBrowserZone checks that the page shows times in the user's time zone. The title
// of each time has UTC.
func TestBrowserZone(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	b := newBrowser(t, h).as(auth.Admin)
	b.call(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Kolkata"})
		return chromedp.Void{}, err
	})
	b.open("/account")
	b.expect("1 Oct 2026, 17:30")
	if title := evaluate[string](b, `document.querySelector("time").title`); title != "1 Oct 2026, 12:00 UTC" {
		t.Errorf("got title %q, want the time in UTC", title)
	}
}

// signIn fills in and sends the form with the name and the password.
func (b *browser) signIn(password string) {
	b.t.Helper()
	b.fill("Name", "ada lovelace")
	b.fill("Password", password)
	b.press("Sign in")
}

// TestBrowserPages opens every page that an admin can open without the ID of a record.
// It also opens the first record that each page links to. It uses the demonstration
// organisation, in which each list has records, and an empty one.
func TestBrowserPages(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		data     *testdb.Template[tokens]
		overview []string // what the overview shows
	}{
		"demo":  {demoData, []string{"Needs attention", "Open risks", "KPIs against target"}},
		"empty": {usersOnly, []string{"No records yet", "Create API key"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, options{data: test.data})
			b, c := newBrowser(t, h).as(auth.Admin), h.as(auth.Admin)
			for _, route := range routes() {
				path := pathWithID(route)
				if route.Method != http.MethodGet || route.Needs == "" || strings.Contains(path, unknownID) ||
					!strings.HasPrefix(c.get(path).header.Get("Content-Type"), "text/html") {
					continue
				}
				b.checkStatus(path, http.StatusOK)
				if path == "/" {
					b.expect(test.overview...)
				}
				b.checkWeight(path)
				picture := name + "-" + cmp.Or(strings.ReplaceAll(path[1:], "/", "-"), "overview")
				b.checkPage(picture)
				b.checkLayout(picture)
				record := evaluate[string](b, `(document.querySelector("main > .scroll tbody th a") ?? document.querySelector("main tbody th a"))?.getAttribute("href") ?? ""`)
				if record == "" && name == "demo" && isRecordList(path) {
					t.Errorf("%s links to no record", path)
				}
				if record != "" {
					b.checkStatus(record, http.StatusOK)
					b.checkWeight(record)
					b.checkPage(picture + "-record")
					b.checkLayout(picture + "-record")
				}
			}
		})
	}
}

// isRecordList reports whether a path is the list of a resource.
func isRecordList(path string) bool {
	return slices.ContainsFunc(resource.All(), func(r *resource.Resource) bool { return r.Page != nil && r.Page.List == path })
}
