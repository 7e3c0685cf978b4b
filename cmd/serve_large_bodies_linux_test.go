package cmd_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestServe_LimitsMemoryOfLargeBodies checks that many large bodies at the same time do not
// fill the memory. Decoding a body takes more than ten times its size.
func TestServe_LimitsMemoryOfLargeBodies(t *testing.T) {
	t.Parallel()
	bodies := 40
	if *unreadFull {
		bodies = 250
	}
	c := newCLI(t)
	key := c.key("read:all,write:kpis")
	other := c.key("read:all")
	p := c.child(key, func(*exec.Cmd) {})
	start := peakMemory(t, p.Process.Pid)
	body := `{"checkins":[` + strings.Repeat("{},", 174_000) + `{}]}`
	var conns []net.Conn
	last := make(chan struct{}) // closed to send the last bytes, so that all bodies are decoded at the same time
	for i := range bodies {
		conn := c.dial(p.api, "127.0.0.1")
		head := fmt.Sprintf("POST /api/v1/kpis/checkins HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer %s\r\n"+
			"Content-Type: application/json\r\nIdempotency-Key: %d\r\nContent-Length: %d\r\n\r\n", key, i, len(body))
		go func() {
			_, _ = io.WriteString(conn, head+body[:len(body)-1]) // the server may refuse it early; so below
			<-last
			_, _ = io.WriteString(conn, body[len(body)-1:])
		}()
		conns = append(conns, conn)
	}
	p.answers(other)
	close(last)
	for _, conn := range conns {
		answer, _ := io.ReadAll(conn)
		if text := string(answer); !strings.HasPrefix(text, "HTTP/1.1 400 ") && !strings.HasPrefix(text, "HTTP/1.1 503 ") {
			t.Errorf("the answer is %.300s", text)
		}
	}
	after := peakMemory(t, p.Process.Pid)
	t.Logf("resident at most: %d MB at the start, %d MB after %d large bodies", start, after, bodies)
	if after > maxResident {
		t.Errorf("resident memory reached %d MB, want at most %d", after, maxResident)
	}
	_ = p.Process.Signal(os.Interrupt)
	_ = p.Wait()
}
