package server_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"govsvc/db"
	"govsvc/internal/testkit"
	"govsvc/server"
)

// TestResponseCache_NothingStale reads from many goroutines while this process and
// another one write. Each response must have every change that was committed before its
// request.
func TestResponseCache_NothingStale(t *testing.T) {
	t.Parallel()
	if path := os.Getenv("GOVSVC_TEST_STALE"); path != "" {
		writeWhenAsked(t, path)
		return
	}
	s := serve(t)
	key := s.key(t, "read:risks")
	writers := []func(n int){
		func(n int) { load(t, s.store, db.DefaultOrganisation, []db.Record{sample("risk", "K", n, start)}) },
		anotherProcess(t, s.store.File.Path()),
		anotherProcess(t, s.store.File.Path()),
	}
	var group sync.WaitGroup
	var committed atomic.Int64
	stop := make(chan struct{})
	for range 4 {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				least := int(committed.Load())
				if got := len(s.get(t, "/risks?limit=100", key).page(t).Data); got < least {
					t.Errorf("%d risks are committed, %d are shown", least, got)
					return
				}
			}
		})
	}
	for n := range 90 {
		writers[n%len(writers)](n)
		committed.Store(int64(n + 1))
	}
	close(stop)
	group.Wait()
}

// anotherProcess starts a second process on the same file. The returned function makes
// it write a risk and returns after the commit.
func anotherProcess(t *testing.T, path string) func(n int) {
	t.Helper()
	child, in, out := testkit.StartTest(t, "TestResponseCache_NothingStale", "GOVSVC_TEST_STALE="+path) // ends when its standard input is closed
	t.Cleanup(func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		if err := child.Wait(); err != nil {
			t.Error(err)
		}
	})
	said := bufio.NewScanner(out)
	return func(n int) {
		fmt.Fprintln(in, n)
		if !said.Scan() || said.Text() != fmt.Sprint("committed ", n) {
			t.Errorf("the other process said %q", said.Text())
		}
	}
}

// writeWhenAsked is the main function of the other process.
func writeWhenAsked(t *testing.T, path string) {
	store := openStore(t, path, testkit.NewClock(start))
	asked := bufio.NewScanner(os.Stdin)
	for asked.Scan() {
		n, err := strconv.Atoi(asked.Text())
		if err != nil {
			t.Fatal(err)
		}
		load(t, store, db.DefaultOrganisation, []db.Record{sample("risk", "K", n, start)})
		fmt.Println("committed", n)
	}
}

// TestResponseCache_SeparatesCallers checks that a cached response is not used for
// another request: of another organisation, with another filter or another key.
func TestResponseCache_SeparatesCallers(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, org := range []string{"one", "two"} {
		organisation(t, s.store, org)
		load(t, s.store, org, []db.Record{sample("risk", org+"-", 1, start)})
	}
	_, one := s.mint(t, "one", db.KeyDraft{Scopes: []string{"read:risks"}})
	_, two := s.mint(t, "two", db.KeyDraft{Scopes: []string{"read:risks"}})
	_, none := s.mint(t, "one", db.KeyDraft{Scopes: []string{"read:kpis"}})
	for range 3 { // the third response comes from memory
		s.ask(t, row{path: "/risks", key: one, has: []string{"one-"}, not: []string{"two-"}})
		s.ask(t, row{path: "/risks", key: two, has: []string{"two-"}, not: []string{"one-"}})
		s.ask(t, row{path: "/risks", key: none, status: 403, code: "insufficient_scope"})
		s.ask(t, row{path: "/risks?status=Closed", key: one, not: []string{"one-"}})
		s.ask(t, row{path: "/risks?limit=0", key: one, status: 400, code: "invalid_parameter", param: "limit"})
	}
}

// TestResponseCache_Bounded checks that all of many different requests are answered
// correctly, with a cache for a few answers and with none.
func TestResponseCache_Bounded(t *testing.T) {
	t.Parallel()
	for _, most := range []int64{0, 4 << 10} {
		s := serve(t, func(c *server.Config) { c.CacheBytes = most })
		key := s.key(t, "read:risks")
		var records []db.Record
		for n := range 30 {
			records = append(records, sample("risk", "B", n, start))
		}
		load(t, s.store, db.DefaultOrganisation, records)
		for range 3 {
			for limit := 1; limit <= 30; limit++ {
				if got := len(s.get(t, fmt.Sprintf("/risks?limit=%d", limit), key).page(t).Data); got != limit {
					t.Errorf("limit %d showed %d", limit, got)
				}
			}
		}
	}
}

// TestResponseCache_ToolResults checks that a cached tool result is sent to the next
// caller with the id of that caller's message. The next commit makes it invalid.
func TestResponseCache_ToolResults(t *testing.T) {
	t.Parallel()
	s := serveEmptyMCP(t)
	key := s.key(t, "read:risks")
	_, none := s.mint(t, db.DefaultOrganisation, db.KeyDraft{Scopes: []string{"read:kpis"}})
	for n := range 3 {
		load(t, s.store, db.DefaultOrganisation, []db.Record{sample("risk", "K", n, start)})
		for _, id := range []string{"1", `"two"`, "3"} {
			message := strings.Replace(toolCall("list_risks", `{"limit":100}`), `"id":1`, `"id":`+id, 1)
			got := s.post(t, key, message).body
			if !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":`+id+`,`) || strings.Count(got, `"object":"risk"`) != n+1 {
				t.Fatalf("%d risks, id %s: %s", n+1, id, got)
			}
			if refused := s.post(t, none, message).body; !strings.Contains(refused, "insufficient_scope") {
				t.Fatalf("a key without the scope got %s", refused)
			}
		}
	}
}
