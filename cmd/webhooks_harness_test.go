package cmd_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"govsvc/cmd"
	"govsvc/db"
)

// standing is a command that goes on until it is stopped, in this process.
type standing struct {
	t              *testing.T
	stop           func() // what a signal does
	ended          chan int
	stdout, stderr *journal
}

// start begins a command that goes on.
func (c *cli) start(args ...string) *standing {
	c.t.Helper()
	ctx, stop := context.WithCancel(c.t.Context())
	s := &standing{c.t, stop, make(chan int, 1), &journal{}, &journal{}}
	go func() { s.ended <- cmd.Run(ctx, args, nil, s.stdout, s.stderr, c.lookup) }()
	return s
}

// line waits for a line of stdout that begins like this, and returns its rest.
func (s *standing) line(prefix string) string {
	s.t.Helper()
	rest, ok := "", false
	until(s.t, func() bool {
		lines := bufio.NewScanner(strings.NewReader(s.stdout.String()))
		for !ok && lines.Scan() {
			rest, ok = strings.CutPrefix(lines.Text(), prefix)
		}
		return ok || len(s.ended) > 0
	}, "a line %q", prefix)
	if !ok {
		s.t.Fatalf("it ended without %q: %s%s", prefix, s.stdout, s.stderr)
	}
	return rest
}

// has waits for a text on stdout.
func (s *standing) has(text string, times int) {
	s.t.Helper()
	until(s.t, func() bool { return strings.Count(s.stdout.String(), text) >= times }, "%q %d times on stdout", text, times)
}

// end stops the command and wants it to end in order.
func (s *standing) end() {
	s.t.Helper()
	s.stop()
	select {
	case status := <-s.ended:
		if status != 0 {
			s.t.Errorf("status %d, want 0: %s", status, s.stderr)
		}
	case <-time.After(30 * time.Second):
		s.t.Fatal("it did not end")
	}
}

// until waits for something that happens elsewhere.
func until(t *testing.T, happened func() bool, what string, args ...any) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !happened(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in vain waited for "+what, args...)
		}
	}
}

// listen starts a receiver, and returns where it is reached and whom to trust.
func (c *cli) listen(flags ...string) (s *standing, url, ca string) {
	c.t.Helper()
	s = c.start(append([]string{"webhooks", "listen"}, flags...)...)
	return s, s.line("listening on "), s.line("trust ")
}

// reaching are the flags of serve and deliver that let them reach a receiver
// on loopback.
func reaching(ca string) []string {
	return []string{"--webhook-allow", "127.0.0.0/8", "--webhook-ca", ca}
}

// subscribe makes a subscription without a server, and returns its id and
// secret.
func (c *cli) subscribe(url string) (id, secret string) {
	c.t.Helper()
	store, err := db.Open(c.t.Context(), db.Options{Path: c.env["GOVSVC_DB"]})
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	org, err := store.Organisation(c.t.Context(), db.DefaultOrganisation)
	if err != nil {
		c.t.Fatal(err)
	}
	var made []byte
	err = store.Write(c.t.Context(), db.By{Org: org.Org, Actor: "system"}, func(tx *db.Tx) error {
		made, secret, err = tx.CreateSubscription(db.Record{"url": url, "active": true, "event_types": []any{}})
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return decode[struct{ ID string }](c.t, string(made)).ID, secret
}

// risk imports a risk, which raises an event.
func (c *cli) risk(id string) {
	c.t.Helper()
	c.must("import", c.file(id+".ndjson", `{"object":"risk","risk_id":"`+id+`","dimension":"DATA","description":"A risk that is imported for its event.",`+
		`"severity":"LOW","likelihood":"RARE","status":"Open","source":"user_added","title":"`+id+`"}`+"\n"))
}

// health is what `webhooks list` tells of a subscription.
type health struct {
	ID, URL     string
	Queued      int
	DeadLetters int     `json:"dead_letters"`
	LastStatus  *int    `json:"last_status"`
	LastError   *string `json:"last_error"`
}

// health is that of the only subscription.
func (c *cli) health() health {
	c.t.Helper()
	text := c.must("webhooks", "list", "--json")
	list := decode[[]health](c.t, text)
	if len(list) != 1 {
		c.t.Fatalf("not one subscription: %s", text)
	}
	return list[0]
}

// acknowledged waits until the only subscription has nothing queued and its
// last delivery was acknowledged.
func (c *cli) acknowledged() {
	c.t.Helper()
	until(c.t, func() bool {
		h := c.health()
		return h.Queued+h.DeadLetters == 0 && h.LastStatus != nil && *h.LastStatus == 200
	}, "an acknowledged delivery")
}

// receiver is an https receiver on loopback that is not this program's, and
// the file of its authority.
func (c *cli) receiver(answer http.HandlerFunc) (s *httptest.Server, ca string) {
	c.t.Helper()
	s = httptest.NewTLSServer(answer)
	c.t.Cleanup(s.Close)
	var text bytes.Buffer
	_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return s, c.file("receiver.pem", text.String())
}

// folder makes an empty folder, for TMPDIR.
func (c *cli) folder(name string) string {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.Mkdir(path, 0o700); err != nil {
		c.t.Fatal(err)
	}
	return path
}

func empty(t *testing.T, folder string) {
	t.Helper()
	left, err := os.ReadDir(folder)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
