package ui_test

import (
	"bytes"
	"encoding/json"
	"html/template"
	"testing"
	"time"

	"govsvc/db/auth"
	"govsvc/internal/testkit"
	"govsvc/web/ui"
)

// TestFunctions calls what templates may call, as templates do.
func TestFunctions(t *testing.T) {
	t.Parallel()
	data := map[string]any{
		"none": (*string)(nil), "at": new("2026-09-12T08:30:00.000Z"), "role": auth.Admin, "n": json.Number("1234567.891"),
		"list": []any{"a", "b"}, "now": time.Date(2026, 9, 12, 10, 30, 0, 0, time.FixedZone("", 7200)),
		"map": map[string]any{"b": 1.5, "a": nil}, "zero": new(0.0),
	}
	for call, want := range map[string]string{
		`humanize "IN_PROGRESS"`:             "In progress",
		`humanize "InProgress"`:              "In progress",
		`humanize "ALMOST_CERTAIN"`:          "Almost certain",
		`humanize "ai_vendor.created"`:       "AI vendor created",
		`humanize .role`:                     "Admin",
		`humanize .none`:                     "",
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
		`unit 1250000 "EUR"`:                 "1,250,000\u00a0EUR",
		`unit .none "EUR"`:                   "",
		`bytes 999`:                          "999\u00a0B",
		`bytes 65536`:                        "66\u00a0KB",
		`bytes 1234567`:                      "1.2\u00a0MB",
		`utc .at`:                            "12 Sep 2026, 08:30 UTC",
		`utc .now`:                           "12 Sep 2026, 08:30 UTC",
		`utc "2026-09-12"`:                   "12 Sep 2026",
		`utc "soon"`:                         "soon",
		`utc .none`:                          "",
		`machineTime .at`:                    "2026-09-12T08:30:00.000Z",
		`machineTime .now`:                   "2026-09-12T08:30:00.000Z",
		`machineTime "2026-09-12"`:           "2026-09-12",
		`machineTime "soon"`:                 "",
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
		parsed, err := template.New("").Funcs(functions()).Parse("{{" + call + "}}")
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

// functions returns those of templates, and others like them that pages call.
func functions() template.FuncMap {
	all := ui.Functions()
	all["unit"], all["bytes"], all["query"] = ui.FormatUnit, ui.FormatBytes, ui.WithQuery
	return all
}

func TestSentence(t *testing.T) {
	t.Parallel()
	testkit.CompareCalls(t, ui.Sentence, map[string]string{
		"":                                 "",
		"a user's name has 1 character":    "A user's name has 1 character.",
		"Done!":                            "Done!",
		"checkins[3].value must be finite": "checkins[3].value must be finite.",
		"residual_severity must be one":    "residual_severity must be one.",
		"severity must be one of HIGH":     "Severity must be one of HIGH.",
	})
}

// TestFormatDue checks the text of due days, which are compared in UTC, and of instants.
func TestFormatDue(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 10, 1, 23, 59, 0, 0, time.UTC)
	for due, want := range map[string]string{
		"2026-09-28": "overdue by 3 days", "2026-09-30": "overdue by 1 day", "2026-10-01": "due today", "2026-10-02": "due tomorrow",
		"2026-10-06": "due in 5 days", "2026-10-01T20:59:00.000Z": "overdue by 3 hours", "2026-10-02T00:29:00.000Z": "due in 30 minutes", "soon": "soon", "": "",
	} {
		if got := ui.FormatDue(due, now); got != want {
			t.Errorf("%q: got %q, want %q", due, got, want)
		}
	}
	for n, want := range map[int]string{2: "+2", 0: "0", -1_200: "−1,200"} {
		if got := ui.FormatSigned(n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}
