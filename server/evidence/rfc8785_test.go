package evidence_test

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"govsvc/server/evidence"
)

// TestCanonicalRFC8785 holds the canonical form against the RFC: the object of
// its section 3.2.2, the order of its section 3.2.3.
func TestCanonicalRFC8785(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sample", "sorting"} {
		want := read(t, "testdata/rfc8785/"+name+".canonical.json")
		got, err := evidence.Canonical(read(t, "testdata/rfc8785/"+name+".json"))
		if err != nil || string(got) != string(want) {
			t.Errorf("%s: got  %q, %v\nwant %q", name, got, err, want)
		}
		if again, err := evidence.Canonical(want); err != nil || string(again) != string(want) {
			t.Errorf("%s: the canonical form of the canonical form is %q, %v", name, again, err)
		}
	}
}

// TestCanonicalNumbers holds them against the RFC's appendix B: the bits of a
// double and what becomes of it.
func TestCanonicalNumbers(t *testing.T) {
	t.Parallel()
	rows := 0
	for line := range strings.Lines(string(read(t, "testdata/rfc8785/numbers.txt"))) {
		hex, want, _ := strings.Cut(strings.TrimSpace(line), " ")
		bits, err := strconv.ParseUint(hex, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		got, err := evidence.Canonical(fmt.Appendf(nil, "[%.17e]", math.Float64frombits(bits)))
		if err != nil || string(got) != "["+want+"]" {
			t.Errorf("%s: got %s, %v, want [%s]", hex, got, err, want)
		}
		rows++
	}
	if rows != 24 {
		t.Errorf("%d rows, want the RFC's 24 numbers", rows)
	}
}

// TestNotCanonical: what is no I-JSON has no canonical form (section 3.1).
func TestNotCanonical(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `"\ud800"`, "\"\xff\"", `NaN`, `{} {}`, ``, `{"a":01}`, `[1,]`} {
		if got, err := evidence.Canonical([]byte(text)); err == nil {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
