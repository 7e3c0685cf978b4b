package db_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/db/backup"
	"govsvc/db/dashboard"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// syllables are of several scripts, with signs that the query language of the
// index and LIKE treat specially.
var syllables = []string{
	"mo", "del", "Bias", "DRIFT", "a", "e", " ", " ", "Über", "über", "ÜBER", "straße", "Ärzte", "риск", "Риск", "Ω", "ω", "風險", "模型", "風", "لغة",
	"%", "_", `\`, `"`, "'", "*", "AND", "OR", "NEAR(", "-", "^", ":", "İ", "ı", "K", "😀", "e\u0301", "\u200b",
}

func randomText(random *rand.Rand, most int) string {
	var text strings.Builder
	for range 1 + random.IntN(most) {
		text.WriteString(syllables[random.IntN(len(syllables))])
	}
	return text.String()
}

// matches returns the rule of a search, without an index: one of the texts has the word
// in one of its spellings, and the case of ASCII letters does not count.
func matches(texts []string, word string) bool {
	forms := []string{word}
	if strings.ContainsFunc(word, func(r rune) bool { return r > unicode.MaxASCII }) {
		lower := []rune(strings.ToLower(word))
		forms = append(forms, string(lower), strings.ToUpper(word), string(unicode.ToUpper(lower[0]))+string(lower[1:]))
	}
	fold := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r <= unicode.MaxASCII {
				return unicode.ToLower(r)
			}
			return r
		}, s)
	}
	return slices.ContainsFunc(forms, func(form string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(fold(text), fold(form)) })
	})
}

// register has the texts that two organisations should find.
type register struct {
	t      *testing.T
	random *rand.Rand
	path   string
	store  *db.DB
	orgs   []db.Organisation
	texts  []map[string][]string // by organisation: risk_id → texts
}

// TestSearch_EqualsScan compares searches with a scan while records are added
// and changed, and the index is filled, emptied and opened again.
func TestSearch_EqualsScan(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(15, 4))
	path := testdb.EmptyFile(t)
	store := open(t, path)
	other, err := store.Orgs.Create(t.Context(), testdb.Operator(t, store), "other", db.Enterprise)
	if err != nil {
		t.Fatal(err)
	}
	r := &register{
		t: t, random: random, path: path, store: store, orgs: []db.Organisation{testdb.DefaultOrg(t, store), other},
		texts: []map[string][]string{{}, {}},
	}
	for range 40 {
		switch r.random.IntN(8) {
		case 0:
			must(t, r.store.SearchIndex.Update(t.Context()))
		case 1:
			r.store = open(t, path) // another process
		case 2:
			must(t, r.store.SearchIndex.Rebuild(t.Context()))
		default:
			r.write(1 + r.random.IntN(12))
		}
		r.compare()
	}
	must(t, r.store.SearchIndex.Update(t.Context()))
	r.compare()
	if faults, err := r.store.SearchIndex.Faults(t.Context()); len(faults) > 0 || err != nil {
		t.Error(faults, err)
	}
	if faults, err := backup.New(r.store).Faults(t.Context(), true); len(faults) > 0 || err != nil {
		t.Error(faults, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write puts risks, new and known ones.
func (r *register) write(n int) {
	r.t.Helper()
	at := r.random.IntN(2)
	err := r.store.Write(r.t.Context(), db.Actor{Org: r.orgs[at].Org, ID: "system"}, func(tx *db.Tx) error {
		for range n {
			id := fmt.Sprintf("R-%d", r.random.IntN(40))
			texts := []string{id, randomText(r.random, 4), randomText(r.random, 12), randomText(r.random, 2)}
			outcome, err := tx.Put("risk", db.Record{"risk_id": id, "title": texts[1], "description": texts[2], "owner_name": texts[3]})
			if err != nil {
				return err
			}
			if outcome != db.Repeated {
				r.texts[at][id] = texts
			}
		}
		return tx.Audit(audit.Event{Action: "put", Category: audit.DataChange, Severity: audit.SeverityWrite})
	})
	must(r.t, err)
}

// compare searches for parts of texts and for other words.
func (r *register) compare() {
	r.t.Helper()
	for range 10 {
		at := r.random.IntN(2)
		words := strings.Fields(randomText(r.random, 3))
		if texts := r.texts[at]; len(texts) > 0 && r.random.IntN(2) == 0 {
			of := []rune(texts[sortedIDs(texts)[r.random.IntN(len(texts))]][2])
			from := r.random.IntN(len(of))
			words = strings.Fields(string(of[from : from+r.random.IntN(len(of)-from)+1]))
		}
		if len(words) == 0 {
			continue
		}
		var want []string
		for id, texts := range r.texts[at] {
			if !slices.ContainsFunc(words, func(word string) bool { return !matches(texts, word) }) {
				want = append(want, id)
			}
		}
		page := browse(r.t, r.store, r.orgs[at], "risk", dashboard.BrowseQuery{Words: words, Limit: 100})
		got := riskIDs(r.t, page.Records)
		var exported [][]byte
		err := dashboard.EachBrowsed(r.t.Context(), r.store, r.orgs[at], "risk", dashboard.BrowseQuery{Words: words}, func(record []byte) error {
			exported = append(exported, slices.Clone(record))
			return nil
		})
		must(r.t, err)
		slices.Sort(want)
		if sheet := riskIDs(r.t, exported); !slices.Equal(got, want) || !slices.Equal(sheet, want) || page.Total != len(want) {
			r.t.Fatalf("%q: got %q, exported %q, total %d, want %q", words, got, sheet, page.Total, want)
		}
	}
}

func sortedIDs(texts map[string][]string) []string {
	var all []string
	for id := range texts {
		all = append(all, id)
	}
	slices.Sort(all)
	return all
}

func riskIDs(t *testing.T, records [][]byte) []string {
	t.Helper()
	var all []string
	for _, text := range records {
		var record struct {
			RiskID string `json:"risk_id"`
		}
		must(t, json.Unmarshal(text, &record))
		all = append(all, record.RiskID)
	}
	slices.Sort(all)
	return all
}

// TestSearch_UsesIndex empties the index. Its records are not found, and the check reports
// it. A rebuild repairs it.
func TestSearch_UsesIndex(t *testing.T) {
	t.Parallel()
	store, org := demo(t)
	must(t, store.SearchIndex.Update(t.Context()))
	found := func() int {
		return browse(t, store, org, "risk", dashboard.BrowseQuery{Words: []string{"claims"}, Limit: 5}).Total
	}
	want := found()
	if want == 0 {
		t.Fatal("got no risk")
	}
	testkit.ExecSQL(t, store.File.Path(), "INSERT INTO search_index (search_index) VALUES ('delete-all')")
	if got := found(); got != 0 {
		t.Errorf("got %d risks with an empty index, want 0", got)
	}
	if faults, err := store.SearchIndex.Faults(t.Context()); err != nil || !strings.Contains(fmt.Sprint(faults), "the search index lacks") {
		t.Errorf("got faults %q, %v", faults, err)
	}
	must(t, store.SearchIndex.Rebuild(t.Context()))
	if got := found(); got != want {
		t.Errorf("got %d risks after the rebuild, want %d", got, want)
	}
	testkit.ExecSQL(t, store.File.Path(), "UPDATE search_index_data SET block = x'00' WHERE id > 10")
	store = open(t, store.File.Path())
	if faults, err := backup.New(store).Faults(t.Context(), true); err != nil || !strings.Contains(fmt.Sprint(faults), "search_index") {
		t.Errorf("got faults %q, %v", faults, err)
	}
}

// TestSearch_RemovedRecords removes a record with SQL. Another record that gets its
// number is found.
func TestSearch_RemovedRecords(t *testing.T) {
	t.Parallel()
	path := testdb.EmptyFile(t)
	store := open(t, path)
	must(t, testdb.AddRisk(t.Context(), store, "removed"))
	must(t, store.SearchIndex.Update(t.Context()))
	testkit.ExecSQL(t, path, "DELETE FROM risks")
	must(t, testdb.AddRisk(t.Context(), store, "added"))
	for range 2 {
		for word, want := range map[string]int{"removed": 0, "added": 1} {
			if got := browse(t, store, testdb.DefaultOrg(t, store), "risk", dashboard.BrowseQuery{Words: []string{word}, Limit: 5}).Total; got != want {
				t.Errorf("%s: got %d risks, want %d", word, got, want)
			}
		}
		must(t, store.SearchIndex.Update(t.Context()))
	}
}
