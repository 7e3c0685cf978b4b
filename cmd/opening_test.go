package cmd_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"govsvc/internal/testkit"
)

// useVersion16 makes the data file one of schema version 16. Its webhooks are
// paused, because the test has no receiver for them.
func useVersion16(c *cli) {
	c.t.Helper()
	testkit.Unpack(c.t, filepath.Join("..", "db", "testdata", "versions", "v16.db.gz"), c.env["GOVSVC_DB"])
	c.alter("UPDATE webhook_subscriptions SET active = 0")
}

// wantOpenedOnce checks that the data file was made or migrated completely and
// only once. Only the copies from before the migration remain beside it.
func wantOpenedOnce(c *cli, keys, copies int) {
	c.t.Helper()
	names := c.files()
	if left := regexp.MustCompile(`govsvc\.db(\.v16-[0-9TZ]+(-\d+)?)?( |$)`).ReplaceAllString(names, ""); left != "" {
		c.t.Errorf("left: %s", left)
	}
	if got := strings.Count(names, ".v16-"); got != copies {
		c.t.Errorf("%d copies, want %d: %s", got, copies, names)
	}
	c.must("check", "--full")
	p := child{cli: c}
	file := p.openReadOnly()
	defer file.Close() //nolint:errcheck // read only
	for query, want := range map[string]int{
		"SELECT count(*) FROM organisations WHERE name = 'default'":                   1,
		"SELECT count(*) FROM secrets":                                                2,
		"SELECT count(*) - count(DISTINCT version_id) FROM goose_db_version":          0,
		"SELECT count(*) FROM api_keys WHERE name = 'at once' AND revoked_at IS NULL": keys,
	} {
		var got int
		if err := file.QueryRowContext(c.t.Context(), query).Scan(&got); err != nil || got != want {
			c.t.Errorf("%s: %d, %v, want %d", query, got, err, want)
		}
	}
}

// TestOpen_SucceedsConcurrently starts several programs at the same time without a
// file, and with one of an older version. All of them succeed.
func TestOpen_SucceedsConcurrently(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		copies int
		before func(*cli)
		beside []string // started together with a server and two commands
	}{
		"new":   {0, func(*cli) {}, []string{"orgs", "create", "acme"}},
		"older": {1, useVersion16, []string{"deliver", "--once"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range *crashRounds {
				c := newCLIWithoutFile(t)
				row.before(c)
				tmp := t.TempDir()
				server := c.execute(tmp, "serve", "--addr", "127.0.0.1:0")
				others := []*process{
					c.execute(tmp, row.beside...),
					c.execute(tmp, "keys", "mint", "--name", "at once", "--scope", "read:risks"),
					c.execute(tmp, "keys", "mint", "--name", "at once", "--scope", "read:risks"),
				}
				for _, other := range others {
					if err := other.Wait(); err != nil {
						t.Errorf("%v: %v: %s", other.Args[1:], err, other.stderr)
					}
				}
				url := server.line("listening on ")
				for _, minted := range others[1:] {
					key := regexp.MustCompile(`gds_live_\w+`).FindString(minted.stdout.String())
					if status, body := c.get(url+"/api/v1/risks", key); status != 200 {
						t.Errorf("a key that was minted at the same time: %d %s", status, body)
					}
				}
				server.end(os.Interrupt)
				wantOpenedOnce(c, 2, row.copies)
			}
		})
	}
}

// TestOpen_SucceedsAfterKill kills the program at a random moment while it makes or
// migrates a file. The next start succeeds.
func TestOpen_SucceedsAfterKill(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d, %d rounds (more with -crash.rounds)", seed, *crashRounds)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, before := range []func(*cli){func(*cli) {}, useVersion16} {
		took := 200 * time.Millisecond // duration of the previous start, which was not killed
		for range *crashRounds {
			c := newCLIWithoutFile(t)
			before(c)
			for range 3 {
				c.killAfter(time.Duration(random.Int64N(int64(took))), "keys", "mint", "--name", "killed", "--scope", "read:risks")
			}
			begun := time.Now()
			p := c.execute(t.TempDir(), "keys", "mint", "--name", "at once", "--scope", "read:risks")
			if err := p.Wait(); err != nil {
				t.Errorf("after the kills: %v: %s; beside it: %s", err, p.stderr, c.files())
			}
			took = time.Since(begun)
			c.must("check", "--full")
			c.must("audit", "verify")
		}
	}
}
