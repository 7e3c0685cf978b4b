package web_test

import (
	"testing"

	"govsvc/db"
)

func TestRecordsSmoke(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	g := s.as(db.Editor)
	for _, path := range []string{"/assessments", "/risks", "/signals", "/roadmap", "/roadmap/versions", "/compliance", "/compliance/postures", "/vendors", "/vendors/portfolio", "/talent", "/talent/readiness", "/incidents", "/kpis", "/import", "/evidence", "/evidence/new", "/risks/new", "/risks.csv", "/incidents/new", "/import/templates/risk.csv"} {
		r := g.get(path)
		t.Log(path, r.status, len(r.body))
		if r.status != 200 {
			t.Errorf("%.3000s", r.body)
		}
	}
}
