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

// verifyTimeout bounds the verification of a log.
const verifyTimeout = 10 * time.Minute

// verifyData is the argument of the page "Verify the audit log".
type verifyData struct {
	Unavailable *ui.Empty
	Result      *verification // nil before a verification
	Form        *ui.Form
	Command     string
}

// Verification has the pages that verify the audit log. One verification runs at a
// time, because each keeps one of the few read connections busy.
type Verification struct {
	// Running is locked during a verification.
	Running sync.Mutex
}

// verification is the result of a verification.
type verification struct {
	Organisation string
	At           string
	Asked        string // head that the user noted earlier, or ""
	Check        db.AuditCheck
}

// Intact reports whether no event was altered or removed.
func (r verification) Intact() bool { return r.Check.Broken == nil && !r.Lost() }

// Lost reports whether the log does not contain the noted head.
func (r verification) Lost() bool { return r.Asked != "" && !r.Check.Known }

// Show returns the form that starts a verification, with the result of the last one.
func (v *Verification) Show(r *page.Request) error {
	data := newVerifyData(r)
	if data.Unavailable != nil {
		return r.RenderStatus(http.StatusForbidden, "audit-verify", "Verify the audit log", data)
	}
	if result, ok := r.TakeOnce().(verification); ok {
		data.Result = &result
	}
	return r.Render("audit-verify", "Verify the audit log", data)
}

func newVerifyData(r *page.Request) *verifyData {
	const hashLength = 64 // characters
	command := "govsvc audit verify"
	if name := r.Session.Organisation.Name; name != db.DefaultOrganisation {
		command += " --org " + ui.ShellQuote(name)
	}
	return &verifyData{
		Unavailable: auditUnavailable(r), Command: command + " --print-head",
		Form: &ui.Form{Action: auditPath + "/verify", Submit: "Verify the chain", Cancel: auditPath, Fields: []*ui.Field{{
			Name: "head", Label: "Head noted earlier", MaxLength: hashLength,
			Hint: "The hash of an event that was the last one. The log must still contain it.",
		}}},
	}
}

// Verify verifies the log of the organisation from its start, as the command
// `govsvc audit verify` does.
func (v *Verification) Verify(r *page.Request) error {
	data := newVerifyData(r)
	if data.Unavailable != nil {
		return r.RenderStatus(http.StatusForbidden, "audit-verify", "Verify the audit log", data)
	}
	head := strings.ToLower(r.Value("head"))
	if head != "" {
		if _, err := audit.ChainFrom(head); err != nil {
			refused := &db.Error{Code: db.Invalid, Param: "head", Message: "a head is a hash of 64 hexadecimal digits; leave the field empty if you have not noted one"}
			return r.RenderRefused(data.Form, refused, "audit-verify", "Verify the audit log", data)
		}
	}
	if !v.Running.TryLock() {
		return &page.Problem{Status: http.StatusConflict, Title: "A verification is in progress", Advice: "Another verification of the audit log is in progress. Wait until it is complete, then try again."}
	}
	defer v.Running.Unlock()
	r.ExtendDeadlines(verifyTimeout)
	check, err := r.Store.Audit.Check(r.Context(), r.Session.Organisation.Org, head)
	if err != nil {
		return err
	}
	return r.RedirectOnce(auditPath+"/verify", verification{r.Session.Organisation.Name, db.Timestamp(r.Store.Now()), head, check})
}
