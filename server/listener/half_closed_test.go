package listener

import (
	"context"
	"runtime"
	"testing"
	"time"
)

// TestUntilFailure checks the context of a request that asks whether it is canceled before
// or after its end, or never.
func TestUntilFailure(t *testing.T) {
	t.Parallel()
	type key struct{}
	parent, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "kept"))
	defer cancel()
	for _, row := range []struct {
		name          string
		before, after bool
	}{
		{"never", false, false},
		{"before its end", true, false},
		{"after its end", false, true},
	} {
		u := &untilFailure{parent: parent, connection: &connection{}}
		if got := u.Value(key{}); got != "kept" {
			t.Errorf("%s: got the value %v", row.name, got)
		}
		if row.before && (u.Err() != nil || u.Value(key{}) != "kept") {
			t.Errorf("%s: %v, %v", row.name, u.Err(), u.Value(key{}))
		}
		u.end()
		if asked := u.asked != nil; asked != row.before {
			t.Errorf("%s: prepared %v", row.name, asked)
		}
		if !row.before && !row.after {
			continue
		}
		select {
		case <-u.Done():
		default:
			t.Errorf("%s: not done", row.name)
		}
		if u.Err() != context.Canceled { //nolint:errorlint // the contract of Err
			t.Errorf("%s: %v", row.name, u.Err())
		}
	}
}

// TestUntilFailure_Children checks that a context made from that of a request ends with it,
// and that it needs no goroutine until then.
func TestUntilFailure_Children(t *testing.T) { //nolint:paralleltest // it counts goroutines
	u := &untilFailure{parent: t.Context(), connection: &connection{}}
	before := runtime.NumGoroutine()
	var children []context.Context
	for range 100 {
		child, cancel := context.WithTimeout(u, time.Hour)
		defer cancel() //nolint:revive // a hundred are few
		children = append(children, child)
	}
	if more := runtime.NumGoroutine() - before; more > 50 { // other tests may have a few
		t.Errorf("%d more goroutines", more)
	}
	u.end()
	for _, child := range children {
		select {
		case <-child.Done():
		case <-time.After(10 * time.Second):
			t.Fatal("a child is not done")
		}
	}
}

// BenchmarkUntilFailure measures the cost of a request that never asks whether it is
// canceled, and of one that asks once.
func BenchmarkUntilFailure(b *testing.B) {
	for name, asks := range map[string]bool{"never": false, "once": true} {
		b.Run(name, func(b *testing.B) {
			parent, cancel := context.WithCancel(b.Context())
			defer cancel()
			c := &connection{}
			b.ReportAllocs()
			for b.Loop() {
				u := &untilFailure{parent: parent, connection: c}
				if asks && u.Err() != nil || u.Value("key") != nil {
					b.Fatal("canceled, or a value")
				}
				u.end()
			}
		})
	}
}
