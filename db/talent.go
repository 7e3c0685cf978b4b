package db

import "context"

// TalentGaps are newest first (GET /talent/gaps).
var TalentGaps = Collection{
	Name: "talent_gaps", table: "talent_gaps", order: "created_at", Since: true,
	Filters: map[string]string{"status": "status"},
}

var (
	talentGaps      = noun{object: "talent_gap", table: "talent_gaps", key: []string{"gap_key"}}
	talentReadiness = noun{object: "talent_readiness", table: "talent_readiness", key: []string{"version_number"}}
)

// TalentReadiness reads the assessment of the greatest version; nil if there
// is none.
func (d *DB) TalentReadiness(ctx context.Context, org Organisation) ([]byte, error) {
	return d.current(ctx, "SELECT resource FROM talent_readiness WHERE org_id = ? ORDER BY version_number DESC LIMIT 1", org)
}
