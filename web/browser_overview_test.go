//go:build browser

package web_test

import (
	"bytes"
	"fmt"
	"image/png"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"govsvc/db/auth"
	"govsvc/internal/testkit"
	"govsvc/web/ui"
)

// TestBrowserPicture checks the size of the screenshot of the overview in the README.
// The flag -update replaces the file.
func TestBrowserPicture(t *testing.T) {
	t.Parallel()
	const path, maxBytes = "../doc/dashboard.png", 300_000
	b := newBrowser(t, newHarness(t)).as(auth.Admin)
	b.open("/")
	now := b.screenshot()
	if len(now) > maxBytes {
		t.Errorf("the picture has %d bytes, want at most %d", len(now), maxBytes)
	}
	if testkit.Update() {
		if err := os.WriteFile(path, now, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(stored) > maxBytes {
		t.Errorf("%s has %d bytes, want at most %d", path, len(stored), maxBytes)
	}
	got, err := png.DecodeConfig(bytes.NewReader(stored))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	want, err := png.DecodeConfig(bytes.NewReader(now))
	if err != nil {
		t.Fatal(err)
	}
	if got.Width != want.Width || got.Height != want.Height {
		t.Errorf("%s is %d × %d, want %d × %d: run the browser tests with -update", path, got.Width, got.Height, want.Width, want.Height)
	}
}

// TestBrowserClocks checks that the page's script updates a countdown with the same
// text that the server writes.
func TestBrowserClocks(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	b := newBrowser(t, h).as(auth.Viewer)
	b.open("/")
	evaluate[bool](b, `(() => { const now = Date.now(); Date.now = () => now; return true; })()`)
	for _, left := range []time.Duration{
		0, time.Minute, 59 * time.Minute, time.Hour, 13*time.Hour + 12*time.Minute, 72*time.Hour - time.Minute, 72 * time.Hour, 96 * time.Hour, 400 * 24 * time.Hour,
	} {
		for _, left := range []time.Duration{left + 30*time.Second, -left - 30*time.Second} {
			got := evaluate[string](b, fmt.Sprintf(`(() => {
				const clock = document.querySelector("[data-until]");
				clock.dataset.until = new Date(Date.parse(document.querySelector("[data-now]").dataset.now) + %d).toISOString();
				clock.className = "badge tone-medium";
				document.dispatchEvent(new Event("visibilitychange"));
				return clock.textContent + " " + clock.className;
			})()`, left.Milliseconds()))
			tone := "medium"
			if left < 0 {
				tone = "critical"
			}
			if want := ui.FormatTimeLeft(left) + " badge tone-" + tone; got != want {
				t.Errorf("%v: %q, want %q", left, got, want)
			}
		}
	}
}

// TestBrowserAttention works through the tasks of the overview: it chooses an owner, and
// records the notification that is due. The page has no scroll bar, no cut text and no card
// without a neighbour at five widths in both colour schemes.
func TestBrowserAttention(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: usersOnly})
	h.importRecords(attentionLines...)
	b := newBrowser(t, h).as(auth.Editor)
	b.open("/")
	b.expect("Data leak", "Model drift", "overdue by 1 day")
	if colour := evaluate[string](b, `getComputedStyle(document.querySelector(".task-due .alarm")).color`); colour != evaluate[string](b, `getComputedStyle(document.querySelector("h3.alarm")).color`) {
		t.Errorf("an overdue date has the colour %s", colour)
	}
	b.load(chromedp.Evaluate[chromedp.Void](`(() => { // as a user chooses
		const owner = document.querySelector("main select[name=owner]");
		owner.value = "Ada";
		owner.dispatchEvent(new Event("change", {bubbles: true}));
	})()`))
	b.expect("Data leak", "Log the use", "!Model drift")
	b.press("Record notification Data leak")
	b.fill("Regulator", "Datatilsynet")
	b.press("Record notification")
	b.open("/?owner=Ada")
	b.expect("Log the use", "!Notify the regulator", "editor recorded the notification of Data leak")
	b.open("/attention")
	b.expect("Model drift", "!Data leak")
	b.checkPage("attention")
}

// TestBrowserOverview_Widths checks the overview of the demonstration at five widths in both
// colour schemes: nothing is wider than the window, and no text is cut off.
func TestBrowserOverview_Widths(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, newHarness(t)).as(auth.Editor)
	for _, path := range []string{"/", "/attention"} {
		b.open(path)
		b.checkPage("overview-demo" + strings.ReplaceAll(path, "/", "-"))
		for _, width := range []int64{390, 768, 1024, 1440, 1920} {
			for _, scheme := range []string{"light", "dark"} {
				b.setColourScheme(scheme)
				b.resize(view{width: width, height: 900})
				b.saveScreenshot(fmt.Sprintf("overview%s-%d-%s", strings.ReplaceAll(path, "/", "-"), width, scheme))
				if over := evaluate[int](b, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
					t.Errorf("%s, %d, %s: the page is %d pixels wider than the window", path, width, scheme, over)
				}
				if cut := evaluate[[]string](b, cutTexts); len(cut) > 0 {
					t.Errorf("%s, %d, %s: cut off: %q", path, width, scheme, cut)
				}
			}
		}
	}
}

// cutTexts returns the texts of the cards that are wider than their box, or that another
// element of their task covers.
const cutTexts = `[...document.querySelectorAll("main .card :is(p, a, h2, h3, span, td, th)")].filter((e) =>
	e.checkVisibility() && !e.classList.contains("unseen") && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline").map((e) => e.innerText)
	.concat([...document.querySelectorAll(".tasks li")].filter((li) => {
		const boxes = [...li.children].map((e) => e.getBoundingClientRect());
		return boxes.some((a, i) => boxes.some((b, j) => i < j && a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1));
	}).map((e) => e.innerText))`
