package openapi_test

import (
	"net/url"
	"testing"

	"govsvc/internal/testkit"
	"govsvc/server/openapi"
)

const riskLine = `{"object":"risk","risk_id":"RISK-0001","dimension":"DATA",` +
	`"description":"The model is trained on data nobody has checked for consent",` +
	`"severity":"HIGH","residual_severity":null,"status":"Open","source":"import",` +
	`"owner_name":"Head of data","financial_exposure_min":10000,"financial_exposure_max":250000.50,` +
	`"target_date":"2026-12-31","created_at":"2026-09-12T08:30:00.000Z","title":"Consent","likelihood":"LIKELY"}`

func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := openapi.Load(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecodeRecord decodes one line of an import.
func BenchmarkDecodeRecord(b *testing.B) {
	schema := testkit.Document(b).Record("risk")
	line := []byte(riskLine)
	b.ReportAllocs()
	for b.Loop() {
		if _, faults := schema.Decode(line); faults != nil {
			b.Fatal(faults)
		}
	}
}

func BenchmarkQuery(b *testing.B) {
	op := testkit.Document(b).Operation("listRisks")
	query := url.Values{"limit": {"50"}, "severity": {"HIGH"}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := op.Query(query); err != nil {
			b.Fatal(err)
		}
	}
}
