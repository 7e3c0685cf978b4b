package server_test

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/internal/testkit"
)

// fill puts n samples of each list's type into an organisation.
func fill(t testing.TB, store *db.DB, org string, n int) {
	t.Helper()
	records := []db.Record{sample("roadmap", "R", 1, start)}
	for _, l := range lists {
		for i := range n {
			records = append(records, sample(l.object, "S", i, start.Add(time.Duration(i)*time.Second)))
		}
	}
	load(t, store, org, records)
}

// TestCursor_RefusesForeign sends cursors to lists that did not issue them.
func TestCursor_RefusesForeign(t *testing.T) {
	t.Parallel()
	sandbox := another(t)
	fill(t, sandbox, db.DefaultOrganisation, 3)
	s := serve(t, withSandbox(func() (*db.DB, error) { return sandbox, nil }))
	fill(t, s.store, db.DefaultOrganisation, 3)
	fill(t, s.store, "neighbour", 3)
	neighbour := draftFor("read:all", "read:audit")
	_, theirs := s.mint(t, "neighbour", neighbour)
	test := draftFor("read:all", "read:audit")
	test.Kind = db.TestKey
	_, testKey := s.mint(t, db.DefaultOrganisation, test)
	key := s.key(t, "read:all", "read:audit")

	paths := []string{"/audit"}
	for _, l := range lists {
		paths = append(paths, l.path)
	}
	cursors := map[string]string{}
	for _, path := range paths {
		cursors[path] = s.get(t, path+"?limit=1", key).page(t).next()
		for who, other := range map[string]string{"neighbour": theirs, "test": testKey} {
			cursor := s.get(t, path+"?limit=1", other).page(t).next()
			if cursor == "" && path == "/audit" {
				continue // the sandbox has no audit events yet
			}
			s.ask(t, row{name: path + " with a cursor of " + who, path: path + "?cursor=" + cursor, key: key, status: 400, code: "invalid_cursor", param: "cursor"})
		}
	}
	for _, path := range paths {
		for from, cursor := range cursors {
			r := row{name: path + " with a cursor of " + from, path: path + "?cursor=" + cursor, key: key}
			if path != from {
				r.status, r.code, r.param = 400, "invalid_cursor", "cursor"
			}
			s.ask(t, r)
			r.key, r.status, r.code, r.param = testKey, 400, "invalid_cursor", "cursor"
			s.ask(t, r)
			r.key = theirs
			s.ask(t, r)
		}
	}
}

func draftFor(scopes ...string) db.KeyDraft {
	return db.KeyDraft{Name: "a test's key", Kind: db.LiveKey, Scopes: scopes}
}

// TestCursor_RefusesAltered alters a cursor in every way that leaves a valid query
// parameter.
func TestCursor_RefusesAltered(t *testing.T) {
	t.Parallel()
	s := serve(t)
	fill(t, s.store, db.DefaultOrganisation, 3)
	key := s.key(t, "read:all", "read:audit")
	for _, path := range []string{"/risks", "/audit"} {
		cursor := s.get(t, path+"?limit=1", key).page(t).next()
		for about, altered := range alteredCursors(cursor) {
			s.ask(t, row{
				name: path + " " + about, path: path + "?cursor=" + url.QueryEscape(altered), key: key,
				status: 400, code: "invalid_cursor", param: "cursor",
			})
		}
	}
}

// alteredCursors returns texts that are similar to a cursor but are not valid.
func alteredCursors(cursor string) map[string]string {
	all := map[string]string{
		"a word": "nonsense", "a number": "25", "an id": "00000000-0000-0000-0000-000000000201",
		"doubled": cursor + cursor, "with padding": cursor + "=", "with a dot": cursor + ".",
		"a blank": " ", "blanks": "   ", "a tab": "\t", "a no-break space": "\u00a0", "a NUL": cursor + "\x00", "invalid UTF-8": cursor + "\xff",
		"with a blank": cursor + " ", "behind a blank": " " + cursor,
		"with a new line": cursor + "\n", "with a new line inside": cursor[:5] + "\r\n" + cursor[5:],
		"in upper case": strings.ToUpper(cursor), "with a quote": cursor + `"`,
		"very long": strings.Repeat("A", 100_000), "long": strings.Repeat(cursor, 20),
	}
	if raw, err := base64.RawURLEncoding.DecodeString(cursor); err == nil {
		all["in the other alphabet"] = "+" + base64.RawStdEncoding.EncodeToString(raw)
		all["with more behind it"] = base64.RawURLEncoding.EncodeToString(append(raw, 'x'))
	}
	for i := range cursor {
		all["changed at "+string(rune('0'+i/10))+string(rune('0'+i%10))] = cursor[:i] + string(other(cursor[i])) + cursor[i+1:]
		if i > 0 {
			all["cut to "+cursor[:i]] = cursor[:i]
		}
	}
	return all
}

// other returns a different character of the same alphabet.
func other(c byte) byte {
	if c == 'A' {
		return 'B'
	}
	return 'A'
}

// TestCursor_SurvivesRestart continues from a cursor after a restart, with another
// limit and with other filters.
func TestCursor_SurvivesRestart(t *testing.T) {
	t.Parallel()
	s := serve(t)
	fill(t, s.store, db.DefaultOrganisation, 5)
	key := s.key(t, "read:all")
	first := s.get(t, "/risks?limit=2", key).page(t)
	again := serveFile(t, s.store.File.Path(), testkit.NewClock(start.AddDate(5, 0, 0)))
	for query, want := range map[string]string{
		"":                          "S risk 2 S risk 1 S risk 0",
		"&limit=1":                  "S risk 2",
		"&limit=3":                  "S risk 2 S risk 1 S risk 0",
		"&severity=HIGH":            "S risk 2 S risk 1 S risk 0",
		"&severity=LOW":             "",
		"&updated_since=2027-01-01": "",
	} {
		got := strings.Join(again.get(t, "/risks?cursor="+first.next()+query, key).page(t).values("risk_id"), " ")
		if got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// FuzzCursor sends any text as a cursor. The response is a page or an error, and only
// issued cursors return a page.
func FuzzCursor(f *testing.F) {
	s := serve(f)
	fill(f, s.store, db.DefaultOrganisation, 3)
	key := s.key(f, "read:all", "read:audit")
	issued := map[string]string{}
	for _, path := range []string{"/risks", "/signals", "/audit"} {
		issued[path] = s.get(f, path+"?limit=1", key).page(f).next()
		f.Add(issued[path])
	}
	for _, altered := range alteredCursors(issued["/audit"]) {
		f.Add(altered)
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		s.clock.Advance(time.Minute) // the bucket is full again
		for path, good := range issued {
			r := row{path: path + "?limit=1&cursor=" + url.QueryEscape(cursor), key: key}
			switch cursor {
			case good:
			case "":
				r.status, r.code, r.param = 400, "invalid_parameter", "cursor"
			default:
				r.status, r.code, r.param = 400, "invalid_cursor", "cursor"
			}
			s.ask(t, r)
		}
	})
}
