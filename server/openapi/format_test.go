package openapi_test

import (
	"testing"

	"govsvc/internal/testkit"
	"govsvc/server/openapi"
)

func TestParseInstant(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"2026-09-12":                    "2026-09-12T00:00:00Z",
		"2026-09-12T08:30:00Z":          "2026-09-12T08:30:00Z",
		"2026-09-12T08:30:00.123456Z":   "2026-09-12T08:30:00.123456Z",
		"2026-09-12T00:30:00+02:00":     "2026-09-11T22:30:00Z",
		"0001-01-01":                    "0001-01-01T00:00:00Z",
		"9999-12-31T23:59:59.999Z":      "9999-12-31T23:59:59.999Z",
		"2028-02-29":                    "2028-02-29T00:00:00Z",
		"0000-01-01":                    "",
		"0001-01-01T00:00:00+01:00":     "",
		"9999-12-31T23:59:59-01:00":     "",
		"2026-02-29":                    "",
		"2026-9-12":                     "",
		"2026-09-12T8:30:00Z":           "",
		"2026-09-12T08:30:00":           "",
		"2026-09-12 08:30:00Z":          "",
		"2026-09-12T08:30:00,5Z":        "",
		"2026-09-12T08:30:00+99:00":     "",
		"2026-09-12T24:00:00Z":          "",
		"20260912":                      "",
		"":                              "",
		"1789200000":                    "",
		"2026-09-12T08:30:00Z and more": "",
	} {
		got, err := openapi.ParseInstant(in)
		if want == "" {
			if err == nil {
				t.Errorf("%q is taken as %v", in, got)
			}
			continue
		}
		if err != nil || got.Format("2006-01-02T15:04:05.999999999Z07:00") != want {
			t.Errorf("%q: %v, %v, want %s", in, got, err, want)
		}
	}
}

// TestDecode_Dates checks the format of a risk's target date.
func TestDecode_Dates(t *testing.T) {
	t.Parallel()
	update := testkit.Document(t).Schema("UpdateRisk")
	for in, ok := range map[string]bool{
		"2026-09-12": true, "0001-01-01": true, "9999-12-31": true,
		"0000-12-31": false, "10000-01-01": false, "2026-13-01": false, "2026-09-12T00:00:00Z": false,
	} {
		if _, errs := update.Decode([]byte(`{"target_date":"` + in + `"}`)); (len(errs) == 0) != ok {
			t.Errorf("%q: got %v, want valid %v", in, errs, ok)
		}
	}
}

func TestParsePeriod(t *testing.T) {
	t.Parallel()
	if got, err := openapi.ParsePeriod("2026-09-12T23:30:00-02:00"); err != nil || got != "2026-09-13" {
		t.Errorf("got period %q and error %v, want 2026-09-13", got, err)
	}
	if _, err := openapi.ParsePeriod("September"); err == nil {
		t.Error("got no error for the period September")
	}
}
