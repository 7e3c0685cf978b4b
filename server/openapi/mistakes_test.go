package openapi_test

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"govsvc/server/openapi"
)

// TestLoad_Mistakes adds a mistake to a piece. The error of Load must name it.
func TestLoad_Mistakes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ file, old, new, want string }{
		{"risks.yaml", "operationId: listRisks", "operationId: createRisk", "operationId is missing or taken"},
		{"risks.yaml", "      summary: List risks\n", "", "has no summary"},
		{"risks.yaml", "      description: Returns the risk register, newest first.\n", "", "has no description"},
		{"risks.yaml", "x-scope: read:risks", "x-scope: read:risk", "no scope read:risk"},
		{"risks.yaml", "      x-scope: read:risks\n", "", "needs a scope"},
		{"risks.yaml", "      x-max-body: 65536\n", "", "x-max-body"},
		{"risks.yaml", "x-idempotency: required", "x-idempotency: optional", `x-idempotency must be "required"`},
		{"risks.yaml", "description: Returns only risks with this status., ", "", "needs a description"},
		{"risks.yaml", "x-type: likelihood,", "x-type: chance,", "no x-type chance"},
		{"risks.yaml", "#/components/parameters/Limit", "#/components/parameters/Limits", "leads nowhere"},
		{"risks.yaml", "x-returns: {list: Risk}", "x-returns: {list: Risks}", "no schema Risks"},
		{"risks.yaml", "minLength: 20", "minChars: 20", "not a keyword"},
		{"risks.yaml", "minLength: 20", "format: words", "no format words"},
		{"risks.yaml", "x-returns: {list: Risk}", "x-return: {list: Risk}", "has neither"},
		{"risks.yaml", "key: [risk_id]", "key: [risk]", "has no member risk"},
		{"risks.yaml", "of: Risk", "of: Hazard", "unknown schema"},
		{"risks.yaml", "{x-type: risk-status, description: The status of the treatment.}", "{x-type: risk-status}", "has no description"},
		{"risks.yaml", "x-order: 40\n", "", "has no x-order"},
		{"risks.yaml", "  read:risks: 30", "  read:risks: 30\n  read:hazards: 35", "no operation needs read:hazards"},
		{"risks.yaml", "  read:risks: 30", "  read:risks: 40", "have the same place"},
		{"risks.yaml", "  read:risks: 30", "  read:risks: third", "the place of read:risks is not a number"},
		{"risks.yaml", "  read:risks: 30\n", "", "no scope read:risks"},
		{"signals.yaml", "  /signals:", "  /risks:", "defined twice"},
		{"signals.yaml", "    Signal:", "    Risk:", "Risk is defined twice"},
		{"signals.yaml", "      summary: List signals", "      summary: A\n      summary: B", "summary is given twice"},
		{"signals.yaml", "  signal:", "  signals:", "signal is missing"},
		{"signals.yaml", "x-scope: read:signals", "x-scope: read:signals\n      x-color: red", "x-color is not expected"},
		{"incidents.yaml", "x-feature: incidents", "x-feature: incident", "no feature incident"},
		{"incidents.yaml", "parameters: [{$ref: '#/components/parameters/Id'}]", "parameters: []", "path parameter id is not declared"},
		{"webhooks.yaml", "    stability: beta\n", "", "needs description, stability"},
		{"mcp.yaml", "paths:", "paths: {", "yaml"},
	} {
		t.Run(row.want, func(t *testing.T) {
			t.Parallel()
			pieces := embedded(t)
			data := string(pieces[row.file].Data)
			if !strings.Contains(data, row.old) {
				t.Fatalf("%s has no %q", row.file, row.old)
			}
			pieces[row.file] = &fstest.MapFile{Data: []byte(strings.Replace(data, row.old, row.new, 1))}
			_, err := openapi.LoadFrom(pieces)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want one with %q", err, row.want)
			}
		})
	}
}

// embedded copies the pieces. It checks that every YAML file of the folder is embedded.
func embedded(t *testing.T) fstest.MapFS {
	t.Helper()
	names, err := fs.Glob(openapi.Files, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if files, err := filepath.Glob("*.yaml"); err != nil || len(files) == 0 || !slices.Equal(files, names) {
		t.Fatalf("got pieces %v, error %v, want the files %v", names, err, files)
	}
	pieces := fstest.MapFS{}
	for _, name := range names {
		data, err := fs.ReadFile(openapi.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		pieces[name] = &fstest.MapFile{Data: data}
	}
	return pieces
}
