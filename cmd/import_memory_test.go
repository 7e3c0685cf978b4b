package cmd

import (
	"runtime/debug"
	"testing"
)

// TestCollectLess_KeepsSetPercentage checks that a percentage that the operator set is
// kept. It is an internal test and not parallel, because the percentage is that of the
// process.
func TestCollectLess_KeepsSetPercentage(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(90))
	percent := func() int {
		now := debug.SetGCPercent(90)
		debug.SetGCPercent(now)
		return now
	}
	for _, row := range []struct {
		gogc string
		want int
	}{{"", importGC}, {"150", 90}} {
		a := &app{env: func(string) (string, bool) { return row.gogc, row.gogc != "" }}
		restore := collectLess(a, importGC)
		if got := percent(); got != row.want {
			t.Errorf("GOGC=%q: got %d with a percentage, want %d", row.gogc, got, row.want)
		}
		if restore(); percent() != 90 {
			t.Errorf("GOGC=%q: got %d afterwards, want 90", row.gogc, percent())
		}
	}
}
