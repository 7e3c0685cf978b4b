package api_test

import (
	"errors"
	"strings"
	"testing"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/server/api"
)

// FuzzSearch searches for any text. The search returns an error, or it finds the record
// with this description, before and after the record is in the index.
func FuzzSearch(f *testing.F) {
	for _, seed := range []string{
		"model drift", `"`, `a"b"c`, "AND OR NOT", "NEAR(a b)", "col:umn", "^abc*", "a%b_c\\", "\x00abc", "ab\xffcd", "風險", "ÜBER über", "İstanbul ſ K",
		strings.Repeat("long ", 50), strings.Repeat("y", 201), "'; DROP TABLE risks; --", "{text}: abc", "-abc", "\ufffd\ufffe\uffff", "😀😀😀", "\u2028\u00a0x",
	} {
		f.Add(seed)
	}
	x := newFixture(f)
	f.Fuzz(func(t *testing.T, text string) {
		_, err := api.Browse(t.Context(), x.Caller, "risk", api.View{Search: text})
		if err != nil {
			var refusal *api.Error
			if !errors.As(err, &refusal) || refusal.Code != api.InvalidParameter || refusal.Param != "search" {
				t.Fatalf("%q: got %v, want invalid_parameter search", text, err)
			}
			return
		}
		if strings.TrimSpace(text) == "" {
			return
		}
		err = x.Store.Write(t.Context(), x.operator(), func(tx *db.Tx) error {
			if _, err := tx.Put("risk", db.Record{"risk_id": "FUZZ", "description": text}); err != nil {
				return err
			}
			return tx.Audit(audit.Event{Action: "put", Category: audit.DataChange})
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, indexed := range []bool{false, true} {
			page, err := api.Browse(t.Context(), x.Caller, "risk", api.View{Search: text, Limit: 200})
			if err != nil || !hasRisk(page.Records, "FUZZ") {
				t.Fatalf("%q, indexed %t: got %d records, %v without the risk", text, indexed, len(page.Records), err)
			}
			if err := x.Store.SearchIndex.Update(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func hasRisk(records []api.Record, id string) bool {
	for _, record := range records {
		if record["risk_id"] == id {
			return true
		}
	}
	return false
}
