package web

import (
	"net/http"
	"strings"
	"time"

	"govsvc/db"
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

// auditCheck shows the form that checks the log, and what the last check found.
func (v *visit) auditCheck() error {
	data := v.verifyData()
	if data.Lacks != nil {
		return v.renderStatus(http.StatusForbidden, "audit-verify", "Verify the audit log", data)
	}
	if result, ok := v.takeOnce().(verification); ok {
		data.Result = &result
	}
	return v.render("audit-verify", "Verify the audit log", data)
}

func (v *visit) verifyData() *verifyData {
	const digest = 64 // characters
	command := "govsvc audit verify"
	if name := v.session.Organisation.Name; name != db.DefaultOrganisation {
		command += " --org " + ui.ShellQuote(name)
	}
	return &verifyData{
		Lacks: v.lacksAudit(), Command: command + " --print-head",
		Form: &ui.Form{Action: auditPath + "/verify", Submit: "Verify the chain", Cancel: auditPath, Fields: []*ui.Field{{
			Name: "head", Label: "A head noted earlier", MaxLength: digest,
			Hint: "The hash of what was once the last event. The log must still lead to it.",
		}}},
	}
}

// verifyAudit walks the organisation's log from its start, as `govsvc audit
// verify` does. It only reads, and one check runs at a time: each keeps one of
// the few connections for reading busy.
func (v *visit) verifyAudit() error {
	data := v.verifyData()
	if data.Lacks != nil {
		return v.renderStatus(http.StatusForbidden, "audit-verify", "Verify the audit log", data)
	}
	head := strings.ToLower(v.value("head"))
	if head != "" {
		if _, err := db.AuditChainFrom(head); err != nil {
			refused := &db.Error{Code: db.Invalid, Param: "head", Message: "a head is a hash of 64 hexadecimal digits; leave the field empty if you have noted none"}
			return v.again(data.Form, refused, "audit-verify", "Verify the audit log", data)
		}
	}
	if !v.verifying.TryLock() {
		return &problem{http.StatusConflict, "A check is under way", "The audit log is being verified already. Wait for that to end, and try again."}
	}
	defer v.verifying.Unlock()
	v.unhurried(verifyTime)
	check, err := v.Store.CheckAudit(v.r.Context(), v.session.Organisation.Org, head)
	if err != nil {
		return err
	}
	v.redirect(ui.WithQuery(auditPath+"/verify", "once", v.keepOnce(verification{v.session.Organisation.Name, db.Timestamp(v.Store.Now()), head, check})))
	return nil
}
