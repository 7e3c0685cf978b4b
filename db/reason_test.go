package db

import "testing"

// TestNeedsReason checks every combination of a rating before and after
// against the specification's sentence, written out another way: by the
// places of the values in lists (States, rule 2).
func TestNeedsReason(t *testing.T) {
	t.Parallel()
	severities := []string{"", "LOW", "MEDIUM", "HIGH", "CRITICAL"}
	likelihoods := []string{"", "RARE", "UNLIKELY", "POSSIBLE", "LIKELY", "ALMOST_CERTAIN"}
	statuses := []string{"Open", "InProgress", "Mitigated", "Accepted", "Closed"} // from the third on it is settled
	type place struct{ severity, residual, likelihood, status int }
	var places []place
	for s := range severities {
		for r := range severities {
			for l := range likelihoods {
				for st := range statuses {
					places = append(places, place{s, r, l, st})
				}
			}
		}
	}
	rating := func(p place) Rating {
		return Rating{Severity: severities[p.severity], ResidualSeverity: severities[p.residual], Likelihood: likelihoods[p.likelihood], Status: statuses[p.status]}
	}
	needed := 0
	for _, before := range places {
		for _, after := range places {
			lowers := after.severity < before.severity || after.residual < before.residual || after.likelihood < before.likelihood
			critical := before.severity == 4 || after.severity == 4
			want := lowers || critical && after.status >= 2 && after.status != before.status
			if want {
				needed++
			}
			if got := NeedsReason(rating(before), rating(after)); got != want {
				t.Fatalf("from %+v to %+v: %v, want %v", rating(before), rating(after), got, want)
			}
		}
	}
	if total := len(places) * len(places); total != 750*750 || needed == 0 || needed == total {
		t.Errorf("%d of %d combinations need a reason", needed, total)
	}
}

// TestRatingWith checks that the members of a change replace those of the stored
// rating, and that null removes a member.
func TestRatingWith(t *testing.T) {
	t.Parallel()
	before := Rating{Severity: "HIGH", ResidualSeverity: "LOW", Likelihood: "RARE", Status: "Open"}
	for _, row := range []struct {
		change map[string]any
		want   Rating
	}{
		{nil, before},
		{map[string]any{"title": "x", "source": "LOW"}, before},
		{map[string]any{"severity": "LOW"}, Rating{Severity: "LOW", ResidualSeverity: "LOW", Likelihood: "RARE", Status: "Open"}},
		{map[string]any{"residual_severity": nil}, Rating{Severity: "HIGH", Likelihood: "RARE", Status: "Open"}},
		{map[string]any{"likelihood": "LIKELY", "status": "Closed"}, Rating{Severity: "HIGH", ResidualSeverity: "LOW", Likelihood: "LIKELY", Status: "Closed"}},
	} {
		if got := before.With(row.change); got != row.want {
			t.Errorf("%v: %+v, want %+v", row.change, got, row.want)
		}
	}
}
