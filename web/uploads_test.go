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
	"govsvc/server"
	"govsvc/web"
)

// heldUpload is an upload that stands still: the server has let it in and waits for
// its files.
type heldUpload struct {
	answer chan reply
	goOn   func()
}

// hold begins an upload and returns when the server wants its body.
func (g *guest) hold(path string) heldUpload {
	g.t.Helper()
	rest, body := io.Pipe()
	wanted := make(chan struct{})
	request, err := http.NewRequestWithContext(g.t.Context(), http.MethodPost, g.url+path, &asked{Reader: rest, wanted: wanted})
	if err != nil {
		g.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	request.Header.Set("Expect", "100-continue") // which the server answers with when it reads
	request.Header.Set("Cookie", "govsvc_session="+g.cookie("govsvc_session"))
	transport := &http.Transport{ExpectContinueTimeout: time.Hour}
	held := heldUpload{answer: make(chan reply, 1), goOn: sync.OnceFunc(func() {
		_, _ = body.Write([]byte("--x\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nHeld\r\n--x--\r\n")) // the server may have closed
		_ = body.Close()
	})}
	var all sync.WaitGroup
	all.Go(func() {
		response, err := transport.RoundTrip(request)
		if err != nil {
			held.answer <- reply{body: err.Error()}
			return
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		held.answer <- reply{response.StatusCode, response.Header, string(text)}
	})
	g.t.Cleanup(func() { _ = rest.Close(); all.Wait(); transport.CloseIdleConnections() })
	select {
	case <-wanted:
	case r := <-held.answer:
		held.answer <- r
	}
	return held
}

// asked tells when somebody wants to read.
type asked struct {
	io.Reader
	once   sync.Once
	wanted chan struct{}
}

func (a *asked) Read(p []byte) (int, error) {
	a.once.Do(func() { close(a.wanted) })
	return a.Reader.Read(p)
}

// TestUploadsAtOnce: a user has a few uploads at a time, and records are saved
// meanwhile; others have their own.
func TestUploadsAtOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t, setting{data: noRecords})
	g := s.as(auth.Editor)
	held := []heldUpload{g.hold("/import"), g.hold("/evidence"), g.hold("/import")}
	g.wants(g.send("/import", file("risks.ndjson", goodRisks)), 429, "You are already uploading other files")
	g.wants(g.post("/risks", "title", "Meanwhile", "description", "What may happen, and why it would.", "severity", "HIGH", "likelihood", "POSSIBLE"), 303)
	s.as(auth.Admin).wants(s.as(auth.Admin).send("/import", file("risks.ndjson", goodRisks)), 303)
	for i, upload := range held {
		upload.goOn()
		if r := <-upload.answer; r.status != 422 && r.status != 303 {
			t.Errorf("%d: %d\n%.1000s", i, r.status, r.body)
		}
	}
	g.wants(g.send("/import", file("risks.ndjson", goodRisks)), 303)
}

// TestUploadOutlivesNobody: an upload that was begun counts for nothing once
// its user may no longer make it.
func TestUploadOutlivesNobody(t *testing.T) {
	t.Parallel()
	for about, row := range map[string]struct {
		change func(*scene, auth.User) error
		status int
	}{
		"removed": {func(s *scene, u auth.User) error { return s.auth.Users.Remove(s.t.Context(), s.by(), u.ID) }, 303},
		"signed out": {func(s *scene, u auth.User) error {
			return s.auth.Sessions.SignOutEverywhere(s.t.Context(), s.by(), u.ID)
		}, 303},
		"another one": {func(s *scene, u auth.User) error {
			return s.auth.Users.SetPassword(s.t.Context(), s.by(), u.ID, "another horse entirely")
		}, 303},
		"demoted": {func(s *scene, u auth.User) error {
			_, err := s.auth.Memberships.SetRole(s.t.Context(), s.by(), u.ID, auth.Viewer)
			return err
		}, 403},
		"nothing": {func(*scene, auth.User) error { return nil }, 303},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, setting{data: noRecords})
			upload := s.as(auth.Editor).hold("/evidence")
			if err := row.change(s, s.user("editor")); err != nil {
				t.Fatal(err)
			}
			upload.goOn()
			r := <-upload.answer
			filed := strings.HasPrefix(r.header.Get("Location"), "/evidence/")
			if r.status != row.status || filed != (about == "nothing") {
				t.Errorf("%d to %q:\n%.1000s", r.status, r.header.Get("Location"), r.body)
			}
			packs, err := s.store.Evidence.List(t.Context(), s.by().Org)
			if err != nil || len(packs) > 0 != filed {
				t.Errorf("%d packs, %v", len(packs), err)
			}
		})
	}
}

// TestUploadTexts: what is no file is bounded like any form, whatever the files
// may weigh.
func TestUploadTexts(t *testing.T) {
	t.Parallel()
	s := newScene(t, setting{data: noRecords})
	g := s.as(auth.Editor)
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
			if r := g.send(path, nil, pairs...); r.status != 413 {
				t.Errorf("%s, %s: %d\n%.1000s", path, about, r.status, r.body)
			}
		}
		g.wants(g.send(path, nil, many(20, "t", strings.Repeat("x", 2000))...), 422)
	}
}

// TestLongImport: an import may not hold others up for long.
func TestLongImport(t *testing.T) {
	t.Parallel()
	var site *web.Site
	s := newScene(t, setting{data: noRecords, wrap: func(made *web.Site) server.Pages { site = made; return made }})
	g := s.as(auth.Editor)
	checked := g.send("/import", file("risks.ndjson", goodRisks)).header.Get("Location")
	site.SetImportTimeout(0)
	g.wants(g.send("/import", file("risks.ndjson", goodRisks)), 413, "This file takes too long")
	g.wants(g.post(checked), 413, "nothing of it was written")
	if risks := string(s.export("risk")); risks != "" {
		t.Errorf("written all the same:\n%s", risks)
	}
	if log := s.log.String(); strings.Contains(log, "level=ERROR") {
		t.Error(log)
	}
}
