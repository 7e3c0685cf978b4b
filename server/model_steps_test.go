package server_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"govsvc/db"
)

// step is one operation on the service and on the model. It is plain data and does not
// depend on its position in a sequence. A sequence therefore remains valid when steps
// are removed from it. A step identifies a record by its number among the known records,
// and a cursor by its age.
type step struct {
	Do     string            `json:",omitempty"` // an operation, "tool NAME", "message", "import OBJECT", "clock", "entitlements", "revoke", "restart" or "check"
	Who    int               `json:",omitempty"` // the number of the key, which can be unknown or mistyped
	Query  map[string]string `json:",omitempty"` // "@n" is the n-th last cursor of the list, "^n" one of another organisation, "!n" one of any list
	Pick   int               `json:",omitempty"` // the number of the record; a negative number is a record that the key can't access
	Body   map[string]any    `json:",omitempty"` // "@delivered" and the like are receivers, "@kpi n" is a key result
	Raw    string            `json:",omitempty"` // an invalid body
	Pad    int               `json:",omitempty"` // the size in bytes to which white space fills the body
	Once   string            `json:",omitempty"` // the Idempotency-Key
	Flaw   string            `json:",omitempty"` // the invalid header: "version" or "media"
	Legacy bool              `json:",omitempty"` // sends the key as x-api-key
	Tag    bool              `json:",omitempty"` // sends the ETag of the last response
	Org    string            `json:",omitempty"` // the organisation that the operator changes
	N      int64             `json:",omitempty"` // a number, for example of the milliseconds of "clock"
}

// The keys of the model, by number.
const (
	mistyped   = -2
	anonymous  = -1
	ofDefault  = 0
	readsAll   = 1
	narrow     = 2
	ofAcme     = 3
	ofSandbox  = 4
	sandboxed  = 5
	slow       = 6
	shortLived = 7
)

// generator makes steps.
type generator struct {
	*rand.Rand
	writes []step // recent writes, which are repeated
}

func (m *generator) one(of ...string) string { return of[m.IntN(len(of))] }
func (m *generator) word(list string) string { return m.one(strings.Fields(list)...) }

// in returns true once in n times.
func (m *generator) in(n int) bool { return m.IntN(n) == 0 }

func (m *generator) next() step {
	switch n := m.IntN(1000); {
	case n < 380:
		return m.read()
	case n < 680:
		return m.write()
	case n < 760 && len(m.writes) > 0:
		return m.writes[m.IntN(len(m.writes))]
	case n < 840:
		return m.tool()
	case n < 860:
		return step{Do: "message", Who: m.who(), N: int64(m.IntN(len(rpcMessages)))}
	case n < 930:
		return m.put()
	case n < 980:
		return step{Do: "clock", N: m.duration()}
	case n < 990:
		return m.terms()
	case n < 991:
		return step{Do: "revoke", Who: m.IntN(2)*(shortLived-narrow) + narrow}
	case n < 992 && m.in(2):
		return step{Do: "restart"}
	case n < 995:
		return step{Do: "check", N: int64(m.IntN(100))}
	}
	return step{Do: m.one("GET /", "GET /openapi.json"), Who: m.who()}
}

// duration returns a random duration in milliseconds, mostly below 20 seconds and
// sometimes hours.
func (m *generator) duration() int64 {
	switch m.IntN(10) {
	case 0:
		return int64(m.IntN(int(26 * time.Hour / time.Millisecond)))
	case 1, 2:
		return int64(m.IntN(int(time.Hour / time.Millisecond)))
	}
	return int64(m.IntN(20_000))
}

func (m *generator) who() int {
	switch n := m.IntN(100); {
	case n < 2:
		return -1 - n
	case n < 50:
		return ofDefault
	case n < 65:
		return ofAcme
	case n < 78:
		return ofSandbox
	case n < 85:
		return slow
	}
	return 1 + m.IntN(shortLived)
}

// read returns a step that reads a list, a current object or the audit log.
func (m *generator) read() step {
	s := step{Who: m.who(), Query: map[string]string{}, Legacy: m.in(10), Tag: m.in(3)}
	if m.in(40) {
		s.Flaw = "version"
	}
	switch m.IntN(8) {
	case 0:
		s.Do = "GET " + m.one(slices.Sorted(maps.Keys(currentOf))...)
	case 1:
		s.Do = "GET /audit"
		m.optional(s.Query, 3, "limit", fmt.Sprint(1+m.IntN(1000)), "0", "1001", "x")
		m.optional(s.Query, 3, "format", m.one("json", "ndjson"), "xml", "NDJSON")
		m.optional(s.Query, 4, "since", m.instant(), "yesterday")
		m.optional(s.Query, 4, "until", m.instant(), "")
		m.optional(s.Query, 2, "cursor", m.cursor(), "bogus")
	default:
		path := m.one(slices.Sorted(maps.Keys(catalogues))...)
		s.Do = "GET " + path
		m.filter(s.Query, catalogues[path])
	}
	if m.in(40) {
		s.Query = map[string]string{"page": "2"}
	}
	return s
}

// filter fills a query for a list.
func (m *generator) filter(query map[string]string, c catalogue) {
	for _, name := range slices.Sorted(maps.Keys(c.filters)) {
		values := c.values[name]
		if values == "" {
			values = map[string]string{"type": "drift bias none", "code": "KR-1 KR-2 none", "regime_id": "gdpr eu-ai-act none"}[name]
			m.optional(query, 3, name, m.word(values))
			continue
		}
		m.optional(query, 4, name, m.word(values), "nonsense", strings.ToUpper(values[:3])+"x", "")
	}
	m.optional(query, 2, "limit", fmt.Sprint(1+m.IntN(m.IntN(100)+1)), "0", "101", "-1", "1.5", "x", "")
	m.optional(query, 3, "cursor", m.cursor(), "bogus", "")
	if c.since {
		m.optional(query, 4, "updated_since", m.instant(), "yesterday", "2026-02-30", "")
	}
}

// optional sets a parameter in one of n cases, rarely to an invalid value.
func (m *generator) optional(query map[string]string, n int, name, value string, bad ...string) {
	if !m.in(n) {
		return
	}
	query[name] = value
	if len(bad) > 0 && m.in(25) {
		query[name] = m.one(bad...)
	}
}

func (m *generator) cursor() string {
	if m.in(10) {
		return fmt.Sprint(m.one("!", "^"), m.IntN(50))
	}
	return fmt.Sprint("@", m.IntN(8))
}

// instant returns a random time near the start of the run, sometimes only a date.
func (m *generator) instant() string {
	at := start.Add(time.Duration(m.IntN(200)-20) * time.Hour)
	switch m.IntN(3) {
	case 0:
		return at.Format(time.DateOnly)
	case 1:
		return at.In(time.FixedZone("", 3600)).Format(time.RFC3339)
	}
	return stamp(at.Add(time.Duration(m.IntN(1000)) * time.Millisecond))
}

func (m *generator) tool() step {
	s := step{Do: "tool " + m.one(slices.Sorted(maps.Keys(toolReads))...), Who: m.who(), Query: map[string]string{}, Legacy: m.in(10)}
	path := modelRequest{operation: toolReads[strings.TrimPrefix(s.Do, "tool ")]}.path()
	if c, isList := catalogues[path]; isList {
		m.filter(s.Query, c)
	}
	if m.in(30) {
		s.Query = map[string]string{"page": "2"}
	}
	return s
}

func (m *generator) terms() step {
	plan, subscription := db.Enterprise, db.Active
	if m.in(3) {
		plan = []db.Plan{db.Starter, db.Professional, db.Business}[m.IntN(3)]
	}
	if m.in(8) {
		subscription = []db.Subscription{db.PastDue, db.Canceled}[m.IntN(2)]
	}
	return step{Do: "entitlements", Org: m.one(db.DefaultOrganisation, "acme"), Body: map[string]any{"plan": string(plan), "subscription": string(subscription)}}
}
