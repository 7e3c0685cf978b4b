package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
)

// TestCreateVendor_Response checks a new vendor with default values, one with every member
// given, and the members that the API does not return.
func TestCreateVendor_Response(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	now := stored(start)
	bare := d.do(t, write{path: "/vendor/inventory", body: vendorBody("one"), status: 201})
	full := d.do(t, write{path: "/vendor/inventory", body: `{"vendor_key":"Two 2","vendor_name":"N","category":"C","initial_risk_band":"HIGH","ai_role":"R",
		"initial_recommendation":"consolidate","status":"blocked","contract_start":"2026-01-01","contract_end":"2027-12-31","annual_cost_usd":1200.5,
		"renewal_owner_role":"CFO","notes":"L1\nL2"}`, status: 201})
	want := []db.Record{
		{
			"object": "vendor", "id": bare["id"], "vendor_key": "one", "vendor_name": "N", "category": "C", "ai_role": nil, "initial_risk_band": "LOW",
			"initial_recommendation": nil, "status": "active", "contract_end": nil, "annual_cost_usd": nil, "created_at": now,
		},
		{
			"object": "vendor", "id": full["id"], "vendor_key": "Two 2", "vendor_name": "N", "category": "C", "ai_role": "R", "initial_risk_band": "HIGH",
			"initial_recommendation": "consolidate", "status": "blocked", "contract_end": "2027-12-31", "annual_cost_usd": json.Number("1200.5"), "created_at": now,
		},
	}
	if diff := cmp.Diff(want, []db.Record{bare, full}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d.checkRows(t, "kept", "SELECT contract_start, renewal_owner_role, notes FROM vendors ORDER BY seq", "<nil>|<nil>|<nil>", "2026-01-01|CFO|L1\nL2")
}

// TestCreateVendor_UniqueKey checks that an organisation has one vendor for each key,
// also after concurrent requests.
func TestCreateVendor_UniqueKey(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	_, acme := d.mint(t, "acme", db.KeyDraft{Scopes: writeScopes})
	d.do(t, write{path: "/vendor/inventory", body: vendorBody("k"), status: 201})
	d.do(t, write{path: "/vendor/inventory", body: vendorBody("K"), status: 201})
	d.do(t, write{path: "/vendor/inventory", body: vendorBody("k"), key: acme, status: 201})
	taken := write{path: "/vendor/inventory", body: vendorBody("k"), status: 409, code: "resource_conflict", param: "vendor_key"}
	d.checkUnchanged(t, func() { d.do(t, taken) })
	for round := range 10 {
		made := make([]int, 8)
		var group sync.WaitGroup
		for i := range made {
			group.Go(func() {
				made[i] = d.send(t, write{path: "/vendor/inventory", body: vendorBody(fmt.Sprint("round ", round))}).status
			})
		}
		group.Wait()
		if text := fmt.Sprint(made); strings.Count(text, "201") != 1 || strings.Count(text, "409") != 7 {
			t.Errorf("round %d: %s, want one 201 and seven 409", round, text)
		}
	}
	d.checkRows(t, "vendors and their audit events", "SELECT (SELECT count(*) FROM vendors), (SELECT count(*) FROM audit_events WHERE action = 'api.write.vendor')", "13|13")
	d.verifyAudit(t, db.DefaultOrganisation)
}

// TestUpdateVendor_EachField changes and clears each field that users can edit.
func TestUpdateVendor_EachField(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	id := d.id(t, "/vendor/inventory", vendorBody("v"))
	path := "/vendor/inventory/" + id
	const stand = "SELECT status, contract_start, contract_end, renewal_owner_role, annual_cost_usd, notes, updated_at FROM vendors"
	d.clock.Advance(time.Second)
	first := stored(d.clock.Now())
	d.do(t, write{method: "PATCH", path: path, body: `{"status":"exited","contract_start":"2026-01-01","contract_end":"2026-12-31","renewal_owner_role":"R","annual_cost_usd":0,"notes":"N"}`})
	d.checkRows(t, "set", stand, "exited|2026-01-01|2026-12-31|R|0|N|"+first)
	d.clock.Advance(time.Second)
	got := d.do(t, write{method: "PATCH", path: path, body: `{"contract_end":null,"annual_cost_usd":null,"notes":null,"contract_start":null,"renewal_owner_role":null}`})
	d.checkRows(t, "cleared", stand, "exited|<nil>|<nil>|<nil>|<nil>|<nil>|"+stored(d.clock.Now()))
	if diff := cmp.Diff(d.get(t, "/vendor/inventory", d.key).page(t).Data, []map[string]any{got}); diff != "" {
		t.Errorf("the list differs from the answer:\n%s", diff)
	}
}
