package dashboard

import (
	"strings"
	"testing"

	"govsvc/db/resource"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// TestAttentionPlans checks that the open records of the resources that may have very
// many are read along an index that has their due dates and owners.
func TestAttentionPlans(t *testing.T) {
	t.Parallel()
	path := testdb.EmptyFile(t)
	position := &attentionPosition{later: true, due: "2026-10-01", seq: 7}
	for _, row := range []struct {
		of   *resource.Resource
		want string
	}{
		{resource.Risk, "risks_due (org_id=? AND target_date>? AND target_date<?)"},
		{resource.Obligation, "obligations_due (org_id=? AND target_date>? AND target_date<?)"},
		{resource.Vendor, "vendors_by_contract_end (org_id=? AND contract_end>? AND contract_end<?)"},
		{resource.Incident, "incidents_clocks (org_id=? AND notification_deadline>? AND notification_deadline<?)"},
	} {
		for _, owner := range []string{"", "Ada"} {
			r := attentionReader{now: testkit.Start, query: AttentionQuery{Owner: owner, Limit: 5}}
			r.org.Org = 1
			for _, after := range []*attentionPosition{nil, position} {
				if row.of.Attention.First && after != nil {
					continue
				}
				query, args := r.statement(row.of, 0, after)
				testkit.CheckPlan(t, path, "USING INDEX "+row.want, query, args...)
			}
		}
	}
	for _, row := range []struct {
		of   *resource.Resource
		want string
	}{
		{resource.Risk, "USING COVERING INDEX risks_due (org_id=? AND target_date>? AND target_date<?)"},
		{resource.Obligation, "USING COVERING INDEX obligations_due (org_id=? AND target_date>? AND target_date<?)"},
	} {
		r := attentionReader{now: testkit.Start, query: AttentionQuery{Owner: "Ada"}}
		where, args := r.where(row.of)
		where, args = r.owned(row.of, where, args)
		query, args := r.countStatement(row.of, where, args)
		if plan := testkit.ExplainSQL(t, path, query, args...); !strings.Contains(plan, row.want) || strings.Contains(plan, "FOR ORDER BY") {
			t.Errorf("got the plan\n%swant %q and no sort by date", plan, row.want)
		}
	}
}
