package db

import (
	"testing"

	"govsvc/internal/testkit"
)

// TestAuditSearchPlans checks how pages read the audit log.
func TestAuditSearchPlans(t *testing.T) {
	t.Parallel()
	d, _ := opened(t)
	history, args := AuditSearch{ResourceID: "x", ResourceType: "risk", Limit: 10}.statement([]any{1, 2, "", "~", 3, 4})
	search, searchArgs := AuditSearch{Actor: "x", Action: "y", Limit: 10}.statement([]any{1, 2, "", "~", 3, 4})
	testkit.CheckPlan(t, d.File.Path(), "audit_events_by_resource (resource_id=? AND rowid<?)", history, args...)
	testkit.CheckPlan(t, d.File.Path(), "audit_events_by_org (org_id=? AND seq>? AND seq<?)", search, searchArgs...)
}
