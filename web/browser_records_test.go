//go:build browser

package web_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"govsvc/db"
	"govsvc/db/auth"
)

// TestBrowserRisk adds a risk and lowers its severity. Without a reason the form shows
// an error at the field. With a reason it saves the change.
func TestBrowserRisk(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	b := newBrowser(t, h).as(auth.Editor)
	b.open("/risks")
	b.press("Add a risk")
	b.checkPage("risk-new")
	b.fill("Title", "Chats train a model without consent")
	b.pressFor("Add risk", 422)
	b.expect("Description is required", "Severity is required", "Fix 3 fields")
	b.checkPage("risk-new-refused")
	b.fill("Description", "Customers' chats were used for fine-tuning without a legal basis.")
	b.fill("Severity", "CRITICAL")
	b.fill("Likelihood", "LIKELY")
	b.fill("Due", "2026-12-31")
	b.pressFor("Add risk", 200)
	b.expect("The risk has been added.", "Chats train a model without consent", "31 Dec 2026")
	b.checkPage("risk-added")

	b.press("Edit")
	b.fill("Severity", "MEDIUM")
	b.pressFor("Save changes", 422)
	b.expect("Rating justification is required")
	if focus := evaluate[string](b, "document.activeElement.name"); focus != "severity_change_reason" {
		t.Errorf("the focus is on %q, want the field with the error", focus)
	}
	b.checkPage("risk-lowered-refused")
	b.fill("Rating justification", "Consent is now asked for before each training run.")
	b.press("Save changes")
	b.expect("The changes have been saved.", "Rating justification", "Severity critical → medium", "Consent is now asked for")
	b.checkPage("risk-lowered")
}

// TestBrowserImport imports a file with errors, and then one without errors.
func TestBrowserImport(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	b := newBrowser(t, h).as(auth.Editor)
	b.open("/import")
	b.checkPage("import")
	b.chooseFile("File", "risks.csv", "risk_id,title,description,severity\nR-1,One,What may happen.,HUGE\nR-2,Two,,LOW\n")
	b.fill("Record type", "risk")
	b.pressFor("Check file", 422)
	b.expect("risks.csv can't be imported yet", "2 errors in 2 records", "Must be one of")
	b.checkPage("import-faults")
	b.chooseFile("File", "risks.csv", "risk_id,title,description,severity\nR-1,One,What may happen.,HIGH\nR-2,Two,What else may.,LOW\n")
	b.pressFor("Check file", 200)
	b.expect("risks.csv can be imported", "Nothing has been written yet")
	b.checkPage("import-good")
	b.press("Import 2 records")
	b.expect("Imported 2 records from risks.csv: 2 new, 0 changed, 0 unchanged.")
	b.checkPage("imported")
	b.open("/risks?q=happen")
	b.expect("R-1")
}

// TestBrowserEvidence files an evidence pack.
func TestBrowserEvidence(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	b := newBrowser(t, h).as(auth.Editor)
	b.open("/evidence")
	b.checkPage("evidence-empty")
	b.press("File pack")
	b.checkPage("evidence-new")
	b.fill("Title", "Supervisory review, third quarter")
	b.chooseFile("Attachments", "policy.txt", "Our policy.")
	b.pressFor("File pack", 200)
	b.expect("The pack has been filed.", "govsvc evidence verify")
	b.checkPage("evidence-pack")
	b.open("/evidence")
	b.checkPage("evidence")
}

// TestBrowserStates opens pages in states that other browser tests do not reach, such
// as filtered lists and secondary forms.
func TestBrowserStates(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	b := newBrowser(t, h).as(auth.Editor)
	b.open(h.pathOf("/kpis", "kpi", "KR-INV-01"))
	b.checkPage("kpi-course")
	b.open(h.pathOf("/kpis", "kpi", "KR-INV-01") + "/checkins/new")
	b.checkPage("checkin-new")
	incident := h.pathOf("/incidents", "incident", "settlement letters")
	b.open(incident)
	b.checkPage("incident-clock")
	b.open(incident + "/edit")
	b.checkPage("incident-edit")
	b.open(incident + "/notification")
	b.checkPage("notification")
	b.fill("Regulator", "Datatilsynet")
	b.open("/risks?severity=CRITICAL&sort=-target_date&q=claims")
	b.checkPage("risks-filtered")
	b.open("/risks?q=nothing-like-it")
	b.checkPage("risks-none")
	h.importRisks(120)
	b.open("/risks")
	b.expect("160 risks")
	b.press("Next")
	b.press("Previous")
	if _, err := h.store.Orgs.SetPlan(t.Context(), h.by(), db.DefaultOrganisation, db.Professional, ""); err != nil {
		t.Fatal(err)
	}
	b.checkStatus("/incidents", 403)
	b.checkPage("incidents-lacking")
}

// chooseFile chooses a file for the field with a label.
func (b *browser) chooseFile(label, name, content string) {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.call(chromedp.SetUploadFiles(b.element(label), []string{path}))
}
