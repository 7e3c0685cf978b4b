package api

import (
	"math"
	"testing"
)

func TestAttainment(t *testing.T) {
	t.Parallel()
	const most = math.MaxFloat64
	for _, row := range []struct {
		direction     string
		baseline      any // nil or a number
		target, value float64
		want          float64
	}{
		{"increase", 20.0, 100, 60, 0.5},
		{"increase", 20.0, 100, 20, 0},
		{"increase", 20.0, 100, 10, 0}, // worse than the baseline
		{"increase", 20.0, 100, 100, 1},
		{"increase", 20.0, 100, 130, 1}, // above the target
		{"increase", -10.0, 10, 0, 0.5},
		{"increase", -20.0, -10, -15, 0.5},
		{"increase", nil, 80, 60, 0.75},
		{"increase", nil, 80, -5, 0},
		{"increase", 90.0, 80, 60, 0.75}, // a baseline on the other side of the target is ignored
		{"increase", 80.0, 80, 60, 0.75},
		{"increase", nil, 0, -1, 0},
		{"increase", nil, -10, -20, 0},
		{"increase", nil, 0, 0, 1},
		{"increase", -most, most, 0, 0},

		{"decrease", 50.0, 10, 30, 0.5},
		{"decrease", 50.0, 10, 50, 0},
		{"decrease", 50.0, 10, 70, 0},
		{"decrease", 50.0, 10, 10, 1},
		{"decrease", 50.0, 10, 3, 1},
		{"decrease", 10.0, 0, 4, 0.6},
		{"decrease", nil, 5, 10, 0.5},
		{"decrease", 5.0, 5, 10, 0.5},
		{"decrease", 1.0, 5, 10, 0.5},
		{"decrease", nil, 0, 1, 0},
		{"decrease", nil, 0, 0, 1},
		{"decrease", nil, -5, 10, 0},

		{"maintain", nil, 100, 100, 1},
		{"maintain", nil, 100, 95, 0.95},
		{"maintain", 50.0, 100, 105, 0.95},
		{"maintain", nil, 100, 250, 0},
		{"maintain", nil, -100, -90, 0.9},
		{"maintain", nil, 0, 0, 1},
		{"maintain", nil, 0, 0.1, 0},
	} {
		var baseline *float64
		if b, given := row.baseline.(float64); given {
			baseline = &b
		}
		got, known := attainedShare(row.direction, baseline, row.target, &row.value)
		if !known || math.Abs(got-row.want) > 1e-9 {
			t.Errorf("%s from %v to %v, at %v: %v, %v, want %v", row.direction, row.baseline, row.target, row.value, got, known, row.want)
		}
		if got, known := attainedShare(row.direction, baseline, row.target, nil); known || got != 0 {
			t.Errorf("%s without a value: %v, %v", row.direction, got, known)
		}
	}
}
