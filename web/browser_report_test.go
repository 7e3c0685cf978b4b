//go:build browser

package web_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"govsvc/db/auth"
)

// maxReportPages is the most pages that a printed report may have.
const maxReportPages = 6

// TestBrowserReport prints the report as a PDF. It checks the number of pages and the texts,
// with the demonstration data and with 10,000 records.
func TestBrowserReport(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fill func(*harness)
		want []string
	}{
		"demo": {func(*harness) {}, []string{"Optimisation", "Proxy discrimination", "Swedish authority asks", "26 of 49 met", "Lowest selection-rate ratio", "Triage proposals changed by a"}},
		"many": {func(h *harness) { h.importManyRecords(2_500) }, []string{"2,524 open risks", "And 42 more regimes", "more pending notifications"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			test.fill(h)
			b := newBrowser(t, h).as(auth.Editor)
			b.checkStatus("/report", 200)
			b.checkPage("report-" + name)
			b.fill("Title", "Board of October")
			b.press("Save report")
			b.expect("Compare with", "Board of October", "Print")
			b.setColourScheme("dark")
			text, pages := b.print("report-" + name)
			if pages > maxReportPages {
				t.Errorf("the report has %d pages, want at most %d", pages, maxReportPages)
			}
			for _, want := range append(test.want, "AI governance report", "default, 1 Oct 2026 to 1 Oct 2026", "Verdict and trend", "Scores over time", "Key figures", "Top risks",
				"Incidents and clocks", "Obligations", "Next deadlines", "KPIs", "Changes since 1 Oct 2026") {
				if !strings.Contains(text, want) {
					t.Errorf("the PDF does not have %q:\n%s", want, text)
				}
			}
			for _, unwanted := range []string{"Save this report", "Saved reports", "Compare with Board", "Evidence", "As a table", "The report is saved"} {
				if strings.Contains(text, unwanted) {
					t.Errorf("the PDF has %q, which is for the screen only", unwanted)
				}
			}
		})
	}
}

// TestBrowserCharts prints the lists with charts, and checks that labels of axes stay
// inside their charts on a narrow screen.
func TestBrowserCharts(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	b := newBrowser(t, h).as(auth.Viewer)
	for _, path := range []string{"/assessments", "/roadmap"} {
		b.narrow()
		b.open(path)
		outside := evaluate[[]string](b, `[...document.querySelectorAll(".plot-frame text")].filter((e) => {
			const box = e.getBoundingClientRect(), card = e.closest(".card").getBoundingClientRect();
			return box.left < card.left || box.right > card.right;
		}).map((e) => e.textContent)`)
		overlaps := evaluate[[]string](b, `[...document.querySelectorAll(".plot-labels")].flatMap((axis) => {
			const boxes = [...axis.querySelectorAll("text")].map((e) => e.getBoundingClientRect());
			return boxes.slice(1).filter((box, i) => box.left < boxes[i].right).map(() => axis.textContent);
		})`)
		if len(outside) > 0 || len(overlaps) > 0 {
			t.Errorf("%s: labels outside %q, overlapping %q", path, outside, overlaps)
		}
	}
	b.wide()
	b.open("/assessments")
	if text, _ := b.print("assessments"); !strings.Contains(text, "Jan 2025") || !strings.Contains(text, "Score, 0 to 100") {
		t.Errorf("the printed chart has no axes:\n%s", text)
	}
}

// print prints the page as a PDF on A4 and returns its text and the number of its pages.
func (b *browser) print(name string) (text string, pages int) {
	b.t.Helper()
	for _, tool := range []string{"pdfinfo", "pdftotext"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") == "true" {
				b.t.Fatalf("%v; install poppler-utils", err)
			}
			b.t.Skipf("this test needs poppler-utils: %v", err)
		}
	}
	var pdf []byte
	yes := true
	b.call(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		printed, err := cdp.Call(ctx, t, page.PrintToPDF, page.PrintToPDFParams{PreferCSSPageSize: &yes, PrintBackground: &yes})
		pdf = printed.Data
		return err
	}))
	path := filepath.Join(b.t.TempDir(), name+".pdf")
	if folder := os.Getenv("GOVSVC_SCREENSHOTS"); folder != "" {
		path = filepath.Join(folder, name+".pdf")
	}
	if err := os.WriteFile(path, pdf, 0o600); err != nil {
		b.t.Fatal(err)
	}
	info := b.output("pdfinfo", path)
	if !strings.Contains(info, "(A4)") {
		b.t.Errorf("the PDF is not on A4:\n%s", info)
	}
	found := regexp.MustCompile(`(?m)^Pages:\s+(\d+)$`).FindStringSubmatch(info)
	if found == nil {
		b.t.Fatalf("pdfinfo reports no pages:\n%s", info)
	}
	pages, _ = strconv.Atoi(found[1])
	return strings.Join(strings.Fields(b.output("pdftotext", "-layout", path, "-")), " "), pages
}

// output runs a program and returns its output.
func (b *browser) output(name string, args ...string) string {
	b.t.Helper()
	out, err := exec.CommandContext(b.t.Context(), name, args...).CombinedOutput()
	if err != nil {
		b.t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}
