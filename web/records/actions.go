package records

import (
	"strings"

	"govsvc/web/ui"
)

// actionLabels has the labels of the actions of the audit log that are not made of a type
// of record and a verb.
var actionLabels = map[string]string{ //nolint:gosec // no credentials
	"api.read.audit": "Audit log read through the API", "audit.exported": "Audit log exported", "audit.searched": "Audit log searched",
	"data.imported": "Records imported", "import.completed": "Records imported", "export.completed": "Records exported", "export.failed": "Export of records failed",
	"evidence_pack.exported": "Evidence pack downloaded", "file.backed_up": "Backup created", "file.restored": "Backup restored", "file.checked": "Data file checked",
	"key.minted": "API key created", "key.revoked": "API key revoked", "key.rotated": "API key rotated", "key.imported": "API key imported",
	"page.refused": "Page refused", "webhook_test_delivery.created": "Webhook tested", "webhook_subscription.secret_rotated": "Webhook secret rotated",
	"user.added": "User added to the organisation", "user.removed": "User removed", "user.check_refused": "Confirmation refused", "user.confirmed": "Identity confirmed",
	"user.organisation_entered": "Organisation entered", "user.password_changed": "Password changed", "user.recovery_codes_made": "Recovery codes created",
	"user.role_changed": "Role changed", "user.second_factor_added": "Second factor set up", "user.second_factor_removed": "Second factor removed",
	"user.session_ended": "Session ended", "user.sign_in_refused": "Sign-in refused", "user.signed_in": "Signed in", "user.signed_out": "Signed out",
	"incident.notified": "Regulator notification recorded",
}

// ActionLabel describes an action of the audit log: "Risk updated" for risk.updated, and
// "Risk written through the API" for api.write.risk.
func ActionLabel(action string) string {
	if label, known := actionLabels[action]; known {
		return label
	}
	if object, ok := strings.CutPrefix(action, "api.write."); ok {
		return ui.Humanize(object) + " written through the API"
	}
	object, verb, found := strings.Cut(action, ".")
	if !found {
		return ui.Humanize(action)
	}
	return ui.Humanize(object) + " " + strings.ToLower(ui.Humanize(verb))
}
