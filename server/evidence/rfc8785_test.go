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

// TestCanonical_RFC8785 checks the examples of the RFC: the object of section 3.2.2 and the
// order of section 3.2.3.
func TestCanonical_RFC8785(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sample", "sorting"} {
		want := read(t, "testdata/rfc8785/"+name+".canonical.json")
		got, err := evidence.Canonical(read(t, "testdata/rfc8785/"+name+".json"))
		if err != nil || string(got) != string(want) {
			t.Errorf("%s: got  %q, %v\nwant %q", name, got, err, want)
		}
		if again, err := evidence.Canonical(want); err != nil || string(again) != string(want) {
			t.Errorf("%s: got %q, %v for the canonical form, want it unchanged", name, again, err)
		}
	}
}

// TestCanonical_Numbers checks the examples of appendix B: the bits of a double and its
// canonical form.
func TestCanonical_Numbers(t *testing.T) {
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
		t.Errorf("got %d rows, want the 24 numbers of the RFC", rows)
	}
}

// TestCanonical_RefusesText checks that a text that is not I-JSON has no canonical form
// (section 3.1).
func TestCanonical_RefusesText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `"\ud800"`, "\"\xff\"", `NaN`, `{} {}`, ``, `{"a":01}`, `[1,]`} {
		if got, err := evidence.Canonical([]byte(text)); err == nil {
			t.Errorf("%q: got %q, want an error", text, got)
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
