package server_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/server"
)

// FuzzHeaders sends any headers with a read, a write and an MCP message. The response
// has the service's format and is never a 500. Only requests with the key have access.
func FuzzHeaders(f *testing.F) {
	s := serve(f, func(c *server.Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} })
	load(f, s.store, db.DefaultOrganisation, sampleOfEachType("OWN", start))
	key := s.key(f, "read:all", "write:risks")
	for _, seed := range []string{
		"Authorization: Bearer KEY\nAccept-Encoding: gzip;q=0.5, *;q=0\nIf-None-Match: W/\"x\", *",
		"authorization: bearer  KEY \nIdempotency-Key: 1\nContent-Type: application/json; charset=utf-8",
		"Authorization: Bearer KEY\nAuthorization: Bearer KEY\nX-Api-Key: KEY",
		"X-Api-Key: KEY\nContent-Type: text/plain\nIdempotency-Key: " + strings.Repeat("x", 300),
		"Authorization: Bearer gds_live_x\nX-Forwarded-For: 198.51.100.7, [2001:db8::1]:80, 192.0.2.9",
		"Authorization: Bearer KEY\nOrigin: null\nMCP-Protocol-Version: 1\nService-Version: 2026-09-12\nService-Version: 2026-09-12",
		"Authorization: Bearer KEY\nOrigin: https://gov.example:443\nIdempotency-Key: é\nContent-Type: application/json;\"",
		"Authorization: Basic KEY\nX-Forwarded-For: " + strings.Repeat(",", 200) + "\nX-Forwarded-Proto: https",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		header := http.Header{}
		for line := range strings.SplitSeq(strings.ReplaceAll(text, "KEY", key), "\n") {
			name, value, _ := strings.Cut(line, ":")
			header.Add(strings.TrimSpace(name), strings.TrimSpace(value)) // as net/http passes them on
		}
		for _, asked := range []struct{ method, path, body string }{
			{"GET", "/risks?limit=1", ""}, {"POST", "/risks", goodRisk}, {"POST", mcpPath, `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
		} {
			s.clock.Advance(time.Minute) // so that no limit is reached
			r := httptest.NewRequestWithContext(t.Context(), asked.method, server.Base+asked.path, strings.NewReader(asked.body))
			r.Header = header.Clone()
			w := httptest.NewRecorder()
			s.server.ServeHTTP(w, r)
			a := answer{status: w.Code, header: http.Header{}, body: w.Body.Bytes()}
			for name, values := range w.Header() {
				a.header[http.CanonicalHeaderKey(name)] = values // the form that a client receives
			}
			faults := a.headerFaults()
			if code, _ := a.fault(); a.status >= 500 || a.status >= 400 && code == "" && asked.path != mcpPath {
				faults = append(faults, "no answer of the service's form")
			}
			if (a.status != 401) != presents(header, key) && a.status != 403 {
				faults = append(faults, "another verdict on the credential")
			}
			if len(faults) > 0 {
				t.Errorf("%s %s with %q: %d %v %v: %.300s", asked.method, asked.path, text, a.status, faults, a.header, a.body)
			}
		}
	})
}

// presents reports whether a request contains the key: as the only bearer token, or as
// x-api-key without a bearer token.
func presents(header http.Header, key string) bool {
	bearer := ""
	if all := header["Authorization"]; len(all) == 1 && len(all[0]) > 7 && strings.EqualFold(all[0][:7], "bearer ") {
		bearer = strings.TrimSpace(all[0][7:])
	}
	if bearer == "" {
		bearer = header.Get("X-Api-Key")
	}
	return bearer == key
}
