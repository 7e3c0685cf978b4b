package cmd_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCompletion_OffersCommandsAndValues checks the completions of commands and of the
// values of flags.
func TestCompletion_OffersCommandsAndValues(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	if got := c.must("completion", "bash"); !strings.Contains(got, "__start_govsvc") {
		t.Errorf("not a script for bash: %.100q", got)
	}
	c.must("orgs", "create", "acme")
	c.must("orgs", "create", "globex")
	for _, row := range []struct{ line, want string }{
		{"keys r", "revoke rotate"},
		{"keys mint --scope read:r", "read:risks read:roadmap"},
		{"keys mint --scope read:risks,write:r", "read:risks,write:risks"},
		{"keys import --scope manage:webhooks,manage:", ""},
		{"users add x --role e", "editor"},
		{"users add x --role ", "admin editor auditor viewer"},
		{"users set x --role a", "admin auditor"},
		{"users remove x --org a", "acme"},
		{"orgs create x --plan ", "starter professional business enterprise"},
		{"orgs set acme --subscription p", "past_due"},
		{"export --type ris", "risk"},
		{"import --type vendor", "vendor_portfolio vendor"},
		{"import --template k", "kpi kpi_checkin"},
		{"export --format ", "ndjson json csv"},
		{"audit export --format c", "cef"},
		{"serve --log-level ", "debug info warn error"},
		{"serve --log-format j", "json"},
		{"keys list --org ", "acme default globex"},
		{"export --org g", "globex"},
		{"keys list --db none.db --org ", ""},
	} {
		fields := strings.Split(row.line, " ")
		var got []string
		for line := range strings.Lines(c.must(append([]string{"__complete"}, fields...)...)) {
			if name, _, _ := strings.Cut(strings.TrimSpace(line), "\t"); name != "" && name[0] != ':' {
				got = append(got, name)
			}
		}
		if diff := cmp.Diff(row.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s: %s", row.line, diff)
		}
	}
}
