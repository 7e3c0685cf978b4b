package ui_test

import (
	"fmt"
	"slices"
	"testing"

	"govsvc/web/ui"
)

func TestPaginate(t *testing.T) {
	t.Parallel()
	path := func(page int) string { return fmt.Sprintf("/keys?page=%d", page) }
	for _, row := range []struct {
		number         string
		want           []int
		previous, next string
	}{
		{"", []int{1, 2}, "", path(2)},
		{"2", []int{3, 4}, path(1), path(3)},
		{"3", []int{5}, path(2), ""},
		{"99", []int{5}, path(2), ""},
		{"-1", []int{1, 2}, "", path(2)},
		{"x", []int{1, 2}, "", path(2)},
	} {
		got, pager := ui.Paginate([]int{1, 2, 3, 4, 5}, 2, row.number, path)
		if !slices.Equal(got, row.want) || pager.Previous != row.previous || pager.Next != row.next || pager.Shown != len(row.want) || pager.Total != 5 {
			t.Errorf("page %q: got %v and %+v, want %v", row.number, got, pager, row.want)
		}
	}
	if got, pager := ui.Paginate([]int{}, 2, "2", path); len(got) != 0 || pager.Previous != "" || pager.Next != "" {
		t.Errorf("empty list: got %v and %+v", got, pager)
	}
}

func TestHeatTone(t *testing.T) {
	t.Parallel()
	severities, likelihoods := []string{"CRITICAL", "HIGH", "MEDIUM", "LOW"}, []string{"RARE", "UNLIKELY", "POSSIBLE", "LIKELY", "ALMOST_CERTAIN"}
	for pair, want := range map[[2]string]string{
		{"CRITICAL", "ALMOST_CERTAIN"}: "critical",
		{"HIGH", "POSSIBLE"}:           "high",
		{"LOW", "POSSIBLE"}:            "medium",
		{"LOW", "RARE"}:                "good",
		{"", "RARE"}:                   "neutral",
		{"LOW", ""}:                    "neutral",
	} {
		if got := ui.HeatTone(severities, likelihoods, pair[0], pair[1]); got != want {
			t.Errorf("%q: got %s, want %s", pair, got, want)
		}
	}
}
