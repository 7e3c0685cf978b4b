package admin

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// verifyTime is how long a check of a whole log may take.
const verifyTime = 10 * time.Minute

// verifyData is what the page that checks the log shows.
type verifyData struct {
	Lacks   *ui.Empty
	Result  *verification // nil before a check
	Form    *ui.Form
	Command string
}

// Verification has the pages that verify the audit log. One verification runs at a
// time, because each keeps one of the few read connections busy.
type Verification struct {
	// Running is locked during a verification.
	Running sync.Mutex
}

// verification is what a check of the log found.
type verification struct {
	Organisation string
	At           string
	Asked        string // a head that was noted earlier; "" if none was given
	Check        db.AuditCheck
}

// Intact tells whether the log is as it should be.
func (r verification) Intact() bool { return r.Check.Broken == nil && !r.Lost() }

// Lost tells whether the log no longer leads to the head that was noted.
func (r verification) Lost() bool { return r.Asked != "" && !r.Check.Known }

// Show shows the form that checks the log, and what the last check found.
func (v *Verification) Show(r *page.Request) error {
	data := newVerifyData(r)
	if data.Lacks != nil {
		return r.RenderStatus(http.StatusForbidden, "audit-verify", "Verify the audit log", data)
	}
	if result, ok := r.TakeOnce().(verification); ok {
		data.Result = &result
	}
	return r.Render("audit-verify", "Verify the audit log", data)
}

func newVerifyData(r *page.Request) *verifyData {
	const digest = 64 // characters
	command := "govsvc audit verify"
	if name := r.Session.Organisation.Name; name != db.DefaultOrganisation {
		command += " --org " + ui.ShellQuote(name)
	}
	return &verifyData{
		Lacks: auditUnavailable(r), Command: command + " --print-head",
		Form: &ui.Form{Action: auditPath + "/verify", Submit: "Verify the chain", Cancel: auditPath, Fields: []*ui.Field{{
			Name: "head", Label: "A head noted earlier", MaxLength: digest,
			Hint: "The hash of what was once the last event. The log must still lead to it.",
		}}},
	}
}

// Verify walks the organisation's log from its start, as `govsvc audit
// verify` does. It only reads, and one check runs at a time: each keeps one of
// the few connections for reading busy.
func (v *Verification) Verify(r *page.Request) error {
	data := newVerifyData(r)
	if data.Lacks != nil {
		return r.RenderStatus(http.StatusForbidden, "audit-verify", "Verify the audit log", data)
	}
	head := strings.ToLower(r.Value("head"))
	if head != "" {
		if _, err := audit.ChainFrom(head); err != nil {
			refused := &db.Error{Code: db.Invalid, Param: "head", Message: "a head is a hash of 64 hexadecimal digits; leave the field empty if you have noted none"}
			return r.RenderRefused(data.Form, refused, "audit-verify", "Verify the audit log", data)
		}
	}
	if !v.Running.TryLock() {
		return &page.Problem{Status: http.StatusConflict, Title: "A check is under way", Advice: "The audit log is being verified already. Wait for that to end, and try again."}
	}
	defer v.Running.Unlock()
	r.ExtendDeadlines(verifyTime)
	check, err := r.Store.Audit.Check(r.Context(), r.Session.Organisation.Org, head)
	if err != nil {
		return err
	}
	return r.RedirectOnce(auditPath+"/verify", verification{r.Session.Organisation.Name, db.Timestamp(r.Store.Now()), head, check})
}
