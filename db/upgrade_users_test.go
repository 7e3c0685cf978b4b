package db_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/db/auth"
	"govsvc/db/backup"
	"govsvc/internal/testkit"
)

// TestUpgrade_Users migrates a file of version 16 with users. They keep their
// roles in every organisation, their sessions, recovery codes and second factor.
func TestUpgrade_Users(t *testing.T) {
	t.Parallel()
	path := testkit.NewPath(t)
	testkit.Unpack(t, "testdata/versions/v16.db.gz", path)
	const stamp = "2026-10-01T12:00:00.000Z"
	for _, statement := range []string{
		`INSERT INTO organisations (id, name, plan, subscription, created_at, updated_at) VALUES ('o2', 'acme', 'business', 'active', '` + stamp + `', '` + stamp + `') RETURNING id`,
		`INSERT INTO users (id, name, name_key, role, salt, password_hash, totp_secret, created_at, updated_at)
			SELECT column1, column2, column2, column3, zeroblob(16), zeroblob(32), column4, '` + stamp + `', '` + stamp + `'
			FROM (VALUES ('u1', 'ada', 'admin', zeroblob(20)), ('u2', 'bob', 'viewer', NULL)) RETURNING id`,
		"INSERT INTO recovery_codes (user_seq, hash) SELECT seq, randomblob(32) FROM users, (VALUES (1), (2), (3)) RETURNING user_seq",
		`INSERT INTO sessions (token_hash, user_seq, org_id, created_at, seen_at, expires_at)
			SELECT randomblob(32), u.seq, o.seq, '` + stamp + `', '` + stamp + `', '2099-01-01T00:00:00.000Z' FROM users u JOIN organisations o ON o.name = 'acme' RETURNING user_seq`,
	} {
		if len(testkit.CountSQL(t, path, statement)) == 0 {
			t.Fatal(statement)
		}
	}
	before := testkit.CountSQL(t, path, "SELECT hex(hash) FROM recovery_codes")
	sessions := testkit.CountSQL(t, path, "SELECT hex(token_hash) || org_id FROM sessions")
	store := open(t, path)
	want := map[string]int{"ada acme admin": 1, "ada default admin": 1, "bob acme viewer": 1, "bob default viewer": 1}
	got := testkit.CountSQL(t, path, `SELECT u.name || ' ' || o.name || ' ' || m.role FROM memberships m JOIN users u ON u.seq = m.user_seq JOIN organisations o ON o.seq = m.org_id`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("memberships (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, testkit.CountSQL(t, path, "SELECT hex(hash) FROM recovery_codes")); diff != "" || len(before) != 6 {
		t.Errorf("%d recovery codes (-before +after):\n%s", len(before), diff)
	}
	if diff := cmp.Diff(sessions, testkit.CountSQL(t, path, "SELECT hex(token_hash) || org_id FROM sessions")); diff != "" || len(sessions) != 2 {
		t.Errorf("%d sessions (-before +after):\n%s", len(sessions), diff)
	}
	ada, err := auth.New(store).Users.ByName(t.Context(), 0, "ada")
	if err != nil || !ada.SecondFactor || ada.RecoveryCodes != 3 || ada.Role != auth.Admin {
		t.Errorf("ada is %+v, %v", ada, err)
	}
	if faults, err := backup.New(store).Faults(t.Context(), true); len(faults) > 0 || err != nil {
		t.Error(faults, err)
	}
}
