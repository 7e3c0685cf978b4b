package server_test

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"govsvc/db"
)

// TestIfNoneMatch_NotModified sends If-None-Match in every form.
func TestIfNoneMatch_NotModified(t *testing.T) {
	t.Parallel()
	s := serveFixtures(t)
	key := s.key(t, "read:all")
	for _, path := range []string{"/risks", "/roadmap", "/scores?limit=1", "/", "/openapi.json"} {
		plain := s.get(t, path, key).header.Get("Etag")
		zipped := s.ask(t, row{path: path, key: key, header: header("Accept-Encoding", "gzip")}).header.Get("Etag")
		if !strings.HasPrefix(plain, `"`) || !strings.HasSuffix(plain, `"`) || len(plain) < 10 {
			t.Errorf("%s: the ETag %s is not a strong one", path, plain)
		}
		for tags, status := range map[string]int{
			plain: 304, "W/" + plain: 304, zipped: 304, "*": 304,
			`"other", ` + plain: 304, `"other" ,W/"more",  ` + plain + `, "last"`: 304, plain + "," + zipped: 304,
			`"other"`: 200, "W/\"other\"": 200, strings.Trim(plain, `"`): 200, "": 200, "nonsense": 200,
			strings.ToUpper(plain) + "x": 200, `"` + plain + `"`: 200, `""`: 200,
		} {
			for _, method := range []string{"GET", "HEAD"} {
				a := s.ask(t, row{name: method + " " + path + " " + tags, method: method, path: path, key: key, header: header("If-None-Match", tags), status: status})
				if a.header.Get("Etag") != plain {
					t.Errorf("%s %s: ETag %s, want %s", path, tags, a.header.Get("Etag"), plain)
				}
				if status == 304 && (a.header.Get("Content-Type") != "" || a.header.Get("Vary") == "" || a.header.Get("Cache-Control") == "") {
					t.Errorf("%s: headers of a 304: %v", path, a.header)
				}
			}
		}
	}
}

// TestETag_FollowsData checks that every change of the data gives another ETag, and that
// an unchanged page keeps its ETag.
func TestETag_FollowsData(t *testing.T) {
	t.Parallel()
	s := serve(t)
	key := s.key(t, "read:risks")
	tag := func() string { return s.get(t, "/risks", key).header.Get("Etag") }
	empty := tag()
	load(t, s.store, db.DefaultOrganisation, []db.Record{sample("risk", "x", 1, start)})
	one := tag()
	if again := tag(); empty == one || one != again {
		t.Errorf("ETags %s, %s, %s", empty, one, again)
	}
	closed := sample("risk", "x", 1, start)
	closed["status"] = "Closed"
	load(t, s.store, db.DefaultOrganisation, []db.Record{closed})
	s.ask(t, row{path: "/risks", key: key, header: header("If-None-Match", one), has: []string{`"Closed"`}})
	refusal := s.ask(t, row{path: "/risks?limit=0", key: key, header: header("If-None-Match", "*"), status: 400, code: "invalid_parameter", param: "limit"})
	if refusal.header.Get("Etag") != "" {
		t.Error("a refusal has an ETag")
	}
}

// TestCompression_Negotiates negotiates the encoding of a long and of a short response.
func TestCompression_Negotiates(t *testing.T) {
	t.Parallel()
	s := serveFixtures(t)
	key := s.key(t, "read:all")
	long, short := s.get(t, "/risks", key), s.get(t, "/risks?limit=1", key)
	for accepts, zipped := range map[string]bool{
		"gzip": true, "GZIP": true, "gzip;q=1": true, "gzip; q=0.001": true, "br, gzip;q=0.5": true, "*": true, "*;q=0.1": true,
		"identity;q=0, gzip": true, "deflate,gzip": true, "x-gzip": true, " gzip ": true, "br;q=0, *": true, "gzip;Q=0.5": true,
		"": false, "identity": false, "br": false, "gzip;q=0": false, "gzip;q=0.0": false, "gzip;q=0.000": false, "*;q=0": false,
		"gzip;q=0, *": false, "*, gzip;q=0": false, "gzipped": false, "gzip;q=x": false, "gzip; Q=0": false,
	} {
		for _, want := range []answer{long, short} {
			path, zipped := "/risks", zipped
			if len(want.body) == len(short.body) {
				path, zipped = "/risks?limit=1", false
			}
			r := row{name: path + " with " + accepts, path: path, key: key, header: header("Accept-Encoding", accepts)}
			a := s.ask(t, r)
			if got := a.header.Get("Content-Encoding"); (got == "gzip") != zipped || got == "" == zipped {
				t.Errorf("%q: %s is sent as %q", accepts, path, got)
			}
			if !bytes.Equal(a.body, want.body) || a.header.Get("Content-Length") != strconv.Itoa(len(a.sent)) {
				t.Errorf("%q: %s is another body of %d bytes", accepts, path, len(a.body))
			}
			if same := a.header.Get("Etag") == want.header.Get("Etag"); same == zipped {
				t.Errorf("%q: one ETag for two encodings", accepts)
			}
			if !strings.Contains(a.header.Get("Vary"), "Accept-Encoding") {
				t.Errorf("%q: Vary is %q", accepts, a.header.Get("Vary"))
			}
			r.method = "HEAD"
			h := s.ask(t, r)
			for _, name := range []string{"Content-Type", "Content-Length", "Content-Encoding", "Etag"} {
				if h.header.Get(name) != a.header.Get(name) {
					t.Errorf("%q: %s of HEAD %s is %q, of GET %q", accepts, name, path, h.header.Get(name), a.header.Get(name))
				}
			}
		}
	}
}
