package siem_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"govsvc/internal/testkit"
	"govsvc/server/siem"
)

func TestCEF(t *testing.T) {
	t.Parallel()
	testkit.Golden(t, "events.cef", string(encodeAll(t, source.CEF)))
}

// TestEscapeCEF checks the rules of the white paper "Common Event Format", section
// "Character Encoding": | and \ are escaped in the header; \, = and line ends in the
// extension.
func TestEscapeCEF(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ text, header, extension string }{
		{"", "", ""},
		{"plain text", "plain text", "plain text"},
		{"a|b", `a\|b`, "a|b"},
		{"a=b", "a=b", `a\=b`},
		{`a\b`, `a\\b`, `a\\b`},
		{`a\|b`, `a\\\|b`, `a\\|b`},
		{`a\=b`, `a\\=b`, `a\\\=b`},
		{"a\nb", "a b", `a\nb`},
		{"a\r\nb", "a  b", `a\r\nb`},
		{`a\nb`, `a\\nb`, `a\\nb`},
		{"a\tb", "a b", "a b"},
		{"a\x00b\x1b[31m", "a b [31m", "a b [31m"},
		{"a\u0085b\u2028c\u2029d", "a b c d", "a b c d"},
		{"grüß 日本 😂", "grüß 日本 😂", "grüß 日本 😂"},
		{"a\xffb", "a\ufffdb", "a\ufffdb"},
		{`"quoted" 'too' <&>`, `"quoted" 'too' <&>`, `"quoted" 'too' <&>`},
	} {
		if got := siem.EscapeCEFHeader(row.text); got != row.header {
			t.Errorf("header %q: got %q, want %q", row.text, got, row.header)
		}
		if got := siem.EscapeCEFExtension(row.text); got != row.extension {
			t.Errorf("extension %q: got %q, want %q", row.text, got, row.extension)
		}
	}
}

// parseCEF reads a line independently of the program. The seven fields of the header end at
// a | without a backslash. Keys end at a = without one, and a value at the space before the
// next key.
func parseCEF(line string) (header []string, extension map[string]string, err error) {
	rest, found := strings.CutPrefix(line, "CEF:")
	if !found {
		return nil, nil, fmt.Errorf("not CEF: %q", line)
	}
	var field strings.Builder
	for len(header) < 7 {
		if rest == "" {
			return nil, nil, fmt.Errorf("only %d fields", len(header))
		}
		c := rest[0]
		rest = rest[1:]
		switch {
		case c == '|':
			header = append(header, field.String())
			field.Reset()
		case c == '\\' && (strings.HasPrefix(rest, `\`) || strings.HasPrefix(rest, "|")):
			field.WriteByte(rest[0])
			rest = rest[1:]
		case c == '\\':
			return nil, nil, fmt.Errorf("a single backslash before %q", rest)
		default:
			field.WriteByte(c)
		}
	}
	extension, err = parseExtension(rest)
	return header, extension, err
}

func parseExtension(text string) (map[string]string, error) {
	var equals []int // those without a backslash
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '=':
			equals = append(equals, i)
		}
	}
	values := map[string]string{}
	start := 0
	for n, at := range equals {
		end := len(text)
		if n+1 < len(equals) {
			end = strings.LastIndexByte(text[:equals[n+1]], ' ')
		}
		if end <= at {
			return nil, fmt.Errorf("no value at %d of %q", at, text)
		}
		key := text[start:at]
		if _, twice := values[key]; twice || strings.ContainsAny(key, " \\|") {
			return nil, fmt.Errorf("key %q", key)
		}
		values[key] = strings.NewReplacer(`\\`, `\`, `\=`, `=`, `\n`, "\n", `\r`, "\r").Replace(text[at+1 : end])
		start = end + 1
	}
	return values, nil
}

// TestCEF_Parses checks that each line can be parsed and has the values of its event.
func TestCEF_Parses(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(string(encodeAll(t, source.CEF))) {
		header, extension, err := parseCEF(strings.TrimSuffix(line, "\n"))
		if err != nil {
			t.Fatal(err)
		}
		if header[0] != "0" || header[1] != "govsvc" || header[3] != "v1.2.3" || header[4] != extension["act"] || extension["cs3"] != source.OrganisationName {
			t.Errorf("got header %q, extension %q", header, extension)
		}
		for key := range extension {
			if number, custom := strings.CutPrefix(key, "cs"); custom && len(number) == 1 && extension[key+"Label"] == "" {
				t.Errorf("%s has no label in %s", key, line)
			}
		}
	}
	_, extension, err := parseCEF(strings.Split(string(encodeAll(t, source.CEF)), "\n")[0])
	if err != nil {
		t.Fatal(err)
	}
	var metadata struct {
		Changes map[string]struct{ To any }
	}
	if err := json.Unmarshal([]byte(extension["cs5"]), &metadata); err != nil || metadata.Changes["title"].To != "a=b\\c | \"d\"\nnext" {
		t.Errorf("got metadata %s, %v", extension["cs5"], err)
	}
	for key, want := range map[string]string{
		"rt": "1789201800000", "suser": "key:01990000-0000-7000-8000-000000000002", "suid": "01990000-0000-7000-8000-000000000002",
		"externalId": "01990000-0000-7000-8000-00000000000a", "cat": "data_change", "cs4": "req_1", "outcome": "success",
	} {
		if extension[key] != want {
			t.Errorf("%s: got %q, want %q", key, extension[key], want)
		}
	}
}

// TestCEF_TruncatesMetadata checks that metadata over 4000 characters stays valid
// JSON, keeps what fits, and says that it was truncated.
func TestCEF_TruncatesMetadata(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü=", 2500)
	for name, row := range map[string]struct {
		metadata map[string]any
		want     map[string]any
	}{
		"a long member": {
			map[string]any{"name": long, "request_id": "req_1"},
			map[string]any{"request_id": "req_1", "truncated": true},
		},
		"a long change": {
			map[string]any{"request_id": "req_1", "changes": map[string]any{"title": map[string]any{"from": nil, "to": long}, "status": map[string]any{"from": "Open", "to": "Closed"}}},
			map[string]any{"request_id": "req_1", "truncated": true, "changes": map[string]any{"status": map[string]any{"from": "Open", "to": "Closed"}}},
		},
		"long changes alone": {
			map[string]any{"changes": map[string]any{"title": map[string]any{"from": nil, "to": long}}},
			map[string]any{"truncated": true},
		},
		"exactly the limit": {
			map[string]any{"name": strings.Repeat("ü", 4000-len(`{"name":""}`))},
			map[string]any{"name": strings.Repeat("ü", 4000-len(`{"name":""}`))},
		},
		"one character over the limit": {
			map[string]any{"name": strings.Repeat("ü", 4001-len(`{"name":""}`))},
			map[string]any{"truncated": true},
		},
	} {
		event, err := json.Marshal(map[string]any{
			"id": "x", "time": "2026-09-12T08:30:00.000Z", "actor": "system", "action": "risk.updated", "category": "data_change",
			"severity": 3, "metadata": row.metadata,
		})
		if err != nil {
			t.Fatal(err)
		}
		line, err := source.CEF(event)
		if err != nil {
			t.Fatal(err)
		}
		_, extension, err := parseCEF(string(line))
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(extension["cs5"]), &got); err != nil || utf8.RuneCountInString(extension["cs5"]) > 4000 {
			t.Errorf("%s: got %d characters, %v", name, utf8.RuneCountInString(extension["cs5"]), err)
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// FuzzCEF checks that every event becomes a single line in which parseCEF finds the texts.
func FuzzCEF(f *testing.F) {
	for _, text := range []string{"", "a|b=c", `\`, `\\|`, "x=1 act=forged", "line\nCEF:0|forged", " lead and trail ", "\u2028", "\xff"} {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, action, value string) {
		event, err := json.Marshal(map[string]any{
			"id": "x", "time": "2026-09-12T08:30:00.000Z", "actor": value, "action": action, "category": "system",
			"resource_type": value, "severity": 3, "metadata": map[string]any{"v": value},
		})
		if err != nil {
			t.Fatal(err)
		}
		line, err := source.CEF(event)
		if err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(string(line), "\n\r\u0085\u2028\u2029\x00\x1b") || !utf8.Valid(line) {
			t.Fatalf("got %q, want one line", line)
		}
		header, extension, err := parseCEF(string(line))
		if err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		// json.Marshal and the rules above replace some characters
		action, value = string([]rune(action)), string([]rune(value))
		spaced := func(text string, keep string) string {
			return strings.Map(func(r rune) rune {
				if !strings.ContainsRune(keep, r) && (r < ' ' || r >= 0x7f && r <= 0x9f || r == '\u2028' || r == '\u2029') {
					return ' '
				}
				return r
			}, text)
		}
		if len(header) != 7 || header[4] != spaced(action, "") || extension["act"] != spaced(action, "\n\r") {
			t.Errorf("action %q: got header %q, extension %q", action, header, extension)
		}
		if extension["suser"] != spaced(value, "\n\r") || extension["cs1"] != spaced(value, "\n\r") {
			t.Errorf("value %q: got extension %q", value, extension)
		}
	})
}
