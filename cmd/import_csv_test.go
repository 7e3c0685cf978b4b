package cmd_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"govsvc/db/resource"
)

func TestImport_PrintsTemplate(t *testing.T) {
	t.Parallel()
	c := newCLIWithoutFile(t)
	var all strings.Builder
	for _, object := range resource.Types() {
		fmt.Fprintf(&all, "%s: %s", object, c.must("import", "--template", object))
	}
	golden(t, "import_templates.txt", all.String())
	golden(t, "import_template.json", c.must("import", "--template", "vendor", "--json"))
	if exists(c.env["GOVSVC_DB"]) {
		t.Error("a template made a data file")
	}
}

func TestImport_ReadsCSV(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("import", c.file("signals.ndjson", signals))
	lines, table := c.must("export"), c.must("export", "--type", "signal", "--format", "csv")
	c.must("orgs", "create", "acme")
	for _, args := range [][]string{
		{"import", "--org", "acme", c.file("x.csv", table)},
		{"import", "--org", "acme", "--type", "signal", c.file("x.txt", table)},
		{"import", "--org", "acme", "--format", "csv", c.file("y.ndjson", table)},
	} {
		c.must(args...)
		if got := c.must("export", "--org", "acme"); got != lines {
			t.Errorf("%q: got %s, want %s", args, got, lines)
		}
	}
	if o := c.runOn(table, "import", "-"); !strings.Contains(o.stdout, "signal  0        0        2") {
		t.Errorf("from stdin: %+v", o)
	}
	o := c.runOn("risk_id;description;target_date;financial_exposure_min\nR;\"a\nb\";31.12.2026;1,5\nS;;;\n", "import", "--type", "risk", "-")
	golden(t, "import_faults_csv.txt", o.stderr)
	if o.status != 1 || o.stdout != "" {
		t.Errorf("%+v", o)
	}
}

func TestExport_WritesCSV(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("import", c.file("signals.ndjson", signals))
	table := c.must("export", "--type", "signal", "--format", "csv")
	if want := "object,id,signal_type,module_id,as_of,numeric_value,rag,source_version,created_at,updated_at\nsignal,"; !strings.HasPrefix(table, want) || strings.Count(table, "\n") != 3 {
		t.Errorf("got %s, want %s", table, want)
	}
	for _, format := range [][]string{nil, {"--format", "csv"}} {
		path := filepath.Join(c.dir, "Out.CSV")
		c.must(append([]string{"export", "--type", "signal", "--out", path}, format...)...)
		if got := c.read(path); got != table {
			t.Errorf("%q: got %s", format, got)
		}
	}
}

// TestExport_TakesFormatFromName checks that the name of the file determines the
// format, and that import reads the file.
func TestExport_TakesFormatFromName(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("import", c.file("signals.ndjson", signals))
	lines, array, table := c.must("export"), c.must("export", "--format", "json"), c.must("export", "--format", "csv", "--type", "signal")
	for _, row := range []struct{ name, want string }{
		{"a.ndjson", lines}, {"a.jsonl", lines}, {"a.txt", lines}, {"a", lines}, {"A.JSON", array}, {"a.csv", table},
	} {
		path := filepath.Join(c.dir, row.name)
		c.must("export", "--out", path, "--type", "signal")
		if got := c.read(path); got != row.want {
			t.Errorf("%s: got %s, want %s", row.name, got, row.want)
		}
		if got := c.must("import", path); !strings.Contains(got, "signal  0        0        2\n") {
			t.Errorf("%s is not found unchanged: %s", row.name, got)
		}
	}
	if got := c.must("export", "--json", "--out", "-"); got != array {
		t.Errorf("--json: got %s, want %s", got, array)
	}
}

func TestImport_RefusesFormats(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	lines, table := c.file("x.ndjson", signals), c.file("x.csv", "signal_type\n")
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"import"}, "FILE is missing"},
		{[]string{"import", "--type", "signal", lines}, `--type is for CSV, and none of the files is CSV: records of the other formats name their type in "object"`},
		{[]string{"import", "--type", "signal", "--format", "json", table}, "--type is for CSV"},
		{[]string{"import", "--type", "signals", table}, `--type: no type is named "signals"; the types are assessment, risk, `},
		{[]string{"import", "--template", "signals"}, `--template: no type is named "signals"; the types are assessment, risk, `},
		{[]string{"import", "--template", "signal", table}, "--template prints a header row and imports nothing: use it without files"},
		{[]string{"import", "--schema", "signals"}, `--schema: no type is named "signals"; the types are assessment, risk, `},
		{[]string{"import", "--schema", "signal", table}, "--schema prints a schema and imports nothing: use it without files"},
		{[]string{"import", "--schema", "signal", "--template", "signal"}, "--template and --schema exclude each other"},
		{[]string{"import", "--format", "xml", table}, `--format: "xml" is not ndjson, json or csv`},
		{[]string{"export", "--format", "csv"}, "a CSV file has one type: give one --type"},
		{[]string{"export", "--format", "csv", "--type", "risk,signal"}, "a CSV file has one type: give one --type"},
		{[]string{"export", "--out", "all.csv"}, "a CSV file has one type: give one --type"},
		{[]string{"export", "--format", "csv", "--type", "risk", "--json"}, "--json writes one JSON array: use it without --format"},
		{[]string{"export", "--format", "xml"}, `--format: "xml" is not ndjson, json or csv`},
		{[]string{"export", "--format", "ndjson", "--out", "x.json"}, "--out x.json has no name for ndjson: import would read it as json"},
		{[]string{"export", "--format", "ndjson", "--out", "x.csv"}, "--out x.csv has no name for ndjson: import would read it as csv"},
		{[]string{"export", "--json", "--out", "x.jsonl"}, "--out x.jsonl has no name for json: import would read it as ndjson"},
		{[]string{"export", "--type", "risk", "--out", "x.tsv"}, "--out x.tsv is a name for tabs, but export writes commas: use .csv"},
	} {
		if got := c.refused(2, row.args...); !strings.Contains(got, row.want) {
			t.Errorf("%q: got %s, want %s", row.args, got, row.want)
		}
	}
}
