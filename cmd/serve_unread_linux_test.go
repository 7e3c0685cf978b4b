package cmd_test

import (
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/audit"
)

var unreadFull = flag.Bool("unread.full", false, "run the attack of unread responses in full size")

// maxResident is how much memory the server may have resident under the attacks
// of this file, in MB (doc/security.md).
const maxResident = 256

// peakMemory returns the largest resident memory that a process has had, in MB.
func peakMemory(t testing.TB, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	must(t, err)
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kilobytes, err := strconv.Atoi(strings.Fields(rest)[0])
			must(t, err)
			return kilobytes >> 10
		}
	}
	t.Fatal("VmHWM is not in /proc")
	return 0
}

// unread sends a request and reads nothing of the response.
func (p *child) unread(path, key string) net.Conn {
	p.t.Helper()
	conn := p.dial(p.api, "127.0.0.1")
	_ = conn.(*net.TCPConn).SetReadBuffer(4096)
	_, err := io.WriteString(conn, "GET /api/v1"+path+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+key+"\r\n\r\n")
	must(p.t, err)
	return conn
}

// largeRisks returns records of about 60 KB each, as a file to import.
func largeRisks(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `{"object":"risk","risk_id":"RISK-%04d","severity":"LOW","description":"%d %s"}`+"\n", i, i, strings.Repeat("€", 19_900))
	}
	return text.String()
}

// TestServe_LimitsMemoryOfUnreadResponses checks that a caller that requests many large
// responses and reads none neither fills the memory nor delays another caller.
func TestServe_LimitsMemoryOfUnreadResponses(t *testing.T) {
	t.Parallel()
	patches, events, audits, lists := 20, 60, 12, 40
	if *unreadFull {
		patches, events, audits, lists = 600, 600, 12, 100
	}
	c := newCLI(t)
	c.must("import", c.file("risks.ndjson", largeRisks(110)))
	attacker := c.key("read:all,read:audit,write:risks")
	other := c.key("read:all")
	// Events in the form that earlier versions stored.
	c.write(func(tx *db.Tx) error {
		for range events {
			err := tx.Audit(audit.Event{Action: "e", Category: audit.System, Metadata: audit.Metadata{"text": strings.Repeat("€", 40_000)}})
			if err != nil {
				return err
			}
		}
		return nil
	})
	p := c.child(attacker, func(*exec.Cmd) {})
	_, list, _ := p.fetch("/risks?limit=1", attacker)
	_, id, _ := strings.Cut(list, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	for i := range patches {
		body := fmt.Sprintf(`{"mitigation_action":"%d %s"}`, i, strings.Repeat("€", 19_900))
		p.want("a change", crashWrite{method: "PATCH", path: "/risks/" + id, idempotencyKey: fmt.Sprint(i), body: body}, 200)
	}
	start := peakMemory(t, p.Process.Pid)
	var conns []net.Conn
	for range audits {
		conns = append(conns, p.unread("/audit?limit=1000", attacker))
	}
	p.answers(other)
	afterAudit := peakMemory(t, p.Process.Pid)
	for range lists {
		conns = append(conns, p.unread("/risks?limit=100", attacker))
	}
	p.answers(other)
	after := peakMemory(t, p.Process.Pid)
	t.Logf("resident at most: %d MB at the start, %d MB after %d unread audit pages, %d MB after %d unread lists", start, afterAudit, audits, after, lists)
	if after > maxResident {
		t.Errorf("resident memory reached %d MB, want at most %d", after, maxResident)
	}
	for _, conn := range conns {
		_ = conn.Close()
	}
	_ = p.Process.Signal(os.Interrupt)
	_ = p.Wait()
}

// fetch reads a path.
func (p *child) fetch(path, key string) (status int, body string, took time.Duration) {
	p.t.Helper()
	began := time.Now()
	status, body = p.get(p.api+path, key)
	return status, body, time.Since(began)
}

// answers reads with another key during the attack, until the responses of the
// attack are made.
func (p *child) answers(key string) {
	p.t.Helper()
	for range 6 {
		time.Sleep(250 * time.Millisecond)
		for _, path := range []string{"/risks?limit=1", "/risks?limit=100"} {
			// Well below the time after which a waiting response is aborted.
			if status, body, took := p.fetch(path, key); status != 200 || took > 8*time.Second {
				p.t.Errorf("another caller's GET %s: %d after %v: %.300s", path, status, took, body)
			}
		}
	}
}
