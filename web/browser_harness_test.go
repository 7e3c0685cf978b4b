//go:build browser

package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"govsvc/db/auth"
)

// browser is a Chromium window for one harness, with separate cookies. It fails the
// test if a page writes an error to the console or loads anything from another
// origin. It also fails the test if a page breaks an accessibility rule.
type browser struct {
	*harness
	ctx   context.Context
	mutex sync.Mutex
	found []string // errors, reported when the test ends
}

// browserTimeout limits the time of one step in a browser. It allows for a busy
// machine.
const browserTimeout = time.Minute

// chromium is the browser process that all tests share. TestMain stops it with the
// cancel functions.
var chromium struct {
	once   sync.Once
	ctx    context.Context
	cancel []context.CancelFunc
	err    error
}

func TestMain(m *testing.M) {
	status := m.Run()
	for _, cancel := range slices.Backward(chromium.cancel) {
		cancel()
	}
	os.Exit(status)
}

func startChromium() {
	path, err := exec.LookPath("chromium")
	if err != nil {
		chromium.err = err
		return
	}
	folder, err := os.MkdirTemp("", "govsvc-chromium-")
	if err != nil {
		chromium.err = err
		return
	}
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(path), chromedp.UserDataDir(folder)}
	for _, flag := range []string{
		"headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "no-default-browser-check", "disable-background-networking",
		"disable-component-update", "disable-sync", "disable-dev-shm-usage", "disable-default-apps", "disable-extensions", "mute-audio", "hide-scrollbars",
	} {
		options = append(options, chromedp.Flag(flag, true))
	}
	allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	chromium.ctx = ctx
	chromium.cancel = []context.CancelFunc{func() { _ = os.RemoveAll(folder) }, end, cancel}
	chromium.err = chromedp.Do(ctx)
}

// newBrowser opens a window for a harness. Without Chromium it skips the test. In CI
// it fails the test instead.
func newBrowser(t *testing.T, h *harness) *browser {
	t.Helper()
	chromium.once.Do(startChromium)
	if chromium.err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("no Chromium: %v", chromium.err)
		}
		t.Skipf("the browser tests need Chromium on the path: %v", chromium.err)
	}
	ctx, cancel := chromedp.NewContext(chromium.ctx, chromedp.WithNewBrowserContext())
	b := &browser{harness: h, ctx: ctx}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Listen(ctx, b.onEvent); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		b.mutex.Lock()
		defer b.mutex.Unlock()
		for _, fault := range b.found {
			t.Error(fault)
		}
	})
	b.call(attachListeners)
	b.wide()
	return b
}

// attachListeners enables the events of the window for requests and log entries.
func attachListeners(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
	if _, err := cdp.Call(ctx, t, network.Enable, network.EnableParams{}); err != nil {
		return chromedp.Void{}, err
	}
	_, err := cdp.Call(ctx, t, log.Enable, cdp.Empty{})
	return chromedp.Void{}, err
}

// onEvent reports requests to other origins, failed loads, and script and console
// errors.
func (b *browser) onEvent(event any) {
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if at := e.Request.URL; !strings.HasPrefix(at, b.url+"/") && !strings.HasPrefix(at, "data:") && !strings.HasPrefix(at, "about:") {
			b.report("a request went to another origin: %s (from %s)", at, e.DocumentURL)
		}
	case *network.EventResponseReceived:
		if e.Type != network.ResourceTypeDocument && e.Response.Status >= 400 {
			b.report("%s returned status %v", e.Response.URL, e.Response.Status)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork {
			b.report("console: %s (%s)", e.Entry.Text, e.Entry.URL)
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			args, _ := json.Marshal(e.Args)
			b.report("console: %s", args)
		}
	case *runtime.EventExceptionThrown:
		b.report("script: %v", e.ExceptionDetails)
	}
}

func (b *browser) report(format string, args ...any) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.found = append(b.found, fmt.Sprintf(format, args...))
}

// call runs a step. It ends the test if the step fails.
func (b *browser) call(action chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserTimeout)
	defer cancel()
	if err := chromedp.Do(ctx, action); err != nil {
		b.t.Fatal(err)
	}
}

// as signs the window in as the user with a role.
func (b *browser) as(role auth.Role) *browser {
	b.t.Helper()
	b.call(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, network.SetCookie, network.SetCookieParams{Name: "govsvc_session", Value: b.tokens[role], URL: b.url})
		return err
	}))
	return b
}

// open loads a path and returns the HTTP status.
func (b *browser) open(path string) int {
	b.t.Helper()
	return b.load(chromedp.Navigate(b.url + path))
}

// checkStatus loads a path and checks the HTTP status.
func (b *browser) checkStatus(path string, want int) {
	b.t.Helper()
	if status := b.open(path); status != want {
		b.t.Errorf("%s: got status %d, want %d", path, status, want)
	}
}

// load runs a step that opens another page, waits for that page, and returns its HTTP
// status.
func (b *browser) load(step chromedp.Action[chromedp.Void]) int {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserTimeout)
	defer cancel()
	resp, err := chromedp.RunResponse(ctx, step)
	if err != nil {
		b.t.Fatalf("%v; the page was\n%.2000s", err, b.text())
	}
	return int(resp.Status)
}

// path returns the path of the current page.
func (b *browser) path() string {
	at, err := url.Parse(evaluate[string](b, "location.href"))
	if err != nil {
		b.t.Fatal(err)
	}
	return at.Path
}

// evaluate runs a JavaScript expression in the page and returns its value.
func evaluate[T any](b *browser, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserTimeout)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%.200s: %v", expression, err)
	}
	return value
}

// text returns the visible text of the page.
func (b *browser) text() string { return evaluate[string](b, "document.body.innerText") }

// expect checks that the page contains each text. A text that starts with "!" must be
// absent.
func (b *browser) expect(texts ...string) {
	b.t.Helper()
	page := b.text()
	for _, text := range texts {
		if unwanted, not := strings.CutPrefix(text, "!"); not == strings.Contains(page, unwanted) {
			b.t.Errorf("want %q in %s:\n%s", text, b.path(), page)
		}
	}
}

// element finds a field by its label, or a button, link or summary by its text. It
// returns a selector.
func (b *browser) element(words string) chromedp.CSS {
	b.t.Helper()
	name, _ := json.Marshal(words)
	selector := evaluate[string](b, `(() => {
		const words = `+string(name)+`, plain = (text) => text.replace(/\s+/g, " ").trim();
		const shown = (e) => e.checkVisibility();
		// The text of an element, or its first line. The lines below are a hint.
		const says = (e) => [plain(e.innerText), plain(e.innerText.trim().split("\n")[0])].some((said) => said === words || said === words + " (optional)");
		let found = [...document.querySelectorAll("label")].filter(shown).filter(says).map((l) => l.control).find(Boolean);
		found ??= [...document.querySelectorAll("button, a, summary")].filter(shown).find((e) => says(e) || e.getAttribute("aria-label") === words);
		if (!found) return "";
		document.querySelectorAll("[data-found]").forEach((e) => e.removeAttribute("data-found"));
		found.setAttribute("data-found", "");
		return "[data-found]";
	})()`)
	if selector == "" {
		b.t.Fatalf("no element has the text %q in %s:\n%s", words, b.path(), b.text())
	}
	return chromedp.CSS(selector)
}

// fill replaces the value of the field that has the label.
func (b *browser) fill(label, value string) {
	b.t.Helper()
	at := b.element(label)
	kind := evaluate[string](b, `(() => { const e = document.querySelector("`+string(at)+`"); return e.tagName + " " + e.type; })()`)
	if !strings.HasPrefix(kind, "INPUT") || strings.Contains(kind, "date") {
		b.call(chromedp.SetValue(at, value))
		return
	}
	b.call(chromedp.Clear(at))
	b.call(chromedp.SendKeys(at, value))
}

// toggle clicks an element that opens no other page, such as a check box.
func (b *browser) toggle(words string) {
	b.t.Helper()
	b.call(chromedp.Click(b.element(words)))
}

// press clicks an element that opens another page, and returns its HTTP status.
func (b *browser) press(words string) int {
	b.t.Helper()
	return b.load(chromedp.Click(b.element(words)))
}

// pressFor clicks an element that opens another page, and checks the HTTP status.
func (b *browser) pressFor(words string, want int) {
	b.t.Helper()
	if status := b.press(words); status != want {
		b.t.Errorf("%s: got status %d, want %d", words, status, want)
	}
}

// setColourScheme emulates the user's preference for a colour scheme.
func (b *browser) setColourScheme(scheme string) {
	b.t.Helper()
	b.call(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
		})
		return err
	}))
}

func (b *browser) wide()   { b.resize(views[0]) }
func (b *browser) narrow() { b.resize(views[2]) }

func (b *browser) resize(v view) {
	b.t.Helper()
	b.call(chromedp.EmulateViewport(v.width, v.height))
}

// view is a window size and a colour scheme in which checkPage looks at a page.
type view struct {
	name, scheme  string
	width, height int64
	rules         string // options of axe; "" checks only the width of the page
}

const allRules, colourRules = "{}", `{runOnly: ["color-contrast", "link-in-text-block"]}`

var views = []view{
	{"light", "light", 1280, 800, allRules},
	{"dark", "dark", 1280, 800, colourRules}, // the scheme changes nothing but colours
	{"narrow", "light", 360, 740, allRules},
	{"tablet", "light", 768, 1024, ""},
}

// checkedPages has the HTML of each page that checkPage has checked.
var checkedPages sync.Map

// checkPage checks the page in each view. No accessibility rule may be broken, and
// neither the page nor a list may extend beyond the right edge. A page with the same
// HTML as an earlier one is not checked again. With GOVSVC_SCREENSHOTS=FOLDER it saves
// screenshots in that folder.
func (b *browser) checkPage(name string) {
	b.t.Helper()
	html := strings.ReplaceAll(evaluate[string](b, "document.documentElement.outerHTML"), b.url, "")
	if _, checked := checkedPages.LoadOrStore(html, true); checked {
		return
	}
	defer b.setColourScheme("light")
	defer b.wide()
	for _, view := range views {
		b.setColourScheme(view.scheme)
		b.resize(view)
		b.saveScreenshot(name + "-" + view.name)
		if view.rules != "" {
			b.axe(name+", "+view.name, view.rules)
		}
		if over := evaluate[int](b, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
			b.t.Errorf("%s, %s: the page is %d pixels wider than the window", name, view.name, over)
		}
		if evaluate[bool](b, `[...document.querySelectorAll("main > .scroll")].some((e) => e.scrollWidth > e.clientWidth)`) {
			b.t.Errorf("%s, %s: columns of a list are out of sight", name, view.name)
		}
	}
}

func (b *browser) saveScreenshot(name string) {
	b.t.Helper()
	folder := os.Getenv("GOVSVC_SCREENSHOTS")
	if folder == "" {
		return
	}
	// The window becomes as tall as the page, so that fixed elements stay at its edges.
	size := evaluate[[]int64](b, "[innerWidth, Math.max(innerHeight, document.documentElement.scrollHeight), innerHeight]")
	b.call(chromedp.EmulateViewport(size[0], size[1]))
	defer b.call(chromedp.EmulateViewport(size[0], size[2]))
	err := os.MkdirAll(folder, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, name+".png"), b.screenshot(), 0o600)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// screenshot returns the window as a PNG.
func (b *browser) screenshot() []byte {
	b.t.Helper()
	evaluate[bool](b, "scrollTo(0, 0), new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
	ctx, cancel := context.WithTimeout(b.ctx, browserTimeout)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	return png
}

// axeScript reads axe-core, the accessibility engine that npm installs for the checks.
var axeScript = sync.OnceValues(func() ([]byte, error) {
	return os.ReadFile("../.ci/browser/node_modules/axe-core/axe.min.js")
})

// axe checks the accessibility of the page by some rules. It excludes Swagger UI, which
// this project does not maintain. Without axe-core it checks nothing. In CI it fails
// the test instead.
func (b *browser) axe(name, rules string) {
	b.t.Helper()
	script, err := axeScript()
	if err != nil {
		if os.Getenv("CI") == "true" {
			b.t.Fatalf("%v; run npm ci in .ci/browser", err)
		}
		b.t.Logf("not checked with axe: %v", err)
		return
	}
	if !evaluate[bool](b, "typeof axe === 'object'") {
		evaluate[chromedp.Void](b, string(script))
	}
	faults := evaluate[[]string](b, `axe.run({exclude: [".swagger-ui"]}, {resultTypes: ["violations"], ...`+rules+`}).then((r) =>
		r.violations.map((v) => v.id + ": " + v.help + "\n" + v.nodes.map((n) => "    " + n.html.slice(0, 300) + "\n    " + n.failureSummary.replaceAll("\n", " ")).join("\n")))`)
	for _, fault := range faults {
		b.t.Errorf("%s: %s", name, fault)
	}
}
