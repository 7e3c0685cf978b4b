package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/web"
)

// TestFunctions calls what templates may call, as templates do.
func TestFunctions(t *testing.T) {
	t.Parallel()
	data := map[string]any{
		"none": (*string)(nil), "at": new("2026-09-12T08:30:00.000Z"), "role": db.Admin, "n": json.Number("1234567.891"),
		"list": []any{"a", "b"}, "now": time.Date(2026, 9, 12, 10, 30, 0, 0, time.FixedZone("", 7200)),
		"map": map[string]any{"b": 1.5, "a": nil}, "zero": new(0.0),
	}
	for call, want := range map[string]string{
		`words "IN_PROGRESS"`:                "In progress",
		`words "InProgress"`:                 "In progress",
		`words "ALMOST_CERTAIN"`:             "Almost certain",
		`words "ai_vendor.created"`:          "AI vendor created",
		`words .role`:                        "Admin",
		`words .none`:                        "",
		`tone "CRITICAL"`:                    "critical",
		`tone "whatever"`:                    "neutral",
		`tone .none`:                         "neutral",
		`number 0`:                           "0",
		`number .zero`:                       "0",
		`number .none`:                       "",
		`number 999`:                         "999",
		`number 1000`:                        "1,000",
		`number -1234.5`:                     "−1,234.5",
		`number .n`:                          "1,234,567.89",
		`number "n/a"`:                       "n/a",
		`percent 71.3`:                       "71.3\u00a0%",
		`percent .none`:                      "",
		`money 1250000 "EUR"`:                "1,250,000\u00a0EUR",
		`money .none "EUR"`:                  "",
		`bytes 999`:                          "999\u00a0B",
		`bytes 65536`:                        "66\u00a0KB",
		`bytes 1234567`:                      "1.2\u00a0MB",
		`utc .at`:                            "12 Sep 2026, 08:30 UTC",
		`utc .now`:                           "12 Sep 2026, 08:30 UTC",
		`utc "2026-09-12"`:                   "12 Sep 2026",
		`utc "soon"`:                         "soon",
		`utc .none`:                          "",
		`instant .at`:                        "2026-09-12T08:30:00.000Z",
		`instant .now`:                       "2026-09-12T08:30:00.000Z",
		`instant "2026-09-12"`:               "2026-09-12",
		`instant "soon"`:                     "",
		`text .list`:                         "a, b",
		`text true`:                          "Yes",
		`text 1.50`:                          "1.5",
		`text .map`:                          `{"a":null,"b":1.5}`,
		`path "risks" "a/b?c"`:               "/risks/a%2Fb%3Fc",
		`query "/risks" "q" "a&b" "sort" ""`: "/risks?q=a%26b",
		`query "/risks" "q" .none`:           "/risks",
		`plural 1 "risk" "risks"`:            "1 risk",
		`plural 1200 "risk" "risks"`:         "1,200 risks",
	} {
		parsed, err := template.New("").Funcs(web.Functions()).Parse("{{" + call + "}}")
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := parsed.Execute(&out, data); err != nil {
			t.Errorf("%s: %v", call, err)
		}
		if got := out.String(); got != template.HTMLEscapeString(want) {
			t.Errorf("%s: %q, want %q", call, got, want)
		}
	}
}

func TestSentence(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"":                                 "",
		"a user's name has 1 character":    "A user's name has 1 character.",
		"Done!":                            "Done!",
		"checkins[3].value must be finite": "checkins[3].value must be finite.",
		"residual_severity must be one":    "residual_severity must be one.",
		"severity must be one of HIGH":     "Severity must be one of HIGH.",
	} {
		if got := web.Sentence(message); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}

func TestLineChart(t *testing.T) {
	t.Parallel()
	if chart := web.Line("x", "Score", "When", "Score", nil, nil); chart != nil {
		t.Errorf("a chart of nothing: %v", chart)
	}
	points := []web.Point{{"Jan", 50}, {"Feb", 60}, {"Mar", 70}}
	target := 80.0
	got := web.Line("x", "Score", "When", "Score", points, &target)
	want := [...]string{
		"M0.0 150.0L300.0 103.3L600.0 56.7", "M0.0 150.0L300.0 103.3L600.0 56.7L600.0 160.0L0 160.0Z", "M0 10.0H600.0",
		"Score: 50 at Jan, 70 at Mar. Target 80.", "50", "80", "Jan", "Mar",
	}
	if diff := cmp.Diff(want, [...]string{got.Line, got.Area, got.Target, got.Says, got.Low, got.High, got.First, got.Last}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(got.Table.Rows) != 3 {
		t.Errorf("the table: %v", got.Table)
	}
	for _, points := range [][]web.Point{{{"a", 5}}, {{"a", 5}, {"b", 5}}, {{"a", 0}, {"b", 0}}, {{"a", 1e17}}, {{"a", -1e300}}} {
		if line := fmt.Sprint(web.Line("x", "s", "w", "v", points, nil)); strings.Contains(line, "NaN") || strings.Contains(line, "Inf") {
			t.Errorf("%v: %s", points, line)
		}
	}
}
