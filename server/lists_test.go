package server_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/server/openapi"
)

// TestReads_Empty reads every endpoint of an organisation that has no data.
func TestReads_Empty(t *testing.T) {
	t.Parallel()
	s := serve(t)
	key := s.key(t, "read:all")
	for _, l := range lists {
		a := s.get(t, l.path, key)
		want := `{"object":"list","api_version":"2026-09-12","data":[],"has_more":false,"next_cursor":null}` + "\n"
		if diff := cmp.Diff(want, string(a.body)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", l.path, diff)
		}
	}
	for _, c := range currents {
		a := s.get(t, c.path, key)
		want := `{"object":"` + c.resource + `","api_version":"2026-09-12","data":null,"has_more":false,"next_cursor":null}` + "\n"
		if diff := cmp.Diff(want, string(a.body)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.path, diff)
		}
	}
}

// TestReads_EqualStoredRecords reads every endpoint with data, and compares each record
// with the one that was stored.
func TestReads_EqualStoredRecords(t *testing.T) {
	t.Parallel()
	s := serveFixtures(t)
	key := s.key(t, readScopes...)
	asked := map[string]bool{}
	for _, l := range lists {
		asked[l.path] = true
		want := expected(fixtures(t), l)
		got := s.get(t, l.path+"?limit=100", key).page(t)
		if got.HasMore || got.NextCursor != nil {
			t.Errorf("%s has more than %d", l.path, len(got.Data))
		}
		ids := make([]string, len(want))
		for i, record := range want {
			ids[i] = record["id"].(string)
			for member, value := range got.Data[i] {
				if given, known := record[member]; known && given != nil && member != "object" && !same(given, value) {
					t.Errorf("%s %s: %s is %v, want %v", l.path, ids[i], member, value, given)
				}
			}
		}
		if diff := cmp.Diff(ids, got.values("id")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", l.path, diff)
		}
		first := s.get(t, l.path, key).page(t)
		if want := min(25, len(ids)); len(first.Data) != want || first.HasMore != (len(ids) > 25) || (first.next() != "") != first.HasMore {
			t.Errorf("%s: by default %d rows, more %v, next %q; %d rows were loaded", l.path, len(first.Data), first.HasMore, first.next(), len(ids))
		}
	}
	for _, c := range currents {
		asked[c.path] = true
		s.ask(t, row{path: c.path, key: key, has: []string{`"object":"` + c.resource + `","api_version"`, `"data":{"object":"` + c.resource + `"`}})
	}
	for _, op := range reads(t) {
		if !asked[op.Path] && op.Path != "/audit" {
			t.Errorf("%s is not tested", op.Path)
		}
	}
}

func same(given, got any) bool { return fmt.Sprint(given) == fmt.Sprint(got) }

// expected returns the records of a list in order: newest first, signals by type.
func expected(records []db.Record, l list) []db.Record {
	var rows []db.Record
	for _, record := range records {
		if record["object"] == l.object && (l.object != "milestone" || fmt.Sprint(record["roadmap_version"]) == "2") {
			rows = append(rows, record)
		}
	}
	slices.SortFunc(rows, func(a, b db.Record) int {
		if l.object == "signal" {
			return strings.Compare(a["signal_type"].(string), b["signal_type"].(string))
		}
		return -strings.Compare(a[l.newest].(string)+a["id"].(string), b[l.newest].(string)+b["id"].(string))
	})
	return rows
}

// TestFilters_AloneAndTogether requests every value of every filter, alone and together
// with each other filter and with updated_since.
func TestFilters_AloneAndTogether(t *testing.T) {
	t.Parallel()
	s := serveFixtures(t)
	key := s.key(t, "read:all")
	for _, l := range lists {
		rows := expected(fixtures(t), l)
		for _, since := range []string{"", rows[len(rows)/2]["updated_at"].(string)} {
			for _, query := range combinations(l) {
				if since != "" {
					query.Set("updated_since", since)
				}
				var want []string
				for _, record := range rows {
					if l.fits(record, query) {
						want = append(want, record["id"].(string))
					}
				}
				query.Set("limit", "100")
				got := s.get(t, l.path+"?"+query.Encode(), key).page(t)
				if diff := cmp.Diff(want, got.values("id"), equateEmpty); diff != "" {
					t.Errorf("%s?%s (-want +got):\n%s", l.path, query.Encode(), diff)
				}
			}
		}
	}
}

var equateEmpty = cmp.FilterValues(func(a, b []string) bool { return len(a) == 0 && len(b) == 0 }, cmp.Ignore())

// combinations returns all queries with none, one or several of a list's filters.
func combinations(l list) []url.Values {
	queries := []url.Values{{}}
	for parameter, filter := range l.filter {
		for _, known := range slices.Clone(queries) {
			for _, value := range filter[1:] {
				query := url.Values{parameter: {value}}
				for name, values := range known {
					query[name] = values
				}
				queries = append(queries, query)
			}
		}
	}
	return queries
}

func (l list) fits(record db.Record, query url.Values) bool {
	for parameter, filter := range l.filter {
		if query.Has(parameter) && record[filter[0]] != query.Get(parameter) {
			return false
		}
	}
	return record["updated_at"].(string) >= query.Get("updated_since")
}

// TestFilters_CoverDocument checks that the tests cover every filter.
func TestFilters_CoverDocument(t *testing.T) {
	t.Parallel()
	for _, l := range lists {
		for _, p := range operation(t, row{path: l.path}).Parameters {
			values := l.filter[p.Name]
			common := p.Name == "cursor" || p.Name == "limit" || p.Name == "updated_since"
			if (values != nil) == common || p.Enum != nil && !cmp.Equal(p.Enum, values[1:]) {
				t.Errorf("%s: parameter %s takes %v, the test asks for %v", l.path, p.Name, p.Enum, values)
			}
		}
	}
}

// TestUpdatedSince_Bounds checks each format of an instant with rows just before and
// after it.
func TestUpdatedSince_Bounds(t *testing.T) {
	t.Parallel()
	s := serve(t)
	midnight := time.Date(2026, 9, 10, 0, 0, 0, 0, time.UTC)
	for _, l := range lists {
		if l.object == "milestone" {
			load(t, s.store, "default", []db.Record{sample("roadmap", "R", 1, midnight)})
		}
		load(t, s.store, "default", []db.Record{
			sample(l.object, "before", 1, midnight.Add(-time.Millisecond)),
			sample(l.object, "at", 2, midnight),
			sample(l.object, "after", 3, midnight.Add(time.Millisecond)),
		})
	}
	key := s.key(t, "read:all")
	for _, l := range lists {
		for since, want := range map[string]int{
			"2026-09-09":                     3,
			"2026-09-10":                     2,
			"2026-09-11":                     0,
			"2026-09-10T00:00:00Z":           2,
			"2026-09-10T00:00:00.001Z":       1,
			"2026-09-10T00:00:00.0010Z":      1,
			"2026-09-10T00:00:00.002Z":       0,
			"2026-09-09T23:59:59.999Z":       3,
			"2026-09-10T02:00:00+02:00":      2,
			"2026-09-09T18:30:00-05:30":      2,
			"2026-09-10T14:00:00.001+14:00":  1,
			"2026-09-09T23:59:59+00:00":      3,
			"2026-09-10T00:00:00.001-00:01":  0,
			"0001-01-01":                     3,
			"9999-12-31":                     0,
			"9999-12-31T23:59:59.999Z":       0,
			"9999-12-31T23:59:59.9995Z":      0,
			"2026-09-09T23:59:59.999000000Z": 3,
		} {
			got := s.get(t, l.path+"?updated_since="+url.QueryEscape(since), key).page(t)
			if len(got.Data) != want {
				t.Errorf("%s?updated_since=%s: %d rows, want %d", l.path, since, len(got.Data), want)
			}
		}
	}
}

// TestQuery_Refuses sends invalid queries to every list and every current object. The
// error names the parameter.
func TestQuery_Refuses(t *testing.T) {
	t.Parallel()
	s := serve(t)
	load(t, s.store, "default", sampleOfEachType("x", start))
	key := s.key(t, readScopes...)
	for _, op := range reads(t) {
		for query, param := range refused(op) {
			s.ask(t, row{
				path: op.Path + "?" + query, key: key, status: 400, code: "invalid_parameter", param: param,
				not: []string{"data", "SELECT", "goroutine"},
			})
		}
	}
}

// refused maps each invalid query of an operation to the parameter that the error names.
func refused(op *openapi.Operation) map[string]string {
	queries := map[string]string{
		"nonsense=1": "nonsense", "Limit=5": "Limit", "page=2": "page",
		// invalid escapes, and a semicolon, which is no longer a separator
		"limit=%": "", "%zz=1": "", "limit=5;status=x": "", "a=%f": "",
	}
	for _, p := range op.Parameters {
		queries[p.Name+"="] = p.Name
		queries[p.Name] = p.Name
		if p.Name == "limit" {
			most := fmt.Sprint(p.Maximum + 1)
			for _, value := range []string{"0", "-1", most, "1e1", "5.0", "05", "+5", "%2B5", "%205", "5%20", "five", "0x10", "null", "99999999999999999999", "٣"} {
				queries["limit="+value] = "limit"
			}
			queries["limit=5&limit=5"] = "limit"
			continue
		}
		queries[p.Name+"=2026-09-10&"+p.Name+"=2026-09-10"] = p.Name
		switch {
		case p.Enum != nil:
			for _, value := range []string{"nonsense", strings.ToLower(p.Enum[0]) + "X", swapCase(p.Enum[0]), "%20" + p.Enum[0], p.Enum[0] + "%00", p.Enum[0] + "," + p.Enum[1]} {
				queries[p.Name+"="+value] = p.Name
			}
		case p.Format == "instant":
			for _, value := range []string{
				"yesterday", "2026-13-01", "2026-02-30", "2026-9-1", "20260910", "2026-09-10T10:00", "2026-09-10T10:00:00",
				"2026-09-10%2010:00:00Z", "2026-09-10T25:00:00Z", "1757462400", "2026-09-10T10:00:00+02:00", // an unescaped + is a space
				"2026-09-10T10:00:00%2B25:00", "2026-09-10T10:00:00,5Z", "0000-01-01", "10000-01-01", "2026-W37",
			} {
				queries[p.Name+"="+value] = p.Name
			}
		}
	}
	return queries
}

func swapCase(s string) string {
	if upper := strings.ToUpper(s); upper != s {
		return upper
	}
	return strings.ToLower(s)
}

// TestFilters_HostileValues sends filter values that match nothing or that look like an
// attack.
func TestFilters_HostileValues(t *testing.T) {
	t.Parallel()
	s := serve(t)
	load(t, s.store, "default", sampleOfEachType("x", start))
	key := s.key(t, "read:all")
	for _, path := range []string{"/signals?type=", "/compliance/obligations?regime_id=", "/kpis?code="} {
		for _, value := range []string{"nothing", "'; DROP TABLE risks; --", "%", "_", "*", "x\x00", `"`, "☂", strings.Repeat("k", 200)} {
			a := s.send(t, row{path: path + url.QueryEscape(value), key: key})
			if value == "x\x00" && a.status == 400 {
				continue
			}
			if a.status != 200 || len(a.page(t).Data) != 0 {
				t.Errorf("%s%q: %d, %.200s", path, value, a.status, a.body)
			}
		}
		param := strings.TrimSuffix(path[strings.Index(path, "?")+1:], "=")
		for _, value := range []string{strings.Repeat("k", 201), " x", "x ", "\t", "\xff\xfe"} {
			s.ask(t, row{path: path + url.QueryEscape(value), key: key, status: 400, code: "invalid_parameter", param: param})
		}
	}
}
