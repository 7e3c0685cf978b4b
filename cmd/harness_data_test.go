package cmd_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/internal/testkit"
)

// write changes the data file without a command, which is faster.
func (c *cli) write(change func(*db.Tx) error) {
	c.t.Helper()
	store, err := db.Open(c.t.Context(), db.Options{Path: c.env["GOVSVC_DB"]})
	must(c.t, err)
	defer func() { _ = store.Close() }()
	org, err := store.Orgs.ByName(c.t.Context(), db.DefaultOrganisation)
	if err == nil {
		err = store.Write(c.t.Context(), db.Actor{Org: org.Org, ID: "system"}, change)
	}
	must(c.t, err)
}

// alter runs statements on the data file without the program.
func (c *cli) alter(statements ...string) {
	c.t.Helper()
	testkit.ExecSQL(c.t, c.env["GOVSVC_DB"], statements...)
}

// addUser adds a user. The password is on stdin, because it can't be a flag.
func (c *cli) addUser(name, role string, more ...string) string {
	c.t.Helper()
	o := c.runOn(password+"\n", append([]string{"users", "add", name, "--role", role}, more...)...)
	if o.status != 0 || o.stderr != "" {
		c.t.Fatalf("adding %s: %+v", name, o)
	}
	return o.stdout
}

const password = "plain tulips at noon"

// subscribe creates a subscription and returns its id and secret.
func (c *cli) subscribe(url string) (id, secret string) {
	c.t.Helper()
	var made db.Object
	c.write(func(tx *db.Tx) (err error) {
		made, secret, err = tx.CreateSubscription(db.Record{"url": url, "active": true, "event_types": []any{}})
		return err
	})
	return made.ID, secret
}

// spareKeys are keys that a process mints once: the hash of each takes 50 ms, and
// far longer under the race detector.
var spareKeys struct {
	once sync.Once
	keys map[string][]spareKey // by the kind
}

// spareKey is a key, and the columns of its row that depend on the secret.
type spareKey struct{ plain, columns string }

func mintSpareKeys(t *testing.T) {
	t.Helper()
	c := newCLI(t)
	spareKeys.keys = map[string][]spareKey{}
	for i, kind := range []string{db.LiveKey, db.LiveKey, db.TestKey} {
		args := []string{"keys", "mint", "--name", strconv.Itoa(i), "--scope", "read:all"}
		if kind == db.TestKey {
			args = append(args, "--test")
		}
		plain := strings.TrimSpace(c.must(args...))
		columns := testkit.QuerySQL(t, c.env["GOVSVC_DB"], fmt.Sprintf(
			"SELECT quote(kind) || ', ' || quote(prefix) || ', ' || quote(salt) || ', ' || quote(hash) FROM api_keys WHERE name = '%d'", i))
		spareKeys.keys[kind] = append(spareKeys.keys[kind], spareKey{plain, columns[0]})
	}
}

// key adds a key that no limit stops, and returns its plain text. It works in the
// files of newCLI and writes no audit event. Each file can have two.
func (c *cli) key(scopes string) string {
	c.t.Helper()
	return c.addKey(db.LiveKey, scopes)
}

// testKey returns a test key. Each file can have one.
func (c *cli) testKey(scopes string) string {
	c.t.Helper()
	return c.addKey(db.TestKey, scopes)
}

func (c *cli) addKey(kind, scopes string) string {
	c.t.Helper()
	spareKeys.once.Do(func() { mintSpareKeys(c.t) })
	used := testkit.QuerySQL(c.t, c.env["GOVSVC_DB"], fmt.Sprintf("SELECT id FROM api_keys WHERE kind = '%s'", kind))
	key := spareKeys.keys[kind][len(used)]
	c.alter(fmt.Sprintf(`INSERT INTO api_keys (org_id, id, name, scopes, per_minute, per_day, created_at, kind, prefix, salt, hash)
		VALUES (1, '00000000-0000-7000-8000-' || lower(hex(randomblob(6))), 'n', '["%s"]', 1000000, 10000000, '2026-01-01T00:00:00.000Z', %s)`,
		strings.ReplaceAll(scopes, ",", `", "`), key.columns))
	return key.plain
}

// auditRisk writes an audit event as a new risk does.
func auditRisk(tx *db.Tx) error {
	return tx.Audit(audit.Event{Action: "risk.created", Category: audit.DataChange, Severity: audit.SeverityWrite})
}

// enqueue adds events to the outbox.
func (c *cli) enqueue(times int) {
	c.t.Helper()
	c.write(func(tx *db.Tx) error {
		for range times {
			if err := tx.Enqueue("risk.created", map[string]any{}); err != nil {
				return err
			}
		}
		return auditRisk(tx)
	})
}

// subscriptionStatus is a subscription as `webhooks list` shows it.
type subscriptionStatus struct {
	ID, URL     string
	Queued      int
	DeadLetters int     `json:"dead_letters"`
	LastStatus  *int    `json:"last_status"`
	LastError   *string `json:"last_error"`
}

// onlySubscription returns the only subscription of the data file.
func onlySubscription(c *cli) subscriptionStatus {
	c.t.Helper()
	text := c.must("webhooks", "list", "--json")
	list := decode[[]subscriptionStatus](c.t, text)
	if len(list) != 1 {
		c.t.Fatalf("got %s, want one subscription", text)
	}
	return list[0]
}

// awaitAcknowledged waits until the only subscription has nothing queued and its
// last delivery was acknowledged.
func awaitAcknowledged(c *cli) {
	c.t.Helper()
	testkit.Eventually(c.t, func() bool {
		h := onlySubscription(c)
		return h.Queued+h.DeadLetters == 0 && h.LastStatus != nil && *h.LastStatus == 200
	}, "an acknowledged delivery")
}

// newAuditedStore makes a data file with n organisation-wide events e1, e2 … of the
// default organisation.
func newAuditedStore(c *cli, n int) *db.DB {
	c.t.Helper()
	store, err := db.Open(c.t.Context(), db.Options{Path: c.env["GOVSVC_DB"]})
	must(c.t, err)
	c.t.Cleanup(func() { _ = store.Close() })
	for i := range n {
		log(c.t, store, fmt.Sprintf("e%d", i+1))
	}
	return store
}

// log adds events to the default organisation's log.
func log(t *testing.T, store *db.DB, actions ...string) {
	t.Helper()
	org, err := store.Orgs.ByName(t.Context(), db.DefaultOrganisation)
	must(t, err)
	for _, action := range actions {
		err := store.Write(t.Context(), db.Actor{Org: org.Org, ID: "system"}, func(tx *db.Tx) error {
			return tx.Audit(audit.Event{Action: action, Category: audit.System})
		})
		must(t, err)
	}
}

// logEvent is a line of `audit export`.
type logEvent struct {
	Action   string
	Metadata map[string]any
}

// auditEvents exports an organisation's audit log.
func auditEvents(c *cli, org string) (list []logEvent) {
	c.t.Helper()
	for line := range strings.Lines(c.must("audit", "export", "--org", org)) {
		list = append(list, decode[logEvent](c.t, line))
	}
	return list
}
