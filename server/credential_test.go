package server_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/internal/testkit"
)

// TestCredential_Forms sends a valid key in every form, and requests without a key.
func TestCredential_Forms(t *testing.T) {
	t.Parallel()
	s := serve(t)
	key := s.key(t, "read:risks")
	s.restart(t) // so that the first request verifies the key
	deprecated := []string{"Deprecation: @1789171200\r", "Sunset: Sun, 12 Sep 2027 00:00:00 GMT\r"}
	for _, r := range []row{
		{name: "bearer", header: header("Authorization", "Bearer "+key), not: []string{"Deprecation", "Sunset"}},
		{name: "lower case", header: header("Authorization", "bearer "+key)},
		{name: "upper case", header: header("Authorization", "BEARER "+key)},
		{name: "more blanks", header: header("Authorization", "Bearer   "+key)},
		{name: "x-api-key", header: header("X-Api-Key", key), has: deprecated},
		{name: "x-api-key beside another scheme", header: header("X-Api-Key", key, "Authorization", "Basic dTpw"), has: deprecated},
		{name: "bearer wins", header: header("Authorization", "Bearer "+key, "X-Api-Key", "gds_live_nonsense"), not: []string{"Deprecation", "Sunset"}},
		{name: "bad bearer wins", header: header("Authorization", "Bearer nonsense", "X-Api-Key", key), status: 401, code: "invalid_api_key"},
		{name: "bad x-api-key", header: header("X-Api-Key", key+"x"), status: 401, code: "invalid_api_key", has: deprecated},
		{name: "none", status: 401, code: "missing_credential", not: []string{"Deprecation"}},
		{name: "empty", header: header("Authorization", ""), status: 401, code: "missing_credential"},
		{name: "no token", header: header("Authorization", "Bearer"), status: 401, code: "missing_credential"},
		{name: "blank token", header: header("Authorization", "Bearer  "), status: 401, code: "missing_credential"},
		{name: "empty x-api-key", header: header("X-Api-Key", ""), status: 401, code: "missing_credential"},
		{name: "basic", header: header("Authorization", "Basic dTpw"), status: 401, code: "missing_credential"},
		{name: "no scheme", header: header("Authorization", key), status: 401, code: "missing_credential"},
		{name: "in the query", path: "/risks?api_key=" + key, status: 401, code: "missing_credential"},
		{name: "a word", key: "nonsense", status: 401, code: "invalid_api_key"},
		{name: "in quotes", key: `"` + key + `"`, status: 401, code: "invalid_api_key"},
		{name: "twice", key: key + " " + key, status: 401, code: "invalid_api_key"},
		{name: "the prefix alone", key: "gds_live_", status: 401, code: "invalid_api_key"},
		{name: "very long", key: strings.Repeat(key, 1000), status: 401, code: "invalid_api_key"},
		{name: "not ASCII", key: "gds_live_\xff\xfe\x80", status: 401, code: "invalid_api_key"},
		{name: "still good", key: key},
	} {
		if r.path == "" {
			r.path = "/risks"
		}
		r.not = append(r.not, key, key[9:])
		s.ask(t, r)
	}
	if log := s.log.String(); strings.Contains(log, key[9:]) || strings.Contains(log, "gds_") {
		t.Errorf("the log holds a key:\n%s", log)
	}
}

func header(pairs ...string) map[string]string {
	h := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		h[pairs[i]] = pairs[i+1]
	}
	return h
}

// TestCredential_RefusesTwo sends the header twice. The request is refused, because either
// value could be the intended one.
func TestCredential_RefusesTwo(t *testing.T) {
	t.Parallel()
	s := serve(t)
	key := s.key(t, "read:risks")
	request := s.request(t, "GET", "/risks", "", "")
	request.Header["Authorization"] = []string{"Bearer " + key, "Bearer nonsense"}
	if a := exchange(t, request); a.status != 401 {
		t.Errorf("got status %d, want 401", a.status)
	}
}

// TestKey_RefusesMistyped changes a key at each of its characters, and shortens it.
func TestKey_RefusesMistyped(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, kind := range []string{db.LiveKey, db.TestKey} {
		_, key := s.mint(t, db.DefaultOrganisation, db.KeyDraft{Kind: kind, Scopes: []string{"read:risks"}})
		if len(key) != 9+12+32+8 || !strings.HasPrefix(key, "gds_"+kind+"_") {
			t.Fatalf("a %s key has the form %q", kind, key)
		}
		for i := range key {
			for _, wrong := range []string{key[:i] + string(other(key[i])) + key[i+1:], key[:i], key[:i] + key[i+1:], swapAt(key, i)} {
				if wrong != key {
					checkDenied(t, s, wrong)
				}
			}
		}
	}
}

// swapAt changes the case of a letter, or exchanges two neighbours.
func swapAt(key string, i int) string {
	if flipped := key[:i] + swapCase(key[i:i+1]) + key[i+1:]; flipped != key {
		return flipped
	}
	if i == 0 {
		return key
	}
	return key[:i-1] + key[i:i+1] + key[i-1:i] + key[i+1:]
}

func checkDenied(t *testing.T, s *service, key string) {
	t.Helper()
	if key = strings.TrimSpace(key); key != "" {
		s.ask(t, row{name: "key " + key, path: "/risks", key: key, status: 401, code: "invalid_api_key", has: []string{"Service-Environment: live"}})
	}
}

// TestKey_RefusesEnded checks that invalid keys are refused: a key of another file, one
// whose row was deleted, a revoked one and an expired one.
func TestKey_RefusesEnded(t *testing.T) {
	t.Parallel()
	s := serve(t)
	checkDenied(t, s, (&service{store: another(t)}).key(t, "read:risks"))

	gone, plain := s.mint(t, db.DefaultOrganisation, db.KeyDraft{Scopes: []string{"read:risks"}})
	s.get(t, "/risks", plain)
	if _, err := testkit.OpenSQL(t, s.store.File.Path()).ExecContext(t.Context(), "DELETE FROM api_keys WHERE id = ?", gone.ID); err != nil {
		t.Fatal(err)
	}
	checkDenied(t, s, plain)

	made, plain := s.mint(t, db.DefaultOrganisation, db.KeyDraft{Scopes: []string{"read:risks"}})
	s.get(t, "/risks", plain)
	if _, err := s.store.Keys.Revoke(t.Context(), by(t, s.store, db.DefaultOrganisation), made.Prefix); err != nil {
		t.Fatal(err)
	}
	checkDenied(t, s, plain)

	expires := start.Add(time.Hour)
	_, plain = s.mint(t, db.DefaultOrganisation, db.KeyDraft{Scopes: []string{"read:risks"}, ExpiresAt: &expires})
	s.clock.Advance(time.Hour - time.Millisecond)
	s.get(t, "/risks", plain)
	s.clock.Advance(time.Millisecond)
	checkDenied(t, s, plain)
	s.restart(t)
	checkDenied(t, s, plain)
}

// TestKey_RotatesWithOverlap checks that both keys work until the overlap ends. Then
// only the new one works.
func TestKey_RotatesWithOverlap(t *testing.T) {
	t.Parallel()
	s := serve(t)
	old, oldPlain := s.mint(t, db.DefaultOrganisation, db.KeyDraft{Scopes: []string{"read:risks"}})
	s.get(t, "/risks", oldPlain)
	_, newPlain, err := s.store.Keys.Rotate(t.Context(), by(t, s.store, db.DefaultOrganisation), old.ID, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	s.get(t, "/risks", oldPlain)
	s.get(t, "/risks", newPlain)
	s.clock.Advance(time.Hour)
	checkDenied(t, s, oldPlain)
	s.get(t, "/risks", newPlain)
}

// TestKey_AcceptsFormerForms imports keys of former prefixes, two with the same first
// characters, and uses them.
func TestKey_AcceptsFormerForms(t *testing.T) {
	t.Parallel()
	sandbox := serve(t).store
	s := serve(t, withSandbox(func() (*db.DB, error) { return sandbox, nil }))
	load(t, sandbox, db.DefaultOrganisation, []db.Record{sample("risk", "SANDBOX", 1, start)})
	load(t, s.store, db.DefaultOrganisation, []db.Record{sample("risk", "LIVE", 1, start)})
	importKey := func(plain string) (db.Key, error) {
		return s.store.Keys.Import(t.Context(), by(t, s.store, db.DefaultOrganisation), draftFor("read:risks"), plain)
	}
	const same = "sameSAMEsameSAMEsameSAME-"
	for _, k := range []struct{ plain, shows string }{
		{"gov_live_" + same + "1", "LIVE"},
		{"gov_live_" + same + "2", "LIVE"},
		{"gov_live_" + strings.Repeat("~", 500), "LIVE"},
		{"gov_test_" + strings.Repeat("t", 24), "SANDBOX"},
	} {
		made, err := importKey(k.plain)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(k.plain, made.Prefix) || len(made.Prefix) > len("gov_live_")+12 {
			t.Errorf("%s is shown as %s", k.plain, made.Prefix)
		}
		s.ask(t, row{path: "/risks", key: k.plain, has: []string{k.shows + " risk 1"}})
		s.ask(t, row{path: "/risks", header: header("X-Api-Key", k.plain), has: []string{k.shows + " risk 1", "Sunset: "}})
	}
	if _, err := importKey("gov_live_" + same + "2"); !db.Is(err, db.Conflict) {
		t.Errorf("imported twice: %v", err)
	}
	for _, wrong := range []string{
		"gov_live_" + same + "3", "gov_live_" + same, "gov_test_" + same + "2", "gov_live_short", "gov_live_", "GOV_LIVE_" + same + "1",
	} {
		checkDenied(t, s, wrong)
	}
	for _, wrong := range []string{
		"", "gov_live_" + strings.Repeat("x", 23), "gov_live_" + strings.Repeat("x", 600), "gov_demo_" + strings.Repeat("x", 30),
		strings.Repeat("x", 60), "gds_live_" + strings.Repeat("x", 52),
	} {
		if _, err := importKey(wrong); !db.Is(err, db.Invalid) {
			t.Errorf("%q was imported: %v", wrong, err)
		}
	}
}

// TestKey_Changed revokes and rotates keys and changes plan and subscription in this
// process. The next request sees the change.
func TestKey_Changed(t *testing.T) {
	t.Parallel()
	s := serve(t)
	testKeyChanges(t, s, s.store)
}

// TestKey_ChangedByAnotherProcess makes the changes of TestKey_Changed through another
// handle on the file.
func TestKey_ChangedByAnotherProcess(t *testing.T) {
	t.Parallel()
	s := serve(t)
	testKeyChanges(t, s, openStore(t, s.store.File.Path(), s.clock))
}

// testKeyChanges makes changes through a handle on the service's file.
func testKeyChanges(t *testing.T, s *service, through *db.DB) {
	t.Helper()
	made, key := s.mint(t, db.DefaultOrganisation, db.KeyDraft{Scopes: []string{"read:incidents"}})
	r := row{path: "/incidents", key: key}
	s.ask(t, r)
	for _, step := range []struct {
		plan         db.Plan
		subscription db.Subscription
		status       int
		code         string
	}{
		{db.Professional, db.Active, 403, "tier_required"},
		{db.Business, db.Active, 200, ""},
		{db.Business, db.PastDue, 403, "subscription_inactive"},
		{db.Enterprise, db.Active, 200, ""},
	} {
		setPlanOf(t, through, step.plan, step.subscription)
		r.status, r.code = step.status, step.code
		s.ask(t, r)
	}
	minted := &service{store: through}
	s.get(t, "/incidents", minted.key(t, "read:all"))
	admin := by(t, through, db.DefaultOrganisation)
	if _, err := through.Keys.Revoke(t.Context(), admin, made.ID); err != nil {
		t.Fatal(err)
	}
	r.status, r.code = 401, "invalid_api_key"
	s.ask(t, r)

	made, key = s.mint(t, db.DefaultOrganisation, db.KeyDraft{Scopes: []string{"read:incidents"}})
	s.ask(t, row{path: "/incidents", key: key})
	if _, _, err := through.Keys.Rotate(t.Context(), admin, made.ID, time.Minute); err != nil {
		t.Fatal(err)
	}
	s.ask(t, row{path: "/incidents", key: key})
	s.clock.Advance(time.Minute) // no commit comes between
	s.ask(t, row{path: "/incidents", key: key, status: 401, code: "invalid_api_key"})
}

// TestKey_SecretIsNotStored searches for keys where none may be stored: in listings, in the
// audit log and in the file.
func TestKey_SecretIsNotStored(t *testing.T) {
	t.Parallel()
	s := serve(t)
	minted := s.key(t, "read:audit")
	imported := "gov_live_abcdefghSECRETsecretSECRETsecret"
	if _, err := s.store.Keys.Import(t.Context(), by(t, s.store, db.DefaultOrganisation), draftFor("read:all"), imported); err != nil {
		t.Fatal(err)
	}
	s.get(t, "/risks", imported)
	listed, err := s.store.Keys.List(t.Context(), by(t, s.store, db.DefaultOrganisation).Org)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := json.Marshal(listed)
	if err != nil {
		t.Fatal(err)
	}
	places := map[string][]byte{"the listing": shown, "the log": []byte(s.log.String()), "the audit log": s.get(t, "/audit", minted).body}
	for _, end := range []string{"", "-wal"} {
		if places["the file"+end], err = os.ReadFile(s.store.File.Path() + end); err != nil {
			t.Fatal(err)
		}
	}
	for place, text := range places {
		for _, secret := range []string{minted[21:53], imported[17:]} {
			if strings.Contains(string(text), secret) {
				t.Errorf("%s holds a secret", place)
			}
		}
	}
	for _, prefix := range []string{minted[:21], imported[:17]} {
		if !strings.Contains(string(shown), `"prefix":"`+prefix+`"`) {
			t.Errorf("%s is not listed: %s", prefix, shown)
		}
	}
}

// TestKey_ConcurrentFirstUse presents a new key by 64 callers at once. Wrong keys of each
// kind come from the same address until it has no requests left for them. All callers
// with the new key are served.
func TestKey_ConcurrentFirstUse(t *testing.T) {
	t.Parallel()
	s := serve(t, withAnonymous(12))
	key, former := s.key(t, "read:risks"), "gov_live_former_"+strings.Repeat("a", 30)
	s.restart(t) // so that the key is not cached
	if _, err := s.store.Keys.Import(t.Context(), by(t, s.store, db.DefaultOrganisation), draftFor("read:all"), former); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 8 {
		for _, wrong := range []string{key[:len(key)-8] + "00000000", fmt.Sprintf("gov_live_%024d", i), fmt.Sprintf("%s%d", former[:40], i)} {
			group.Go(func() {
				if a := s.send(t, row{path: "/risks", key: wrong}); a.status != 401 && a.status != 429 {
					t.Errorf("a wrong key: status %d: %s", a.status, a.body)
				}
			})
		}
	}
	for range 64 {
		group.Go(func() {
			if a := s.send(t, row{path: "/risks", key: key}); a.status != 200 {
				t.Errorf("status %d: %s", a.status, a.body)
			}
		})
	}
	group.Wait()
}

// TestKey_GuessesDelayNoOtherKey sends many concurrent guesses at one former key. A second
// former key that is used for the first time does not wait for all of them.
func TestKey_GuessesDelayNoOtherKey(t *testing.T) {
	t.Parallel()
	s := serve(t)
	guessed, other := "gov_live_guessed_"+strings.Repeat("a", 30), "gov_live_another_"+strings.Repeat("b", 30)
	for _, key := range []string{guessed, other} {
		if _, err := s.store.Keys.Import(t.Context(), by(t, s.store, db.DefaultOrganisation), draftFor("read:all"), key); err != nil {
			t.Fatal(err)
		}
	}
	// A hash takes a second under the race detector, and a request has thirty.
	const guesses = 8
	answered := make(chan struct{}, guesses)
	var group sync.WaitGroup
	for i := range guesses {
		group.Go(func() {
			s.ask(t, row{path: "/risks", key: fmt.Sprintf("%s%d", guessed[:40], i), status: 401, code: "invalid_api_key"})
			answered <- struct{}{}
		})
	}
	<-answered // the other guesses are in the queue now
	s.get(t, "/risks", other)
	if n := len(answered) + 1; n > guesses*3/4 {
		t.Errorf("%d of %d guesses were answered first", n, guesses)
	}
	group.Wait()
	s.get(t, "/risks", guessed)
}
