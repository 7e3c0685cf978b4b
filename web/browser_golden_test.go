//go:build browser

package web_test

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"govsvc/db/auth"
	"govsvc/internal/testkit"
)

// goldenViews are the views of the golden pictures.
var goldenViews = []view{
	{"wide", "light", 1440, 900, ""},
	{"narrow", "dark", 390, 844, ""},
}

// goldenHeight limits the height of a golden picture, in pixels of the page.
const goldenHeight = 2000

// goldenPages returns the paths of the pages with golden pictures.
func goldenPages(h *harness) map[string]string {
	return map[string]string{
		"overview":   "/",
		"risks":      "/risks",
		"risk":       h.pathOf("/risks", "risk", "RISK-0040"),
		"risk-edit":  h.pathOf("/risks", "risk", "RISK-0040") + "/edit",
		"incident":   h.pathOf("/incidents", "incident", "settlement letters"),
		"kpi":        h.pathOf("/kpis", "kpi", "KR-INV-01"),
		"compliance": "/compliance",
		"roadmap":    "/roadmap",
		"search":     "/search?q=claims",
		"audit":      "/audit",
	}
}

// TestBrowserGolden compares the main pages with their golden pictures in
// testdata/golden. The flag -update replaces the pictures.
func TestBrowserGolden(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	b := newBrowser(t, h).as(auth.Admin)
	b.prepareGolden()
	for name, path := range goldenPages(h) {
		b.checkStatus(path, 200)
		for _, v := range goldenViews {
			b.setColourScheme(v.scheme)
			got := b.picture(v)
			file := filepath.Join("testdata", "golden", name+"-"+v.name+".png")
			if testkit.Update() {
				if err := os.WriteFile(file, encodePicture(t, got), 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if share := difference(readPicture(t, file), got); share > maxDifference {
				b.saveScreenshot("golden-" + name + "-" + v.name)
				t.Errorf("%s differs from %s in %.1f %% of its area, %.1f %% are allowed. If the change is meant, run: CI=true go test -tags browser -run BrowserGolden ./web -update",
					path, file, 100*share, 100*maxDifference)
			}
		}
	}
}

// TestBrowserGolden_FindsBrokenLayout breaks pages by their styles, and checks that their
// pictures differ from those of the unbroken pages.
func TestBrowserGolden_FindsBrokenLayout(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	b := newBrowser(t, h).as(auth.Admin)
	b.prepareGolden()
	pages := goldenPages(h)
	for _, row := range []struct{ about, page, script string }{
		{"another window without a change", "overview", "0"},
		{"the navigation is above the page", "overview", `document.querySelector(".app").style.display = "block"`},
		{"the columns are below each other", "overview", `document.querySelectorAll(".columns").forEach((e) => { e.style.display = "block" })`},
		{"a card covers another one", "risk", `document.querySelectorAll(".card")[1].style.marginTop = "-8rem"`},
		{"the table lacks a column", "risks", `document.querySelectorAll("tr > :nth-child(3)").forEach((e) => e.remove())`},
		{"the filters are below each other", "risks", `document.querySelector(".filters").style.flexDirection = "column"`},
		{"the letters are larger", "compliance", `document.body.style.fontSize = "1.25rem"; document.querySelectorAll("table").forEach((e) => { e.style.fontSize = "1.25rem" })`},
	} {
		b.setColourScheme("light")
		b.open(pages[row.page])
		before := b.picture(goldenViews[0])
		b.open(pages[row.page])
		evaluate[any](b, row.script+"; 0")
		share := difference(before, b.picture(goldenViews[0]))
		if broken := row.script != "0"; broken != (share > maxDifference) {
			t.Errorf("%s: the pictures of %s differ in %.2f %% of their area", row.about, row.page, 100*share)
		}
	}
}

// prepareGolden makes the pages of a window the same on all machines: UTC, and the same
// letters where they are installed.
func (b *browser) prepareGolden() {
	b.t.Helper()
	b.call(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "UTC"})
		return chromedp.Void{}, err
	})
}

// picture returns the golden picture of the page in a view.
func (b *browser) picture(v view) *image.Paletted {
	b.t.Helper()
	b.resize(v)
	evaluate[bool](b, `(() => {
		document.documentElement.style.setProperty("--sans", "'Liberation Sans', sans-serif");
		document.documentElement.style.setProperty("--mono", "'Liberation Mono', monospace");
		return true;
	})()`)
	height := evaluate[int64](b, "Math.max(innerHeight, document.documentElement.scrollHeight)")
	b.call(chromedp.EmulateViewport(v.width, min(height, goldenHeight)))
	screenshot, err := png.Decode(bytes.NewReader(b.screenshot()))
	if err != nil {
		b.t.Fatal(err)
	}
	return shrink(screenshot)
}

func readPicture(t *testing.T, path string) image.Image {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	picture, err := png.Decode(file)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return picture
}
