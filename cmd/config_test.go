package cmd_test

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/cmd"
)

// printedConfig is the result of `serve --print-config --json`.
type printedConfig map[string]struct {
	Value        any
	Source, From string
}

// TestConfigFile_IsRefused covers invalid configuration files. Each row is an
// error of one line that names the line of the file.
func TestConfigFile_IsRefused(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ text, want string }{
		"unknown name":      {"addr: :8080\nadr: x\n", `:2: no flag is named "adr"`},
		"near name":         {"\nlog-formt: json\n", `:2: no flag is named "log-formt"; did you mean log-format?`},
		"one-shot flag":     {"force: true\n", ":1: force can't be set in the file: give --force on the command line"},
		"reason":            {"reason: because\n", ":1: reason can't be set in the file"},
		"the file itself":   {"config: other.yaml\n", ":1: config can't be set in the file"},
		"text for a number": {"backup-keep: many\n", ":1: backup-keep: the value must be a whole number"},
		"number for text":   {"backup-dir: 17\n", ":1: backup-dir: the value must be text; put the value in quotation marks"},
		"text for a switch": {"insecure: \"yes\"\n", ":1: insecure: the value must be true or false"},
		"list for text":     {"addr: [\":8080\"]\n", ":1: addr: the value must be text"},
		"mapping":           {"addr: {port: 1}\n", ":1: addr: the value must be text"},
		"list of numbers":   {"webhook-allow: [10]\n", ":1: webhook-allow: each item of the list must be text"},
		"nothing":           {"addr:\n", ":1: addr: the value must be text"},
		"empty":             {"addr: \"\"\n", ":1: addr: the value is empty"},
		"bad value":         {"\n\ntrusted-proxy: [10.0.0.0/8, x]\n", `:3: trusted-proxy: "x" is not a network`},
		"twice":             {"addr: :1\naddr: :2\n", ":2: addr is already set in line 1"},
		"other command":     {"plan: 3\n", ":1: plan: the value must be text"},
		"not a mapping":     {"- addr\n", ":1: the file must be a mapping"},
		"not YAML":          {"addr: [\n", "govsvc.yaml: line "},
		"two documents":     {"addr: :1\n---\naddr: :2\n", "more than one YAML document"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCLI(t)
			path := c.file("govsvc.yaml", row.text)
			if got := c.refused(2, "serve", "--config", path); !strings.Contains(got, row.want) || !strings.Contains(got, "govsvc.yaml") {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
	c := newCLI(t)
	if got := c.refused(2, "version", "--config", filepath.Join(c.dir, "none.yaml")); !strings.Contains(got, "--config: "+filepath.Join(c.dir, "none.yaml")+": no such file") {
		t.Error(got)
	}
}

// TestConfigFile_YieldsToEnvironmentAndFlags checks that a flag has priority over the
// environment, and the environment over the file, and that --print-config names
// each source.
func TestConfigFile_YieldsToEnvironmentAndFlags(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	path := c.file("govsvc.yaml", `# all kinds of values
addr: 127.0.0.1:1111
log-format: json
anonymous-rpm: 17
access-log: true
trusted-proxy: [10.0.0.0/8, 192.168.0.0/16]
webhook-schedule: 1s,2m
plan: business # of orgs create
`)
	c.env["GOVSVC_CONFIG"] = path
	c.env["GOVSVC_LOG_FORMAT"] = "text"
	c.env["GOVSVC_ADDR"] = "127.0.0.1:2222"
	got := decode[printedConfig](t, c.must("serve", "--addr", "127.0.0.1:3333", "--print-config", "--json"))
	for name, want := range map[string]struct {
		value        any
		source, from string
	}{
		"addr":             {"127.0.0.1:3333", "flag", ""},
		"log-format":       {"text", "environment", "GOVSVC_LOG_FORMAT"},
		"db":               {c.env["GOVSVC_DB"], "environment", "GOVSVC_DB"},
		"anonymous-rpm":    {17.0, "file", path + ":4"},
		"access-log":       {true, "file", path + ":5"},
		"trusted-proxy":    {[]any{"10.0.0.0/8", "192.168.0.0/16"}, "file", path + ":6"},
		"webhook-schedule": {[]any{"1s", "2m"}, "file", path + ":7"},
		"log-level":        {"info", "default", ""},
		"insecure":         {false, "default", ""},
		"tls-cert":         {nil, "default", ""},
	} {
		s := got[name]
		if diff := cmp.Diff(want.value, s.Value); diff != "" || s.Source != want.source || s.From != want.from {
			t.Errorf("%s: got %+v, want %+v", name, s, want)
		}
	}
	for _, absent := range []string{"help", "print-config", "json", "config", "reason", "plan"} {
		if _, ok := got[absent]; ok {
			t.Errorf("--print-config lists %s", absent)
		}
	}
	if made := c.must("orgs", "create", "acme", "--json"); !strings.Contains(made, `"plan": "business"`) {
		t.Errorf("the file did not set --plan: %s", made)
	}
}

// TestPrintConfig_IsAConfigFile uses the printed YAML as a configuration file
// and gets the same settings. A password in a URL is not printed.
func TestPrintConfig_IsAConfigFile(t *testing.T) {
	t.Parallel()
	c := newCLIWithoutFile(t)
	args := []string{
		"serve", "--addr", ":8443", "--domain", "a.example,b.example", "--backup-dir", "/b: #x", "--backup-keep", "3",
		"--access-log", "--webhook-allow", "10.0.0.0/8", "--base-url", "https://gov.example.com", "--print-config",
	}
	text := c.must(args...)
	for _, want := range []string{
		"addr: :8443  # flag\n", "# log-level: info  # default\n", "# tls-cert: is not set\n", "domain: [a.example, b.example]  # flag\n",
		"backup-keep: 3  # flag\n", "access-log: true  # flag\n", "# insecure: false  # default\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	want := decode[printedConfig](t, c.must(append(args, "--json")...))
	path := c.file("printed.yaml", text)
	delete(c.env, "GOVSVC_DB")
	got := decode[printedConfig](t, c.must("serve", "--print-config", "--json", "--config", path))
	for name, s := range want {
		if diff := cmp.Diff(s.Value, got[name].Value); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if (s.Source != "default") != (got[name].Source == "file") {
			t.Errorf("%s: source %s became %s", name, s.Source, got[name].Source)
		}
	}
	secret := c.must("serve", "--domain", "a.example", "--acme-directory", "https://me:secret@ca.example/dir", "--print-config")
	if strings.Contains(secret, "secret") || !strings.Contains(secret, "ca.example/dir") {
		t.Error(secret)
	}
	if exists(filepath.Join(c.dir, "govsvc.db")) {
		t.Error("--print-config created a data file")
	}
	if got := c.refused(2, "serve", "--json"); !strings.Contains(got, "--json goes with --print-config") {
		t.Error(got)
	}
	if o := c.run("serve", "--tls-cert", "x", "--print-config"); o.status != 2 || !strings.Contains(o.stdout, "tls-cert: x  # flag\n") || !strings.Contains(o.stderr, "--tls-cert and --tls-key belong together") {
		t.Errorf("%+v", o)
	}
}

// TestEnvironment_WarnsOfUnknownVariables checks the warnings about variables that set
// nothing.
func TestEnvironment_WarnsOfUnknownVariables(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.env["GOVSVC_ADR"] = ":8080"
	c.env["GOVSVC_FORCE"] = "true"
	c.env["GOVSVC_EMPTY"] = ""
	c.env["GOVSVC_PLAN"] = "business"
	c.env["GOVSVC_WEBHOOKALLOW"] = "10.0.0.0/8"
	c.env["GOVSVC_SOMETHING_ELSE"] = "1"
	c.env["HOME"] = "/"
	names := []string{"GOVSVC_ADR", "GOVSVC_DB", "GOVSVC_EMPTY", "GOVSVC_FORCE", "GOVSVC_PLAN", "GOVSVC_SOMETHING_ELSE", "GOVSVC_WEBHOOKALLOW", "HOME"}
	var stdout, stderr bytes.Buffer
	status := cmd.Run(t.Context(), []string{"version"}, nil, &stdout, &stderr, c.lookup, names...)
	want := `govsvc: warning: no flag is set by GOVSVC_ADR; did you mean GOVSVC_ADDR (--addr)?
govsvc: warning: GOVSVC_FORCE has no effect: give --force on the command line
govsvc: warning: no flag is set by GOVSVC_SOMETHING_ELSE
govsvc: warning: no flag is set by GOVSVC_WEBHOOKALLOW; did you mean GOVSVC_WEBHOOK_ALLOW (--webhook-allow)?
`
	if diff := cmp.Diff(want, stderr.String()); status != 0 || diff != "" {
		t.Errorf("status %d: %s", status, diff)
	}
}

// TestEnvironment_DoesNotSetOneShotFlags checks that the environment can't make a
// backup replace a file.
func TestEnvironment_DoesNotSetOneShotFlags(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("orgs", "create", "acme")
	existing := c.file("existing.db", "content")
	c.env["GOVSVC_FORCE"] = "true"
	if got := c.refused(1, "backup", existing); !strings.Contains(got, "already exists") || c.read(existing) != "content" {
		t.Error(got)
	}
	help := c.must("backup", "--help")
	if strings.Contains(help, "GOVSVC_FORCE") || !strings.Contains(help, "GOVSVC_JSON") {
		t.Error(help)
	}
}

// TestLogLevel_OmitsLowerLevels checks that each level omits lower levels.
func TestLogLevel_OmitsLowerLevels(t *testing.T) {
	t.Parallel()
	for level, serving := range map[string]bool{"info": true, "debug": true, "warn": false, "error": false} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			c := newCLI(t)
			s := c.serve("--log-level", level)
			s.end()
			if got := regexp.MustCompile(`(?m)^time=.* level=INFO msg=serving `).MatchString(s.stderr.String()); got != serving {
				t.Errorf("logged at info: %v, want %v:\n%s", got, serving, s.stderr)
			}
		})
	}
	if got := newCLI(t).refused(2, "serve", "--log-level", "loud"); !strings.Contains(got, `--log-level: "loud" is not debug, info, warn or error`) {
		t.Error(got)
	}
}
