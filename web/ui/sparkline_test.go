package ui_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/web/ui"
)

func TestSparkline(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		values []float64
		target *float64
		want   ui.Sparkline
	}{
		{"none", nil, nil, ui.Sparkline{}},
		{"one", []float64{1}, new(2.0), ui.Sparkline{}},
		{"two", []float64{0, 10}, nil, ui.Sparkline{Path: "M3.0 21.0L97.0 3.0", X: "97.0", Y: "3.0", Description: "2 values, from 0 to 10"}},
		{"a target", []float64{0, 5}, new(10.0), ui.Sparkline{Path: "M3.0 21.0L97.0 12.0", X: "97.0", Y: "12.0", Target: "3.0", Description: "2 values, from 0 to 5"}},
		{"equal", []float64{7, 7}, nil, ui.Sparkline{Path: "M3.0 12.0L97.0 12.0", X: "97.0", Y: "12.0", Description: "2 values, from 7 to 7"}},
	} {
		if diff := cmp.Diff(test.want, ui.NewSparkline(test.values, test.target)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	if s := ui.NewSparkline([]float64{-math.MaxFloat64, math.MaxFloat64}, nil); s.Path != "M3.0 21.0L97.0 3.0" {
		t.Errorf("the greatest numbers: %+v", s)
	}
	if a := ui.NewAttainment("medium", .999); a.Text != "99\u00a0%" || a.String() != a.Text || a.Bar.Width != "999" {
		t.Errorf("got %+v", a)
	}
}
