package transfer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/server/openapi"
	"govsvc/server/transfer"
)

// TestSheet writes texts for a spreadsheet, where no cell may start a formula. An
// import of the sheet or of the CSV export returns the original texts.
func TestSheet(t *testing.T) {
	t.Parallel()
	var lines, lists []string
	for i, text := range []string{
		"=1+1", "+1", "-1", "@x", "\t=1", "\r=1", "'=1", "''+1", "'", "''", "'a", "a=1", " =1", "=1,2", "=\"x\"", "-", "'\t", "=a;b", "'=a;b", "é=1",
	} {
		quoted, _ := json.Marshal(text)
		lines = append(lines, fmt.Sprintf(`{"object":"risk","risk_id":"R-%d","description":%s}`, i, quoted))
		lists = append(lists, fmt.Sprintf(`{"object":"assessment","completed_at":"2026-01-%02dT00:00:00Z","methodology_version":"1","frameworks_applied":[%s,"x"]}`, i+1, quoted))
	}
	document, err := openapi.Load()
	if err != nil {
		t.Fatal(err)
	}
	first := newStore(t)
	if report, err := first.try(transfer.Options{}, transfer.Bytes("x.ndjson", []byte(strings.Join(append(lines, lists...), "\n")))); err != nil {
		t.Fatal(err, report.Errors)
	}
	for _, object := range []string{"risk", "assessment"} {
		var sheet bytes.Buffer
		out, err := transfer.NewSheetWriter(document, object, &sheet)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(first.export(object)) {
			if err := out.Write([]byte(line)); err != nil {
				t.Fatal(err)
			}
		}
		if err := out.Flush(); err != nil {
			t.Fatal(err)
		}
		if begins := regexp.MustCompile(`(?m)(^|,)"?[=+@\t\r-]`).FindString(sheet.String()); begins != "" {
			t.Errorf("a cell starts like a formula (%q):\n%s", begins, sheet.String())
		}
		for about, table := range map[string]string{"sheet": sheet.String(), "export": first.exportAs(transfer.CSV, object)} {
			second := newStore(t)
			if report, err := second.try(transfer.Options{Type: object}, transfer.Bytes("x.csv", []byte(table))); err != nil {
				t.Fatal(err, report.Errors)
			}
			if diff := cmp.Diff(first.export(object), second.export(object)); diff != "" {
				t.Errorf("%s of %s (-stored +imported):\n%s", about, object, diff)
			}
		}
	}
}
