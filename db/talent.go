package db

import "context"

// TalentGaps are newest first (GET /talent/gaps).
var TalentGaps = Collection{
	Name: "talent_gaps", table: "talent_gaps", order: "created_at", Since: true,
	Filters: map[string]string{"status": "status"},
}

var (
	talentGaps      = storedResource{Type: "talent_gap", Table: "talent_gaps", Key: []string{"gap_key"}}
	talentReadiness = storedResource{Type: "talent_readiness", Table: "talent_readiness", Key: []string{"version_number"}}
)

// TalentReadiness reads the assessment of the greatest version; nil if there
// is none.
func (d *DB) TalentReadiness(ctx context.Context, org Organisation) ([]byte, error) {
	return d.current(ctx, "SELECT resource FROM talent_readiness WHERE org_id = ? ORDER BY version_number DESC LIMIT 1", org)
}
