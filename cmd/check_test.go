package cmd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// healthy is the result of `check --json`.
type healthy struct {
	OK     bool
	Checks []struct {
		Name   string
		OK     bool
		Status string
		Detail string
	}
}

// TestCheck_FindsDamage damages the file in different ways. The check for that fails and
// says what to do, and the others do not fail.
func TestCheck_FindsDamage(t *testing.T) {
	t.Parallel()
	const longAgo = "'2020-01-01T00:00:00.000Z'"
	for name, row := range map[string]struct {
		statements []string
		args       []string
		fails      string // the names of the checks, joined by +; "" if none fails
		want       string // in the detail
	}{
		"all well":      {nil, nil, "", ""},
		"all well, all": {nil, []string{"--full"}, "", ""},
		"a reference":   {[]string{"INSERT INTO api_keys (org_id, id, name, kind, prefix, salt, hash, scopes, created_at) VALUES (77, 'k', 'n', 'live', 'p', zeroblob(16), zeroblob(32), '[]', '')"}, nil, "integrity", "1 rows of api_keys refer to rows that do not exist; keep it"},
		"an index":      {[]string{"PRAGMA writable_schema = 1", "UPDATE sqlite_schema SET sql = replace(sql, 'created_at', 'id') WHERE name = 'api_keys_by_org'"}, []string{"--full"}, "integrity+schema", "api_keys_by_org"},
		"older":         {[]string{"DELETE FROM goose_db_version WHERE version_id > 15"}, nil, "version", "this file is of an older version (15; this program's is "},
		"older tables":  {[]string{"DELETE FROM goose_db_version WHERE version_id > 14", "DROP TABLE backups"}, nil, "version", "migrates it and keeps a copy"},
		"no trigger":    {[]string{"DROP TRIGGER audit_events_never_go"}, []string{"--full"}, "schema", "trigger audit_events_never_go is missing; another program has changed the file"},
		"a trigger":     {[]string{"DROP TRIGGER audit_events_never_go", "CREATE TRIGGER audit_events_never_go BEFORE DELETE ON audit_events BEGIN SELECT 1; END"}, []string{"--full"}, "schema", "trigger audit_events_never_go is not defined as in version "},
		"no index":      {[]string{"DROP INDEX api_keys_by_org"}, []string{"--full"}, "schema", "index api_keys_by_org is missing"},
		"no view":       {[]string{"DROP VIEW risk_records"}, []string{"--full"}, "schema", "view risk_records is missing"},
		"no table":      {[]string{"DROP TABLE backups"}, nil, "last backup", "not checked, because a table, a view or a column is missing: run `govsvc check --full`"},
		"no index text": {[]string{"DROP TABLE search_progress"}, []string{"--full"}, "schema", "table search_progress is missing"},
		"a table more":  {[]string{"CREATE TABLE mine (a)"}, []string{"--full"}, "schema", "table mine is not expected"},
		"a column more": {[]string{"ALTER TABLE secrets ADD COLUMN note TEXT"}, []string{"--full"}, "schema", "table secrets is not defined as in version"},
		"Litestream":    {[]string{"CREATE TABLE _litestream_seq (id INTEGER)", "ANALYZE"}, []string{"--full"}, "", ""},
		"newer":         {[]string{"INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)"}, nil, "version", "use the newer program"},
		"the log":       {[]string{"DROP TRIGGER audit_events_never_go", "DELETE FROM audit_events WHERE seq = 1"}, nil, "audit log", `the audit log of "default" is broken`},
		"overdue": {[]string{
			"INSERT INTO webhook_subscriptions (org_id, id, url, created_via, secret, created_at, updated_at) VALUES (1, 's', 'u', 'api', 'x', '', '')",
			"INSERT INTO events (org_id, id, type, body, created_at) VALUES (1, 'e', 't', '{}', '')",
			"INSERT INTO deliveries (event_seq, subscription_seq, id, due_at, created_at, updated_at) VALUES (1, 1, 'd', " + longAgo + ", '', '')",
		}, nil, "deliveries", "1 webhook has been due since 2020-01-01T00:00:00.000Z: start `govsvc serve`"},
		"paused": {[]string{
			"INSERT INTO webhook_subscriptions (org_id, id, url, created_via, secret, active, created_at, updated_at) VALUES (1, 's', 'u', 'api', 'x', 0, '', '')",
			"INSERT INTO events (org_id, id, type, body, created_at) VALUES (1, 'e', 't', '{}', '')",
			"INSERT INTO deliveries (event_seq, subscription_seq, id, due_at, created_at, updated_at) VALUES (1, 1, 'd', " + longAgo + ", '', '')",
		}, nil, "", ""},
		"no backup":          {nil, []string{"--backup-within", "1h"}, "last backup", "none is known"},
		"an old backup":      {[]string{"INSERT INTO backups (outcome, at, path) VALUES ('made', " + longAgo + ", '/b')"}, []string{"--backup-within", "26h"}, "last backup", "older than 26h"},
		"old enough for all": {[]string{"INSERT INTO backups (outcome, at, path) VALUES ('made', " + longAgo + ", '/b')"}, nil, "", ""},
		"one to come":        {[]string{"INSERT INTO backups (outcome, at, path) VALUES ('made', '9999-01-01T00:00:00.000Z', '/b')"}, []string{"--backup-within", "26h"}, "last backup", "that is in the future, so its age is not known"},
		"a failed backup":    {[]string{"INSERT INTO backups (outcome, at, path, error) VALUES ('failed', " + longAgo + ", '/b', 'no room')"}, nil, "last backup", "the last attempt, at 2020-01-01T00:00:00.000Z, failed: no room"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCLI(t)
			c.key("read:all")
			c.write(auditRisk)
			c.alter(row.statements...)
			before := c.read(c.env["GOVSVC_DB"])
			o := c.run(append([]string{"check"}, row.args...)...)
			failing := strings.FieldsFunc(row.fails, func(r rune) bool { return r == '+' })
			total := 7
			if slices.Contains(row.args, "--full") {
				total = 8
			}
			wantErr := ""
			if len(failing) > 0 {
				wantErr = fmt.Sprintf("govsvc: %d of %d checks failed\n", len(failing), total)
			}
			if o.status != min(len(failing), 1) || o.stderr != wantErr || strings.Count(o.stdout, "\n") != total {
				t.Errorf("status %d, stderr %q\n%s", o.status, o.stderr, o.stdout)
			}
			for line := range strings.Lines(o.stdout) {
				failed := strings.HasPrefix(line, "FAIL  ")
				about := slices.ContainsFunc(failing, func(name string) bool { return strings.HasPrefix(line[6:], name+" ") })
				if failed != about || about && !strings.Contains(line, row.want) || strings.Contains(line, "no such table") {
					t.Error(line)
				}
			}
			if c.read(c.env["GOVSVC_DB"]) != before || exists(c.env["GOVSVC_DB"]+"-wal") || exists(c.env["GOVSVC_DB"]+"-shm") {
				t.Error("the file was changed, or something is left beside it")
			}
		})
	}
}

// TestCheck_ReadsFileInUse checks a file that a server uses, also with --json. Without a
// file none is made.
func TestCheck_ReadsFileInUse(t *testing.T) {
	t.Parallel()
	c := newCLIWithoutFile(t)
	if got := c.refused(1, "check"); !strings.Contains(got, "no such file") || exists(c.env["GOVSVC_DB"]) {
		t.Error(got)
	}
	s := c.serve()
	bare := c.file("bare.db", "")
	with := *c
	with.env = map[string]string{"GOVSVC_DB": bare}
	with.alter(fmt.Sprintf("PRAGMA application_id = %d", 0x67767376))
	if got := c.refused(1, "check", "--db", bare); !strings.Contains(got, bare+": has no tables; copy a data file in use with `govsvc backup`") {
		t.Error(got)
	}
	found := runJSON[healthy](c, "check", "--full")
	if !found.OK || len(found.Checks) != 8 {
		t.Errorf("%+v", found)
	}
	s.end()
}

// TestCheck_Warns covers the warnings: no known backup, an older file that
// lacks a table, and files that others can read. The exit status is 0.
func TestCheck_Warns(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	warned := func(want ...string) {
		t.Helper()
		var got []string
		found := runJSON[healthy](c, "check")
		for _, check := range found.Checks {
			if !check.OK || check.Status != "ok" && check.Status != "warning" {
				t.Errorf("%+v", check)
			}
			if check.Status == "warning" {
				// SQLite has these files during the check
				beside := strings.NewReplacer(", "+c.env["GOVSVC_DB"]+"-shm (mode 0640)", "", ", "+c.env["GOVSVC_DB"]+"-wal (mode 0640)", "")
				got = append(got, check.Name+": "+beside.Replace(check.Detail))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || !found.OK {
			t.Error(diff)
		}
		if text := c.must("check"); strings.Count(text, "\nwarn  ") != len(want) {
			t.Error(text)
		}
	}
	path := c.env["GOVSVC_DB"]
	warned("last backup: none is known; see `govsvc backup --help`")
	folder := filepath.Join(c.dir, "backups")
	must(t, os.Mkdir(folder, 0o700))
	c.must("backup", filepath.Join(folder, "govsvc-20260912T083000Z.db"))
	warned()
	if runtime.GOOS == "windows" {
		return
	}
	other := filepath.Join(folder, "govsvc-20260911T083000Z.db")
	must(t, os.WriteFile(other, nil, 0o600))
	before := c.file("govsvc.db.v16-20260912T083000Z", "")
	must(t, os.Chmod(path, 0o640))
	must(t, os.Chmod(before, 0o604))
	must(t, os.Chmod(other, 0o660))
	warned(fmt.Sprintf("file access: other users of this system can read %s (mode 0660), %s (mode 0640), %s (mode 0604): set mode 0600", other, path, before))
	s := c.serve()
	s.end()
	if log := s.stderr.String(); !strings.Contains(log, `level=WARN msg="other users of this system can read `) || !strings.Contains(log, path+" (mode 0640)") {
		t.Error(log)
	}
}

// TestCheck_ReportsOlderFile checks a file that a former version made.
func TestCheck_ReportsOlderFile(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	useVersion16(c)
	o := c.run("check", "--full")
	if o.status != 1 || strings.Contains(o.stdout, "no such") || !strings.HasPrefix(o.stdout, "ok    integrity    the whole file is intact\n") ||
		!strings.Contains(o.stdout, "FAIL  version      this file is of an older version (16; this program's is ") {
		t.Errorf("%+v", o)
	}
}

// TestErrors_NameDamagedFile checks that every command that uses a damaged file names that
// file and says what to do.
func TestErrors_NameDamagedFile(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("import", c.file("signals.ndjson", signals))
	path := filepath.Join(c.dir, "damaged.db")
	must(t, os.WriteFile(path, []byte(c.read(c.env["GOVSVC_DB"])[:8192]), 0o600))
	for _, args := range [][]string{{"check"}, {"keys", "list"}, {"backup", filepath.Join(c.dir, "copy.db")}} {
		if got := c.refused(1, append(args, "--db", path)...); !strings.Contains(got, path+": is damaged: ") || !strings.Contains(got, "restore an intact backup (`govsvc restore --help`)") {
			t.Errorf("%s: %s", args[0], got)
		}
	}
}
