//go:build browser

package web_test

import (
	"bytes"
	"fmt"
	"image/png"
	"os"
	"testing"
	"time"

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
