//go:build browser

package web_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/db/resource"
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
	if focus := evaluate[string](b, "document.activeElement.className"); !strings.Contains(focus, "form-errors") {
		t.Errorf("the focus is on %q, want the summary of the errors", focus)
	}
	b.toggle("Rating justification is required, with at least 20 characters: this change lowers or clears a severity or a likelihood, or closes, accepts or mitigates a CRITICAL risk.")
	if focus := evaluate[string](b, "document.activeElement.name"); focus != "severity_change_reason" {
		t.Errorf("the focus is on %q, want the field of the link", focus)
	}
	b.checkPage("risk-lowered-refused")
	b.fill("Rating justification", "Consent is now asked for before each training run.")
	b.press("Save changes")
	b.expect("The changes have been saved.", "Rating justification", "Severity critical → medium", "Consent is now asked for")
	b.checkPage("risk-lowered")
}

// TestBrowserForms opens the forms of all resources, adds a row, and solves a conflict of
// two editors.
func TestBrowserForms(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	b := newBrowser(t, h).as(auth.Editor)
	for _, res := range resource.Pages() {
		b.checkStatus(res.Page.Base+"/new", 200)
		b.checkPage(res.Type + "-add")
		b.checkStatus(h.pathOf(res.Page.Base, res.Type, "")+"/edit", 200)
		b.checkPage(res.Type + "-edit")
	}
	b.open("/roadmap/versions/new")
	b.fill("Phase", "Settle")
	b.pressFor("Add row to Phases", 200)
	b.call(chromedp.WaitVisible(chromedp.CSS(`[name="phases.1.phase"]:focus`)))   // the browser moves the focus later than it loads
	b.call(chromedp.SendKeys(chromedp.CSS(`[name="phases.1.phase"]`), "Embed\r")) // Enter saves the form
	b.call(chromedp.WaitVisible(chromedp.CSS(".form-errors")))
	b.expect("Fix 2 fields", "Phase 1: Objective is required.", "Phase 2: Objective is required.")
	b.checkPage("roadmap-add-refused")

	at := h.pathOf("/risks", "risk", "RISK-0040")
	b.open(at + "/edit")
	h.as(auth.Admin).post(at, "owner_name", "Head of Claims")
	b.fill("Owner", "Claims board")
	b.fill("Title", "Letters reach former addresses")
	b.pressFor("Save changes", 409)
	b.expect("This record has changed since you opened the form", "admin changed this field", "Claims board", "Head of Claims")
	b.checkPage("risk-conflict")
	b.toggle("Your value")
	b.pressFor("Save changes", 200)
	b.expect("The changes have been saved.", "Claims board", "Letters reach former addresses")
}

// TestBrowserIncident adds an update to an incident. The time until its notification stays
// in view.
func TestBrowserIncident(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	b := newBrowser(t, h).as(auth.Editor)
	h.as(auth.Editor).post("/incidents", "title", "A clock running", "severity", "high", "notification_required", "true")
	at := h.pathOf("/incidents", "incident", "clock running")
	h.clock.Advance(time.Hour)
	b.open(at)
	b.expect("Notify the regulator by", "71 h", "left", "Notification deadline", "Declared")
	b.press("Add update")
	b.checkPage("incident-update")
	b.fill("Status", "investigating")
	b.fill("Note", "The logs are secured.")
	b.pressFor("Add update", 200)
	b.expect("The update has been added.", "The logs are secured.", "after 60 minutes")
	b.checkPage("incident-timeline")
	b.narrow()
	if top := evaluate[float64](b, `(scrollTo(0, document.body.scrollHeight), document.querySelector(".clock").getBoundingClientRect().bottom)`); top < 0 || top > 400 {
		t.Errorf("at the end of the page, the clock ends at %v pixels, want it in view", top)
	}
	b.wide()
	b.open(h.pathOf("/incidents", "incident", "chatbot"))
	b.checkPage("incident-closed")
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
