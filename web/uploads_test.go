package web_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"govsvc/db/auth"
)

// startedUpload is an upload in progress. The server has accepted it and waits for
// its files.
type startedUpload struct {
	answer chan response
	goOn   func()
}

// startUpload starts an upload and returns when the server reads its body.
func (c *client) startUpload(path string) startedUpload {
	c.t.Helper()
	rest, body := io.Pipe()
	wanted := make(chan struct{})
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.url+path, &countedReader{Reader: rest, wanted: wanted})
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	request.Header.Set("Expect", "100-continue") // the server sends 100 Continue when it reads the body
	request.Header.Set("Cookie", "govsvc_session="+c.cookie("govsvc_session"))
	transport := &http.Transport{ExpectContinueTimeout: time.Hour}
	held := startedUpload{answer: make(chan response, 1), goOn: sync.OnceFunc(func() {
		_, _ = body.Write([]byte("--x\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nHeld\r\n--x--\r\n")) // the server may have closed the connection
		_ = body.Close()
	})}
	var all sync.WaitGroup
	all.Go(func() {
		resp, err := transport.RoundTrip(request)
		if err != nil {
			held.answer <- response{body: err.Error()}
			return
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		held.answer <- response{resp.StatusCode, resp.Header, string(text)}
	})
	c.t.Cleanup(func() { _ = rest.Close(); all.Wait(); transport.CloseIdleConnections() })
	select {
	case <-wanted:
	case r := <-held.answer:
		held.answer <- r
	}
	return held
}

// countedReader closes wanted at the first read.
type countedReader struct {
	io.Reader
	once   sync.Once
	wanted chan struct{}
}

func (a *countedReader) Read(p []byte) (int, error) {
	a.once.Do(func() { close(a.wanted) })
	return a.Reader.Read(p)
}

// TestUploads_AtOnce checks that a user can run only a few uploads at a time. The user
// can still save records, and other users can upload.
func TestUploads_AtOnce(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: usersOnly})
	c := h.as(auth.Editor)
	held := []startedUpload{c.startUpload("/import"), c.startUpload("/evidence"), c.startUpload("/import")}
	c.expect(c.upload("/import", oneFile("risks.ndjson", goodRisks)), 429, "You are already uploading other files")
	c.expect(c.post("/risks", "title", "Meanwhile", "description", "What may happen, and why it would.", "severity", "HIGH", "likelihood", "POSSIBLE"), 303)
	h.as(auth.Admin).expect(h.as(auth.Admin).upload("/import", oneFile("risks.ndjson", goodRisks)), 303)
	for i, upload := range held {
		upload.goOn()
		if r := <-upload.answer; r.status != 422 && r.status != 303 {
			t.Errorf("%d: %d\n%.1000s", i, r.status, r.body)
		}
	}
	c.expect(c.upload("/import", oneFile("risks.ndjson", goodRisks)), 303)
}

// TestUploads_EndWithSession checks that an upload in progress has no effect if its user
// loses the session or the permission.
func TestUploads_EndWithSession(t *testing.T) {
	t.Parallel()
	for about, row := range map[string]struct {
		change func(*harness, auth.User) error
		status int
	}{
		"removed": {func(h *harness, u auth.User) error { return h.auth.Users.Remove(h.t.Context(), h.by(), u.ID) }, 303},
		"signed out": {func(h *harness, u auth.User) error {
			return h.auth.Sessions.SignOutEverywhere(h.t.Context(), h.by(), u.ID)
		}, 303},
		"another one": {func(h *harness, u auth.User) error {
			return h.auth.Users.SetPassword(h.t.Context(), h.by(), u.ID, "another horse entirely")
		}, 303},
		"demoted": {func(h *harness, u auth.User) error {
			_, err := h.auth.Memberships.SetRole(h.t.Context(), h.by(), u.ID, auth.Viewer)
			return err
		}, 403},
		"nothing": {func(*harness, auth.User) error { return nil }, 303},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, options{data: usersOnly})
			upload := h.as(auth.Editor).startUpload("/evidence")
			if err := row.change(h, h.user("editor")); err != nil {
				t.Fatal(err)
			}
			upload.goOn()
			r := <-upload.answer
			filed := strings.HasPrefix(r.header.Get("Location"), "/evidence/")
			if r.status != row.status || filed != (about == "nothing") {
				t.Errorf("%d to %q:\n%.1000s", r.status, r.header.Get("Location"), r.body)
			}
			packs, err := h.store.Evidence.List(t.Context(), h.by().Org)
			if err != nil || len(packs) > 0 != filed {
				t.Errorf("got %d packs, %v", len(packs), err)
			}
		})
	}
}

// TestUploads_LimitTexts checks that the text fields of an upload have the size limit
// of any form, independent of the limit for files.
func TestUploads_LimitTexts(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: usersOnly})
	c := h.as(auth.Editor)
	many := func(n int, name, value string) (pairs []string) {
		for i := range n {
			pairs = append(pairs, name+strconv.Itoa(i), value)
		}
		return pairs
	}
	for _, path := range []string{"/import", "/evidence"} {
		for about, pairs := range map[string][]string{
			"one long text":   {"title", strings.Repeat("x", 64<<10)},
			"many long texts": many(3, "t", strings.Repeat("x", 30<<10)),
			"many parts":      many(400, "t", ""),
			"a long name":     {strings.Repeat("n", 70<<10), "x"},
		} {
			if r := c.upload(path, nil, pairs...); r.status != 413 {
				t.Errorf("%s, %s: %d\n%.1000s", path, about, r.status, r.body)
			}
		}
		c.expect(c.upload(path, nil, many(20, "t", strings.Repeat("x", 2000))...), 422)
	}
}

// TestImport_RefusesLongOnes checks that an import is refused if it would block other
// writes for long.
func TestImport_RefusesLongOnes(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: usersOnly})
	c := h.as(auth.Editor)
	checked := c.upload("/import", oneFile("risks.ndjson", goodRisks)).header.Get("Location")
	h.site.SetImportTimeout(0)
	c.expect(c.upload("/import", oneFile("risks.ndjson", goodRisks)), 413, "This file takes too long")
	c.expect(c.post(checked), 413, "nothing of it was written")
	if risks := string(h.export("risk")); risks != "" {
		t.Errorf("the refused import changed the records:\n%s", risks)
	}
	if log := h.log.String(); strings.Contains(log, "level=ERROR") {
		t.Error(log)
	}
}
