//go:build browser

package web_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"govsvc/db/auth"
)

// maxWeight is the size of a page with all it loads, in bytes as they are sent, without
// headers.
const maxWeight = 60_000

// layoutWidths are the widths of windows at which checkLayout looks at a page: a phone, a
// tablet, a small, a usual and a wide screen.
var layoutWidths = []int64{390, 768, 1024, 1440, 1920}

// layoutProblems finds what is out of sight, broken, alone or empty.
const layoutProblems = `(() => {
	const found = [], say = (e) => e.className + " " + (e.innerText ?? "").trim().slice(0, 60);
	const tops = (rects) => new Set([...rects].filter((r) => r.width > 0).map((r) => Math.round(r.bottom)));
	if (document.documentElement.scrollWidth > innerWidth) found.push("the page is wider than the window");
	for (const e of document.querySelectorAll("main .scroll")) {
		if (e.checkVisibility() && e.scrollWidth > e.clientWidth + 1) found.push("a column is out of sight: " + e.getAttribute("aria-label"));
	}
	for (const e of document.querySelectorAll("main .tiles")) {
		const rows = Map.groupBy([...e.children].filter((tile) => tile.checkVisibility()), (tile) => Math.round(tile.getBoundingClientRect().top));
		const sizes = [...rows.values()].map((row) => row.length);
		if (sizes.length > 1 && sizes[0] > 2 && sizes.at(-1) === 1) found.push("a tile is alone in its row: " + sizes);
	}
	for (const e of document.querySelectorAll("main :is(.card, .tile)")) {
		const text = [...e.children].filter((c) => !/^H\d$/.test(c.tagName)).map((c) => c.innerText ?? c.textContent).join("").trim();
		if (e.checkVisibility() && !text && !e.querySelector("svg, input, button")) found.push("a card is empty: " + say(e));
	}
	const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
	const range = document.createRange();
	for (let node = walker.nextNode(); node; node = walker.nextNode()) {
		const parent = node.parentElement;
		if (!node.data.trim() || parent.closest("option, script, .unseen, svg, .swagger-ui") || !parent.checkVisibility()) continue;
		range.selectNodeContents(node);
		if (tops(range.getClientRects()).size < 2) continue;
		// A part of a code, such as compliance.open_obligations, is no word.
		for (const word of node.data.matchAll(/(?<![\p{L}\d._\/"@-])\p{L}{2,20}(?![\p{L}\d_\/"@]|[.-]\S)/gu)) {
			range.setStart(node, word.index);
			range.setEnd(node, word.index + word[0].length);
			if (tops(range.getClientRects()).size > 1) found.push("a word is broken: " + word[0] + " in " + say(parent));
		}
	}
	return found;
})()`

// checkLayout looks at the page at each width.
func (b *browser) checkLayout(name string) {
	b.t.Helper()
	defer b.wide()
	for _, width := range layoutWidths {
		b.call(chromedp.EmulateViewport(width, 900))
		for _, problem := range evaluate[[]string](b, layoutProblems) {
			b.t.Errorf("%s, %d wide: %s", name, width, problem)
		}
	}
}

// paints has the time of the first paint of each page, in milliseconds.
var paints struct {
	sync.Mutex
	longest float64
	page    string
	pages   int
}

// checkWeight checks the size of the page with its stylesheets, scripts and pictures, as
// a browser without a cache loads them. The time of the first paint is reported only, as
// it depends on the machine.
func (b *browser) checkWeight(path string) {
	b.t.Helper()
	if path == "/docs" {
		return // the reference is a program of its own
	}
	sizes := evaluate[map[string]float64](b, `Object.fromEntries([...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
		.map((e) => [new URL(e.name).pathname, e.encodedBodySize]))`)
	sum := 0.0
	for _, size := range sizes {
		sum += size
	}
	if sum > maxWeight {
		b.t.Errorf("%s weighs %.0f bytes, want at most %d: %v", path, sum, maxWeight, sizes)
	}
	paint := evaluate[float64](b, `new Promise((done) => requestAnimationFrame(() => setTimeout(() =>
		done(performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0), 50)))`)
	paints.Lock()
	defer paints.Unlock()
	paints.pages++
	if paint > paints.longest {
		paints.longest, paints.page = paint, path
	}
	b.t.Logf("%s: %.0f bytes, first paint after %.0f ms; longest of %d pages %.0f ms (%s)", path, sum, paint, paints.pages, paints.longest, paints.page)
}

// TestBrowserSearch opens the dialog of the search with the keyboard, chooses a record
// with the arrow keys, and closes the dialog.
func TestBrowserSearch(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	b := newBrowser(t, h).as(auth.Admin)
	b.open("/kpis")
	b.call(chromedp.KeyEvent("k", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	b.waitFor(`document.querySelector("#palette [role=status]").textContent.includes("Search for words")`)
	b.checkPage("search-dialog-empty")
	b.call(chromedp.KeyEvent("settlement letters"))
	b.waitFor(`document.querySelector("#palette mark")`)
	b.checkPage("search-dialog")
	if got := evaluate[string](b, `(() => {
		const input = document.querySelector("#palette input");
		const option = document.getElementById(input.getAttribute("aria-activedescendant"));
		return [input.getAttribute("aria-expanded"), option.getAttribute("role"), option.getAttribute("aria-selected"), document.activeElement === input].join();
	})()`); got != "true,option,true,true" {
		t.Errorf("the list of the dialog: got %s", got)
	}
	b.load(chromedp.KeyEvent(kb.Enter))
	if want := h.pathOf("/incidents", "incident", "settlement letters"); b.path() != want {
		t.Errorf("got %s, want the first result, %s", b.path(), want)
	}

	b.call(chromedp.Click(chromedp.CSS("[data-search]")))
	b.waitFor(`document.querySelector("#palette[open] a[role=option]")`)
	b.call(chromedp.KeyEvent(kb.ArrowUp))
	if !evaluate[bool](b, `[...document.querySelectorAll("#palette [role=option]")].at(-1).getAttribute("aria-selected") === "true"`) {
		t.Error("the arrow up from the first result does not lead to the last one")
	}
	b.call(chromedp.KeyEvent(kb.Escape))
	b.waitFor(`!document.querySelector("#palette").open`)

	b.open("/search?q=claims")
	b.expect("All matching risks")
	b.checkPage("search")
	b.narrow()
	b.call(chromedp.Click(chromedp.CSS("[data-search]")))
	b.waitFor(`document.querySelector("#palette").open`)
	b.saveScreenshot("search-dialog-narrow")
	b.toggle("Close")
}

// TestBrowserTheme chooses a theme. It counts at once, on every page, and against the
// preference of the system.
func TestBrowserTheme(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	b := newBrowser(t, h).as(auth.Viewer)
	const ground = `getComputedStyle(document.documentElement).backgroundColor`
	b.setColourScheme("light")
	b.open("/account")
	light := evaluate[string](b, ground)
	b.setColourScheme("dark")
	dark := evaluate[string](b, ground)
	if light == dark {
		t.Fatalf("the ground is %s in both schemes", light)
	}
	choose := func(theme string) {
		t.Helper()
		if !evaluate[bool](b, `document.querySelector(".user").open`) {
			b.toggle("viewer")
		}
		b.toggle(theme)
		b.waitFor(`document.querySelector("[data-theme-form] [aria-pressed=true]").textContent === "` + theme + `"`)
	}
	for _, row := range []struct{ theme, scheme, want string }{{"Light", "dark", light}, {"Dark", "light", dark}, {"System", "light", light}} {
		b.setColourScheme(row.scheme)
		choose(row.theme)
		if got := evaluate[string](b, ground); got != row.want {
			t.Errorf("%s on a %s system: got %s, want %s", row.theme, row.scheme, got, row.want)
		}
		b.open("/account")
		if got := evaluate[string](b, ground); got != row.want {
			t.Errorf("%s on a %s system, on the next page: got %s, want %s", row.theme, row.scheme, got, row.want)
		}
	}
	b.toggle("viewer")
	b.checkPage("user-menu-theme")
}

// TestBrowserPrint checks that a page on paper is in the light theme, without what is
// clicked, and that nothing of a wide table is cut off.
func TestBrowserPrint(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	b := newBrowser(t, h).as(auth.Admin)
	b.toPaper("dark")
	for _, path := range []string{"/", "/risks", h.pathOf("/risks", "risk", "RISK-0040"), h.pathOf("/kpis", "kpi", "KR-INV-01"), "/compliance", "/audit"} {
		b.checkStatus(path, 200)
		b.call(chromedp.EmulateViewport(680, 960)) // A4 within its margins
		b.saveScreenshot("print" + strings.ReplaceAll(path, "/", "-"))
		for _, problem := range evaluate[[]string](b, `(() => {
			const found = [...document.querySelectorAll(".bar, .side, .button, .filters, dialog, main form")].filter((e) => e.checkVisibility()).map((e) => e.outerHTML.slice(0, 120));
			const colour = getComputedStyle(document.body).color;
			if (colour !== "rgb(23, 33, 43)") found.push("the letters are " + colour);
			if (document.documentElement.scrollWidth > innerWidth) found.push("the page is too wide");
			if (!document.querySelector(".print-only").checkVisibility()) found.push("the organisation is missing");
			return found;
		})()`) {
			t.Errorf("%s on paper: %s", path, problem)
		}
	}
}

// toPaper shows pages as they are printed, by a system that prefers a colour scheme.
func (b *browser) toPaper(scheme string) {
	b.t.Helper()
	b.call(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Media: "print", Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	}))
}

// waitFor waits until an expression is true.
func (b *browser) waitFor(expression string) {
	b.t.Helper()
	for until := time.Now().Add(browserTimeout); !evaluate[bool](b, "Boolean("+expression+")"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			b.t.Fatalf("not true within %s: %s; the page is\n%.2000s", browserTimeout, expression, b.text())
		}
	}
}
