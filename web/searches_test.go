package web_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/db/auth"
	"govsvc/server/limit"
)

// endlessSearches makes every list of vendors take forever, like a search of a very
// large file.
func endlessSearches(h *harness) {
	h.t.Helper()
	file, err := sql.Open("sqlite", "file:"+h.path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		h.t.Fatal(err)
	}
	defer file.Close()
	for _, statement := range []string{
		"DROP VIEW vendor_records",
		`CREATE VIEW vendor_records AS SELECT org_id, created_at, id, json_object('id', id, 'n',
			(WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1000000000000000) SELECT max(n) FROM c)) AS record
			FROM vendors`,
	} {
		if _, err := file.ExecContext(h.t.Context(), statement); err != nil {
			h.t.Fatal(err)
		}
	}
}

// search sends a request in the background until ctx ends.
func (c *client) search(ctx context.Context, path string) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+path, nil)
	if err != nil {
		return 0, "", err
	}
	request.Header = c.header.Clone()
	resp, err := c.http.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

// otherWork returns the requests that must be answered during any search.
func otherWork(h *harness) map[string]func() (int, string, error) {
	_, key, err := h.store.Keys.Mint(h.t.Context(), db.Actor{Org: 1, ID: "system"}, db.KeyDraft{
		Name: "probe", Scopes: []string{"read:risks", "write:risks"}, Kind: db.LiveKey,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	send := func(method, path, contentType, body string) (int, string, error) {
		ctx, cancel := context.WithTimeout(h.t.Context(), 30*time.Second)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, method, h.url+path, strings.NewReader(body))
		if err != nil {
			return 0, "", err
		}
		if strings.HasPrefix(path, "/api") {
			request.Header.Set("Authorization", "Bearer "+key)
			request.Header.Set("Idempotency-Key", fmt.Sprint("probe ", time.Now().UnixNano()))
		}
		request.Header.Set("Content-Type", contentType)
		request.Header.Set("Sec-Fetch-Site", "same-origin")
		client := *h.server.Client()
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		resp, err := client.Do(request)
		if err != nil {
			return 0, "", err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return resp.StatusCode, string(text), err
	}
	const risk = `{"title":"A probe of the service","description":"A risk that is created while others search.","severity":"LOW","likelihood":"RARE","dimension":"OTHER"}`
	return map[string]func() (int, string, error){
		"200 ready":      func() (int, string, error) { return send("GET", "/readyz", "", "") },
		"200 GET risks":  func() (int, string, error) { return send("GET", "/api/v1/risks?limit=5", "", "") },
		"201 POST risks": func() (int, string, error) { return send("POST", "/api/v1/risks", "application/json", risk) },
		"303 sign in": func() (int, string, error) {
			return send("POST", "/signin", "application/x-www-form-urlencoded", "name=editor&password="+strings.ReplaceAll(password, " ", "+"))
		},
	}
}

// TestSearches_DelayNobodyElse runs ten searches of one viewer that never end.
// Readiness, a sign-in, a read and a write of the API are answered.
func TestSearches_DelayNobodyElse(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	endlessSearches(h)
	ctx, cancel := context.WithCancel(t.Context())
	var searching sync.WaitGroup
	defer searching.Wait()
	defer cancel()
	sent := make(chan struct{}, 10)
	for i := range 10 {
		searching.Go(func() {
			sent <- struct{}{}
			_, _, _ = h.as(auth.Viewer).search(ctx, "/vendors?q="+"ae"[i%2:i%2+1]) // ends with ctx
		})
	}
	for range 10 {
		<-sent
	}
	time.Sleep(300 * time.Millisecond) // if the searches start later, the test detects less
	for about, probe := range otherWork(h) {
		want, _, _ := strings.Cut(about, " ")
		if status, body, err := probe(); err != nil || strconv.Itoa(status) != want {
			t.Errorf("%s: got status %d, %v: %.300s", about, status, err, body)
		}
	}
}

// TestSearches_Stop checks the bounds of searches: the deadline and its page, the
// searches of a user that may wait, and that a search ends when its client leaves.
func TestSearches_Stop(t *testing.T) {
	t.Parallel()
	t.Run("deadline", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t, options{searchTime: 200 * time.Millisecond})
		endlessSearches(h)
		c := h.as(auth.Viewer)
		c.expect(c.get("/vendors?q=a"), http.StatusServiceUnavailable, "The search took too long", "stopped after 200ms", "longer or rarer word")
	})
	t.Run("client leaves", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t, options{searchTime: time.Hour})
		endlessSearches(h)
		c := h.as(auth.Viewer)
		for range 3 { // more than there are connections for searches
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			if _, _, err := c.search(ctx, "/vendors?q=a"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the search ended: %v", err)
			}
			cancel()
		}
		c.expect(c.get("/risks?q=a"), http.StatusOK)
		if log := h.log.String(); strings.Contains(log, "level=ERROR") {
			t.Errorf("an error is logged for a client that left: %s", log)
		}
	})
	t.Run("many of one user", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t, options{searchTime: time.Hour, responses: limit.NewBudget(1<<30, 0)}) // room for all that wait
		endlessSearches(h)
		ctx, cancel := context.WithCancel(t.Context())
		var searching sync.WaitGroup
		defer searching.Wait()
		defer cancel()
		const all, mayWait = 20, 17
		refused := make(chan string, all)
		for range all {
			searching.Go(func() {
				if status, body, err := h.as(auth.Viewer).search(ctx, "/vendors?q=a"); err == nil {
					refused <- fmt.Sprint(status, body)
				}
			})
		}
		for range all - mayWait {
			if answer := <-refused; !strings.HasPrefix(answer, "429") || !strings.Contains(answer, "Your searches are still running") {
				t.Errorf("got %.500s", answer)
			}
		}
		c := h.as(auth.Editor) // another user has a connection of the pool
		c.expect(c.get("/risks?q=a"), http.StatusOK)
	})
}

// TestDownloads_OneAtATime checks that a second large download of the same user is
// refused, and that other users can still download.
func TestDownloads_OneAtATime(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	endlessSearches(h)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil { // it may be refused because of the other one
			_, _, _ = h.as(auth.Viewer).search(ctx, "/vendors/inventory.csv")
		}
	}()
	viewer, editor := h.as(auth.Viewer), h.as(auth.Editor)
	var second response
	for until := time.Now().Add(time.Minute); second.status != http.StatusTooManyRequests && time.Now().Before(until); {
		second = viewer.get("/risks.csv") // before the first one has begun, it is sent
	}
	viewer.expect(second, http.StatusTooManyRequests, "You have a download in progress", "You can download one file at a time")
	viewer.expect(viewer.get("/risks"), http.StatusOK)
	editor.expect(editor.get("/risks.csv"), http.StatusOK, "risk_id")
	cancel()
	<-ended
	for until := time.Now().Add(time.Minute); second.status != http.StatusOK && time.Now().Before(until); {
		second = viewer.get("/risks.csv")
	}
	viewer.expect(second, http.StatusOK, "risk_id")
}

// TestSearches_Attack runs ten searches of a large register at a time. It reports how
// long other requests wait. GOVSVC_ATTACK_RISKS sets the size of the register.
func TestSearches_Attack(t *testing.T) {
	size, _ := strconv.Atoi(os.Getenv("GOVSVC_ATTACK_RISKS"))
	if size == 0 {
		size = 5000
	}
	h := newHarness(t)
	fillRisks(h, size)
	started := time.Now()
	if err := h.store.SearchIndex.Update(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d risks indexed in %s", size, time.Since(started))
	attackSearches(h)
}

// fillRisks adds risks to the register.
func fillRisks(h *harness, size int) {
	words := strings.Fields("model bias training vendor drift scoring customer explanation approval regulator logging oversight chatbot privacy contract")
	for done := 0; done < size; done += 5000 {
		err := h.store.Write(h.t.Context(), db.Actor{Org: 1, ID: "system"}, func(tx *db.Tx) error {
			for i := done; i < min(done+5000, size); i++ {
				var text []string
				for j := range 30 {
					text = append(text, words[(i*7+j*(1+i%11))%len(words)])
				}
				_, err := tx.Put("risk", db.Record{
					"risk_id": fmt.Sprintf("R-%06d", i), "title": strings.Join(text[:5], " "), "description": strings.Join(text, " ") + fmt.Sprint(" case ", i),
					"severity": "HIGH", "likelihood": "RARE",
				})
				if err != nil {
					return err
				}
			}
			return tx.Audit(audit.Event{Action: "put", Category: audit.DataChange, Severity: audit.SeverityWrite})
		})
		if err != nil {
			h.t.Fatal(err)
		}
	}
}

// attackSearches repeats ten concurrent searches of a viewer while the probes run.
func attackSearches(h *harness) {
	ctx, cancel := context.WithCancel(h.t.Context())
	defer cancel()
	var searching sync.WaitGroup
	defer searching.Wait()
	defer cancel()
	var mutex sync.Mutex
	var took []time.Duration
	for i := range 10 {
		searching.Go(func() {
			for ctx.Err() == nil {
				started := time.Now()
				status, body, err := h.as(auth.Viewer).search(ctx, "/risks?q="+[]string{"model+nowhere", "nothing+here", "zq", "customer", "drift+case"}[i%5])
				if err == nil && status != http.StatusOK {
					h.t.Errorf("a search: %d %.300s", status, body)
				}
				mutex.Lock()
				took = append(took, time.Since(started))
				mutex.Unlock()
			}
		})
	}
	for about, probe := range otherWork(h) {
		want, _, _ := strings.Cut(about, " ")
		var times []time.Duration
		for range 5 {
			started := time.Now()
			if status, body, err := probe(); err != nil || strconv.Itoa(status) != want {
				h.t.Errorf("%s: status %d, %v: %.300s", about, status, err, body)
			}
			times = append(times, time.Since(started))
		}
		slices.Sort(times)
		h.t.Logf("%s: median %s, longest %s", about, times[2], times[4])
	}
	mutex.Lock()
	defer mutex.Unlock()
	slices.Sort(took)
	if len(took) > 0 {
		h.t.Logf("%d searches: median %s, longest %s", len(took), took[len(took)/2], took[len(took)-1])
	}
}
