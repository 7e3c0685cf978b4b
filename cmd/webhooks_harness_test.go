package cmd_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"govsvc/cmd"
	"govsvc/db"
	"govsvc/internal/testkit"
)

// spoken is what a command prints while it goes on.
type spoken struct {
	t              *testing.T
	stdout, stderr *testkit.LogBuffer
}

// standing is a command that goes on until it is stopped, in this process.
type standing struct {
	spoken
	stop  func() // what a signal does
	ended chan int
}

// begin starts a command that goes on.
func (c *cli) begin(args ...string) *standing {
	c.t.Helper()
	ctx, stop := context.WithCancel(c.t.Context())
	s := &standing{spoken{c.t, &testkit.LogBuffer{}, &testkit.LogBuffer{}}, stop, make(chan int, 1)}
	go func() { s.ended <- cmd.Run(ctx, args, nil, s.stdout, s.stderr, c.lookup) }()
	return s
}

// line waits for a line of stdout that begins like this, and returns its rest.
func (s *spoken) line(prefix string) string {
	s.t.Helper()
	rest, ok := "", false
	testkit.Eventually(s.t, func() bool {
		for one := range strings.Lines(s.stdout.String()) {
			if text, whole := strings.CutSuffix(one, "\n"); whole && !ok {
				rest, ok = strings.CutPrefix(text, prefix)
			}
		}
		return ok
	}, "a line %q; stderr: %s", prefix, s.stderr)
	return rest
}

// has waits for a text on stdout.
func (s *spoken) has(text string, times int) {
	s.t.Helper()
	testkit.Eventually(s.t, func() bool { return strings.Count(s.stdout.String(), text) >= times }, "%q %d times on stdout; stderr: %s", text, times, s.stderr)
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

// executed is a process of the program itself.
type executed struct {
	spoken
	process *exec.Cmd
}

// execute starts the program itself, with a folder of its own for temporary
// files.
func (c *cli) execute(tmp string, args ...string) *executed {
	c.t.Helper()
	path, err := program()
	if err != nil {
		c.t.Fatal(err)
	}
	p := &executed{spoken{c.t, &testkit.LogBuffer{}, &testkit.LogBuffer{}}, exec.CommandContext(c.t.Context(), path, args...)}
	p.process.Stdout, p.process.Stderr = p.stdout, p.stderr
	p.process.Env = append(os.Environ(), "TMPDIR="+tmp, "GOVSVC_DB="+c.env["GOVSVC_DB"])
	if err := p.process.Start(); err != nil {
		c.t.Fatal(err)
	}
	return p
}

// end signals the process and wants it to end in order.
func (p *executed) end(signal os.Signal) {
	p.t.Helper()
	_ = p.process.Process.Signal(signal)
	if err := p.process.Wait(); err != nil {
		p.t.Errorf("%v: %v, want exit status 0: %s", signal, err, p.stderr)
	}
}

// deliverable starts a server that reaches a receiver on loopback.
func (c *cli) deliverable(ca string, flags ...string) (p *executed, url string) {
	c.t.Helper()
	p = c.execute(os.TempDir(), append(append([]string{"serve", "--addr", "127.0.0.1:0"}, reaching(ca)...), flags...)...)
	return p, p.line("listening on ")
}

// listen starts a receiver, and returns where it is reached and whom to trust.
func (c *cli) listen(flags ...string) (s *standing, url, ca string) {
	c.t.Helper()
	s = c.begin(append([]string{"webhooks", "listen"}, flags...)...)
	return s, s.line("listening on "), s.line("trust ")
}

// reaching are the flags of serve and deliver that let them reach a receiver
// on loopback.
func reaching(ca string) []string {
	return []string{"--webhook-allow", "127.0.0.0/8", "--webhook-ca", ca}
}

// write changes the data file without a command, which would take longer.
func (c *cli) write(change func(*db.Tx) error) {
	c.t.Helper()
	store, err := db.Open(c.t.Context(), db.Options{Path: c.env["GOVSVC_DB"]})
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	org, err := store.Organisation(c.t.Context(), db.DefaultOrganisation)
	if err == nil {
		err = store.Write(c.t.Context(), db.Actor{Org: org.Org, ID: "system"}, change)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// subscribe makes a subscription, and returns its id and secret.
func (c *cli) subscribe(url string) (id, secret string) {
	c.t.Helper()
	var made []byte
	c.write(func(tx *db.Tx) (err error) {
		made, secret, err = tx.CreateSubscription(db.Record{"url": url, "active": true, "event_types": []any{}})
		return err
	})
	return decode[struct{ ID string }](c.t, string(made)).ID, secret
}

// raise raises events.
func (c *cli) raise(times int) {
	c.t.Helper()
	c.write(func(tx *db.Tx) error {
		for range times {
			if err := tx.Enqueue("risk.created", map[string]any{}); err != nil {
				return err
			}
		}
		return tx.Audit(db.AuditEvent{Action: "risk.created", Category: db.DataChange, Severity: db.SeverityWrite})
	})
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
	testkit.Eventually(c.t, func() bool {
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
