package openapi_test

import (
	"errors"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/internal/testkit"
	"govsvc/server/openapi"
)

func TestQuery(t *testing.T) {
	t.Parallel()
	const limits = "limit must be an integer from 1 to 100"
	for _, row := range []struct {
		op, query string
		want      openapi.Values
		param     string
		message   string
	}{
		{op: "listRisks", want: openapi.Values{"limit": 25}},
		{op: "listAuditEvents", want: openapi.Values{"limit": 100, "format": "json"}},
		{op: "getRoadmap", want: openapi.Values{}},
		{
			op: "listRisks", query: "limit=100&severity=HIGH&status=Open&cursor=abc",
			want: openapi.Values{"limit": 100, "severity": "HIGH", "status": "Open", "cursor": "abc"},
		},
		{op: "listRisks", query: "updated_since=2026-09-12", want: openapi.Values{"limit": 25, "updated_since": "2026-09-12"}},
		{
			op: "listRisks", query: "updated_since=2026-09-12T10:00:00%2B02:00",
			want: openapi.Values{"limit": 25, "updated_since": "2026-09-12T10:00:00+02:00"},
		},
		{
			op: "listAuditEvents", query: "limit=1000&format=ndjson&since=2026-01-01&until=2026-02-01T00:00:00Z",
			want: openapi.Values{"limit": 1000, "format": "ndjson", "since": "2026-01-01", "until": "2026-02-01T00:00:00Z"},
		},
		{op: "listKpis", query: "code=KR-01", want: openapi.Values{"limit": 25, "code": "KR-01"}},

		{op: "listRisks", query: "limit=0", param: "limit", message: limits},
		{op: "listRisks", query: "limit=101", param: "limit", message: limits},
		{op: "listRisks", query: "limit=-1", param: "limit", message: limits},
		{op: "listRisks", query: "limit=ten", param: "limit", message: limits},
		{op: "listRisks", query: "limit=%2B5", param: "limit", message: limits},
		{op: "listRisks", query: "limit=5.0", param: "limit", message: limits},
		{op: "listRisks", query: "limit=99999999999999999999", param: "limit", message: limits},
		{op: "listAuditEvents", query: "limit=1001", param: "limit", message: "limit must be an integer from 1 to 1000"},
		{op: "listRisks", query: "limit=", param: "limit", message: "limit must not be empty"},
		{op: "listRisks", query: "cursor=", param: "cursor", message: "cursor must not be empty"},
		{op: "listRisks", query: "status", param: "status", message: "status must not be empty"},
		{op: "listRisks", query: "limit=5&limit=5", param: "limit", message: "limit is given more than once"},
		{op: "listRisks", query: "severity=high", param: "severity", message: "severity must be one of CRITICAL, HIGH, MEDIUM, LOW"},
		{op: "listRisks", query: "stauts=Open", param: "stauts", message: "stauts is not a known parameter"},
		{op: "listRisks", query: "format=json", param: "format", message: "format is not a known parameter"},
		{op: "listWebhookSubscriptions", query: "updated_since=2026-01-01", param: "updated_since", message: "updated_since is not a known parameter"},
		{op: "getScorecard", query: "limit=5", param: "limit", message: "limit is not a known parameter"},
		{op: "createRisk", query: "dry=1", param: "dry", message: "dry is not a known parameter"},
		{
			op: "listRisks", query: "updated_since=2026-02-30", param: "updated_since",
			message: "updated_since must be a date (YYYY-MM-DD) or an RFC 3339 timestamp",
		},
		{
			op: "listRisks", query: "updated_since=yesterday", param: "updated_since",
			message: "updated_since must be a date (YYYY-MM-DD) or an RFC 3339 timestamp",
		},
		{op: "listKpis", query: "code=%00", param: "code", message: "code must not contain the NUL character"},
		{op: "listKpis", query: "code=%ff", param: "code", message: "code must be valid UTF-8"},
	} {
		t.Run(row.op+"?"+row.query, func(t *testing.T) {
			t.Parallel()
			query, err := url.ParseQuery(row.query)
			if err != nil {
				t.Fatal(err)
			}
			got, err := testkit.Document(t).Operation(row.op).Query(query)
			checkBound(t, got, err, row.want, row.param, row.message)
		})
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		op, raw string
		want    openapi.Values
		param   string
		message string
	}{
		{op: "listRisks", raw: "", want: openapi.Values{"limit": 25}},
		{op: "listRisks", raw: "{}", want: openapi.Values{"limit": 25}},
		{op: "listRisks", raw: `{"limit": 5.0, "severity": "LOW"}`, want: openapi.Values{"limit": 5, "severity": "LOW"}},
		{op: "listRisks", raw: `{"limit": "5"}`, param: "limit", message: "limit must be an integer from 1 to 100"},
		{op: "listRisks", raw: `{"limit": 5.5}`, param: "limit", message: "limit must be an integer from 1 to 100"},
		{op: "listRisks", raw: `{"limit": 1e99}`, param: "limit", message: "limit must be an integer from 1 to 100"},
		{op: "listRisks", raw: `{"limit": null}`, param: "limit", message: "limit must be an integer from 1 to 100, not null"},
		{op: "listRisks", raw: `{"cursor": ""}`, param: "cursor", message: "cursor must not be empty"},
		{op: "listRisks", raw: `{"owner": "x"}`, param: "owner", message: "owner is not a known member"},
		{op: "listRisks", raw: `[]`, message: "the arguments must be an object"},
		{op: "listRisks", raw: `null`, message: "the arguments must be an object, not null"},
	} {
		t.Run(row.op+row.raw, func(t *testing.T) {
			t.Parallel()
			got, err := testkit.Document(t).Operation(row.op).Arguments([]byte(row.raw))
			checkBound(t, got, err, row.want, row.param, row.message)
		})
	}
}

func checkBound(t *testing.T, got openapi.Values, err error, want openapi.Values, param, message string) {
	t.Helper()
	if message == "" {
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("values (-want +got):\n%s", diff)
		}
		return
	}
	var fault *openapi.ValidationError
	if !errors.As(err, &fault) {
		t.Fatalf("got %v and error %v, want a fault", got, err)
	}
	if diff := cmp.Diff(openapi.ValidationError{Param: param, Message: message}, *fault); diff != "" {
		t.Errorf("fault (-want +got):\n%s", diff)
	}
}
