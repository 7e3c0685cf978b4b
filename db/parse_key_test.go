package db_test

import (
	"encoding/json"
	"strings"
	"testing"

	"govsvc/db"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// FuzzParseKey checks which texts are keys: in the current format only keys of this data
// file, in earlier formats every text that is long enough. The prefix never contains the
// secret.
func FuzzParseKey(f *testing.F) {
	store, other := newStore(f), open(f, testkit.NewPath(f)) // files with different secrets
	made := map[string]string{}
	for _, kind := range []string{db.LiveKey, db.TestKey} {
		_, key, err := store.Keys.Mint(f.Context(), testdb.Operator(f, store), db.KeyDraft{Name: "n", Kind: kind, Scopes: []string{"read:all"}})
		if err != nil {
			f.Fatal(err)
		}
		_, foreign, err := other.Keys.Mint(f.Context(), testdb.Operator(f, other), db.KeyDraft{Name: "n", Kind: kind, Scopes: []string{"read:all"}})
		if err != nil {
			f.Fatal(err)
		}
		made[key] = kind
		for _, seed := range []string{key, foreign, key[:60], key + "x", strings.ToUpper(key), "gov_" + key[4:], key[:53] + foreign[53:], " " + key} {
			f.Add(seed)
		}
	}
	for _, seed := range []string{"", "gds_live_", "gov_live_", "gov_test_" + strings.Repeat("a", 24), "gov_live_" + strings.Repeat("é", 300), "gds_live_" + strings.Repeat("é", 26), "gov_live_\x00\xff" + strings.Repeat(" ", 30)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, key string) {
		parsed, ok := store.Keys.Parse(key)
		kind := made[key]
		for prefix, former := range map[string]string{"gov_live_": db.LiveKey, "gov_test_": db.TestKey} {
			if strings.HasPrefix(key, prefix) && len(key) >= len(prefix)+24 && len(key) <= 512 {
				kind = former
			}
		}
		if ok != (kind != "") {
			t.Fatalf("%q: got %v for a key of the kind %q", key, ok, kind)
		}
		if ok && (parsed.Kind != kind || !strings.HasPrefix(key, parsed.Prefix) || len(key)-len(parsed.Prefix) < 16 || parsed.Tagged != (made[key] != "")) {
			t.Fatalf("%q: got %+v", key, parsed)
		}
	})
}

// TestKeys_Mint checks that keys have the format of the contract and are different.
func TestKeys_Mint(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	seen := map[string]bool{}
	for range 5 {
		for _, kind := range []string{db.LiveKey, db.TestKey} {
			made, key, err := store.Keys.Mint(t.Context(), testdb.Operator(t, store), db.KeyDraft{Name: "n", Kind: kind, Scopes: []string{"read:kpis"}})
			if err != nil {
				t.Fatal(err)
			}
			rest, ok := strings.CutPrefix(key, "gds_"+kind+"_")
			if !ok || len(rest) != 52 || strings.Trim(rest, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") != "" || made.Prefix != key[:21] {
				t.Errorf("got key %q, prefix %q", key, made.Prefix)
			}
			for _, part := range []string{rest[:12], rest[12:44], rest[44:]} {
				if seen[part] {
					t.Errorf("got %q twice", part)
				}
				seen[part] = true
			}
			shown, err := json.Marshal(made)
			if err != nil || strings.Contains(string(shown), rest[12:44]) {
				t.Errorf("got %s, %v, want JSON without the secret", shown, err)
			}
		}
	}
}
