package dashboard

import (
	"context"
	"encoding/json"
	"slices"

	"govsvc/db"
)

// trendLimit bounds the periods of a trend.
const trendLimit = 24

// kpiTrends reads the values of the latest periods of several key results, the latest
// first.
const kpiTrends = `SELECT k.id, (
		SELECT json_group_array(value) FROM (
			SELECT c.value AS value FROM kpi_checkins c WHERE c.kpi_seq = k.seq ORDER BY c.period_start DESC LIMIT ?3))
	FROM json_each(?2) asked CROSS JOIN kpis k ON k.org_id = ?1 AND k.id = asked.value`

// KPITrends reads the values of the latest periods of key results, by their id, oldest
// first. It is one query for all of them.
func KPITrends(ctx context.Context, store *db.DB, org db.Org, ids []string) (map[string][]float64, error) {
	asked, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	trends := map[string][]float64{}
	err = store.Each(ctx, func(row db.Scanner) error {
		var id string
		var text []byte
		if err := row.Scan(&id, &text); err != nil {
			return err
		}
		var values []float64
		if err := json.Unmarshal(text, &values); err != nil {
			return err
		}
		slices.Reverse(values)
		trends[id] = values
		return nil
	}, kpiTrends, org, string(asked), trendLimit)
	return trends, err
}
