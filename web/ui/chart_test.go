package ui_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/web/ui"
)

func TestLineChart(t *testing.T) {
	t.Parallel()
	if chart := ui.NewLineChart("x", "Score", "When", "Score", nil, nil); chart != nil {
		t.Errorf("a chart of nothing: %v", chart)
	}
	points := []ui.Point{{"Jan", 50}, {"Feb", 60}, {"Mar", 70}}
	target := 80.0
	got := ui.NewLineChart("x", "Score", "When", "Score", points, &target)
	want := [...]string{
		"M0.0 150.0L300.0 103.3L600.0 56.7", "M0.0 150.0L300.0 103.3L600.0 56.7L600.0 160.0L0 160.0Z", "M0 10.0H600.0",
		"Score: 50 at Jan, 70 at Mar. Target 80.", "50", "80", "Jan", "Mar",
	}
	if diff := cmp.Diff(want, [...]string{got.Line, got.Area, got.Target, got.Description, got.Low, got.High, got.First, got.Last}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(got.Table.Rows) != 3 {
		t.Errorf("the table: %v", got.Table)
	}
	for _, points := range [][]ui.Point{{{"a", 5}}, {{"a", 5}, {"b", 5}}, {{"a", 0}, {"b", 0}}, {{"a", 1e17}}, {{"a", -1e300}}} {
		if line := fmt.Sprint(ui.NewLineChart("x", "s", "w", "v", points, nil)); strings.Contains(line, "NaN") || strings.Contains(line, "Inf") {
			t.Errorf("%v: %s", points, line)
		}
	}
}
