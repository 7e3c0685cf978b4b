package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// FuzzBody sends any body to POST /risks, twice with one key. The result is a 201 that
// is then replayed, or the same 400 twice.
func FuzzBody(f *testing.F) {
	for _, body := range []string{
		goodRisk, "", "null", "{}", "[" + goodRisk + "]", goodRisk + "{}", goodRisk[:40], "\xff", `{"title":"\ud800"}`, `{"a":1,"a":2}`,
		strings.Repeat(`{"a":`, 40), strings.Repeat("[", 20_000), strings.Replace(goodRisk, `"T"`, "1e999", 1), strings.Replace(goodRisk, "T", `\u0000`, 1),
		strings.Replace(goodRisk, `"T"`, `"☂é\n"`, 1), strings.Replace(goodRisk, "{", `{"target_date":"2026-12-31","dimension":"D",`, 1),
		padded(goodRisk, 65_536),
	} {
		f.Add([]byte(body))
	}
	d := serveWrites(f)
	sent := 0
	f.Fuzz(func(t *testing.T, body []byte) {
		sent++
		d.clock.Advance(time.Minute) // so that no limit is reached
		w := write{path: "/risks", body: string(body), idempotencyKey: fmt.Sprint("fuzz ", sent)}
		first := d.send(t, w)
		checkFuzzed(t, first, body)
		if again := d.send(t, w); again.status != first.status || again.status == 201 && string(again.sent) != string(first.sent) {
			t.Errorf("%.100q: %d %s, then %d %s", body, first.status, first.sent, again.status, again.sent)
		}
	})
}

func checkFuzzed(t *testing.T, a answer, body []byte) {
	t.Helper()
	switch {
	case a.status == 201:
		if !jsontext.Value(body).IsValid() {
			t.Errorf("taken though not JSON: %.100q", body)
		}
		if r := a.record(); utf8.RuneCountInString(strings.TrimSpace(fmt.Sprint(r["description"]))) < 20 {
			t.Errorf("taken without a description: %.100q", body)
		}
	case a.status != 400 && (a.status != 413 || len(body) <= 65_536):
		t.Errorf("%d %s: %.100q", a.status, a.body, body)
	}
}
