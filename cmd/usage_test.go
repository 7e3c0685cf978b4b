package cmd_test

import (
	"strings"
	"testing"

	"govsvc/db"
	"govsvc/server/openapi"
)

// TestUsage_RefusesWrongCommandLines checks wrong command lines. Each gives an error of
// one line with status 2, and changes nothing.
func TestUsage_RefusesWrongCommandLines(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ line, want string }{
		{"", "`govsvc` needs a command: audit, backup, check, completion, deadletters, deliver, evidence, export, import, keys, man, openapi, orgs, restore, sandbox, serve, users, version or webhooks; see `govsvc --help`"},
		{"keys", "`govsvc keys` needs a command: import, list, mint, revoke or rotate; see `govsvc keys --help`"},
		{"orgs", "`govsvc orgs` needs a command: create, list, remove, rename or set; "},
		{"audit", "`govsvc audit` needs a command: export or verify; "},
		{"evidence", "`govsvc evidence` needs a command: export, file, list or verify; "},
		{"completion", "`govsvc completion` needs a command: bash, fish, powershell or zsh; "},
		{"kesy", "unknown command \"kesy\"; did you mean keys? See `govsvc --help`"},
		{"start", "unknown command \"start\"; did you mean serve? See"},
		{"zzzzzz", "unknown command \"zzzzzz\"; see `govsvc --help`"},
		{"zzzzzz --flag", "unknown command \"zzzzzz\"; see"},
		{"send", "unknown command \"send\"; did you mean deliver? See"},
		{"keys create", "`govsvc keys` has no command \"create\"; did you mean mint? See `govsvc keys --help`"},
		{"keys delete", "did you mean revoke?"},
		{"keys zzzzzz", "`govsvc keys` has no command \"zzzzzz\"; see `govsvc keys --help`"},
		{"completion tcsh", "`govsvc completion` has no command \"tcsh\""},
		{"help zzzzzz", "unknown command \"zzzzzz\""},
		{"help keys zzzzzz", "`govsvc keys` has no command \"zzzzzz\""},
		{"--bogus", "unknown flag --bogus; see `govsvc --help`"},
		{"keys list --jsn", "unknown flag --jsn; did you mean --json? See `govsvc keys list --help`"},
		{"keys list -json", "unknown flag -json; did you mean --json?"},
		{"keys list -x", "unknown flag -x; see"},
		{"keys list --=x", "bad flag syntax"},
		{"keys list --json=maybe", "--json: \"maybe\" is not true or false; see"},
		{"keys list --db", "--db needs a value; see `govsvc keys list --help`"},
		{"keys list --db=", "--db: the path of the data file is empty"},
		{"keys list extra", "unexpected argument \"extra\"; see `govsvc keys list --help`"},
		{"version extra", "unexpected argument \"extra\""},

		{"keys mint", "--name and --scope are missing; see `govsvc keys mint --help`"},
		{"keys mint --name n", "--scope is missing; see"},
		{"keys mint --scope read:all", "--name is missing; see"},
		{"keys mint --name= --scope read:all", "--name: a name has 1 to 200 characters"},
		{"keys mint --name n --scope read:nothing", "--scope: no scope is named \"read:nothing\"; the scopes are " + strings.Join(openapi.Scopes(), ", ") + "; see"},
		{"keys mint --name n --scope read:all,", "--scope: \"read:all,\" has an empty value"},
		{"keys mint --name n --scope read:all --rpm 0", "--rpm: \"0\" is not a whole number from 1 to 2147483647"},
		{"keys mint --name n --scope read:all --rpd many", "--rpd: \"many\" is not a whole number"},
		{"keys mint --name n --scope read:all --rpm 99999999999", "--rpm: \"99999999999\" is not a whole number"},
		{"keys mint --name n --scope read:all --expires tomorrow", "--expires: \"tomorrow\" is not a date like 2027-03-31"},
		{"keys mint --name n --scope read:all --expires 2020-01-01", "--expires: 2020-01-01 is not in the future"},
		{"keys mint --name n --scope read:all --expires 2020-01-01T00:00:00Z", "is not in the future"},
		{"keys mint --name n --scope read:all --expires 2999-02-30", "is not a date"},
		{"keys revoke", "ID|PREFIX is missing; see `govsvc keys revoke --help`"},
		{"keys rotate a b", "unexpected argument \"b\""},
		{"keys rotate a --overlap 5d", "--overlap: \"5d\" is not a length of time like 24h"},
		{"keys rotate a --overlap -1h", "--overlap: \"-1h\" is not a length of time"},
		{"keys import", "--name and --scope are missing"},

		{"orgs create", "NAME is missing; see `govsvc orgs create --help`"},
		{"orgs create a b", "unexpected argument \"b\""},
		{"orgs create a --plan gold", "--plan: \"gold\" is not starter, professional, business or enterprise"},
		{"orgs set a", "nothing to set; give --plan, --subscription or both; see `govsvc orgs set --help`"},
		{"orgs set a --subscription paid", "--subscription: \"paid\" is not active, past_due or canceled"},

		{"users", "`govsvc users` needs a command: add, list, passwd, remove, reset-second-factor or set; "},
		{"users create", "did you mean add?"},
		{"users delete", "did you mean remove?"},
		{"users add", "NAME is missing; see `govsvc users add --help`"},
		{"users add a", "--role is missing; see `govsvc users add --help`"},
		{"users add a b --role admin", "unexpected argument \"b\""},
		{"users add a --role owner", "--role: \"owner\" is not admin, editor, auditor or viewer; see"},
		{"users add a --role admin --password x", "unknown flag --password"},
		{"users set a", "--role is missing; see `govsvc users set --help`"},
		{"users set a --role=", "--role: \"\" is not admin, editor, auditor or viewer"},
		{"users passwd", "NAME is missing; see `govsvc users passwd --help`"},
		{"users passwd a b", "unexpected argument \"b\""},
		{"users remove", "NAME is missing; see `govsvc users remove --help`"},
		{"users reset-second-factor", "NAME is missing; see"},
		{"users list x", "unexpected argument \"x\""},

		{"import", "FILE is missing; see `govsvc import --help`"},
		{"import - -", "standard input (-) is named twice"},
		{"import x --format xml", "--format: \"xml\" is not "},
		{"export --type nothing", "--type: no type is named \"nothing\"; the types are assessment, risk, "},
		{"export x", "unexpected argument \"x\""},
		{"audit verify x", "unexpected argument \"x\""},
		{"audit verify --head 12", "--head: \"12\" is not a SHA-256: 64 hexadecimal digits; see"},
		{"audit verify --file x", "--file needs --head: the file alone can't show that it is complete; see `govsvc audit verify --help`"},
		{"audit verify --from e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "--from goes with --file: "},
		{"audit export x", "unexpected argument \"x\""},
		{"audit export --format leef", "--format: \"leef\" is not ndjson, cef or ocsf"},
		{"audit export --since yesterday", "--since: \"yesterday\" is not a date like 2026-09-12"},
		{"audit export --until 2026-02-30", "--until: \"2026-02-30\" is not a date like 2026-09-12"},
		{"audit export --follow --until 2026-09-12", "--follow and --until exclude each other; give one of them; see"},

		{"evidence file", "--title is missing; see `govsvc evidence file --help`"},
		{"evidence file --title=", "--title: a title has 1 to 2000 characters"},
		{"evidence file --title t --attach=", "--attach: \"\" has an empty value"},
		{"evidence file --title t x", "unexpected argument \"x\""},
		{"evidence list x", "unexpected argument \"x\""},
		{"evidence export x", "--out is missing; see"},
		{"evidence export --out x", "ID is missing; see"},
		{"evidence verify", "PACK.zip is missing; see `govsvc evidence verify --help`"},
		{"evidence verify x --sha256 abc", "--sha256: \"abc\" is not a SHA-256"},

		{"backup", "FILE is missing; see `govsvc backup --help`"},
		{"backup a b", "unexpected argument \"b\""},
		{"backup a --db=", "--db: the path of the data file is empty"},
		{"restore", "FILE is missing; see `govsvc restore --help`"},
		{"restore a b", "unexpected argument \"b\""},
		{"restore a --db=", "--db: the path of the data file is empty"},
		{"restore a --rehearse b", "--rehearse names the backup and replaces nothing: use it without FILE and --force; see"},
		{"restore --force --rehearse b", "--rehearse names the backup and replaces nothing"},
		{"rollback", "did you mean restore?"},
		{"check x", "unexpected argument \"x\""},
		{"check --db=", "--db: the path of the data file is empty"},
		{"check --backup-within 2d", "--backup-within: \"2d\" is not a length of time like 24h"},
		{"doctor", "did you mean check?"},
		{"serve --backup-every 1h", "--backup-every goes with --backup-dir, the folder for backups; see"},
		{"serve --backup-keep 3", "--backup-keep goes with --backup-dir"},
		{"serve --backup-dir x --backup-keep 0", "--backup-keep: \"0\" is not a whole number from 1 to"},
		{"serve --backup-dir x --backup-every 0s", "--backup-every: \"0s\" is not a length of time like 24h or 30m, of at least 1s"},

		{"serve --delivered-logs-keep 30d", "--delivered-logs-keep: \"30d\" is not a length of time like 24h"},
		{"serve x", "unexpected argument \"x\""},
		{"serve --addr 8080", "--addr: \"8080\" is not HOST:PORT"},
		{"serve --addr :99999", "--addr: \":99999\" is not HOST:PORT"},
		{"serve --trusted-proxy 10.0.0.0/33", "--trusted-proxy: \"10.0.0.0/33\" is not a network"},
		{"serve --trusted-proxy 10.0.0.0/8,x", "--trusted-proxy: \"x\" is not a network"},
		{"serve --base-url gov.example.com", "--base-url: \"gov.example.com\" is not an address like https://"},
		{"serve --base-url https://gov.example.com/api", "--base-url: "},
		{"serve --base-url https://gov.example.com?a", "--base-url: "},
		{"serve --contact zoe", "--contact: \"zoe\" is neither an e-mail address like api@example.com nor a URL like https://example.com/help"},
		{"openapi --contact ftp://example.com", "--contact: "},
		{"serve --anonymous-rpm -1", "--anonymous-rpm: \"-1\" is not a whole number from 0 "},
		{"serve --webhook-rate -1", "--webhook-rate: \"-1\" is not a whole number from 0 "},
		{"deliver --webhook-rate many", "--webhook-rate: \"many\" is not a whole number from 0 "},
		{"serve --log-format xml", "--log-format: \"xml\" is not text or json"},
		{"serve --webhook-allow x", "--webhook-allow: \"x\" is not a network"},
		{"serve --webhook-ca a.pem,", "--webhook-ca: \"a.pem,\" has an empty value"},
		{"serve --webhook-schedule 5", "--webhook-schedule: \"5\" is not a length of time like 5s, 30m or 24h, up to 8760h; separate the waits by commas; see"},
		{"serve --webhook-schedule 1s,,2s", "--webhook-schedule: \"\" is not a length of time"},
		{"serve --webhook-schedule 1s,-2s", "--webhook-schedule: \"-2s\" is not a length of time"},
		{"deliver --webhook-schedule 9999h", "--webhook-schedule: \"9999h\" is not a length of time"},
		{"deliver --webhook-allow 10.0.0.0/99", "--webhook-allow: \"10.0.0.0/99\" is not a network"},
		{"deliver now", "unexpected argument \"now\""},
		{"deliver --log-format xml", "--log-format: \"xml\" is not text or json"},
		{"sandbox x", "unexpected argument \"x\""},
		{"sandbox --addr 4010", "--addr: \"4010\" is not HOST:PORT"},

		{"deadletters", "`govsvc deadletters` needs a command: discard, list or replay; "},
		{"deadletters list x", "unexpected argument \"x\""},
		{"deadletters replay", "ID is missing; give ids of dead letters or --all; see `govsvc deadletters replay --help`"},
		{"deadletters replay a --all", "give ids of dead letters or --all, not both; see `govsvc deadletters replay --help`"},
		{"deadletters retry", "did you mean replay?"},
		{"deadletters discard", "ID is missing; see `govsvc deadletters discard --help`"},
		{"deadletters discard --all", "unknown flag --all"},

		{"webhooks", "`govsvc webhooks` needs a command: list, listen, rotate-secret or trigger; "},
		{"webhooks list x", "unexpected argument \"x\""},
		{"webhooks rotate-secret", "ID is missing; see `govsvc webhooks rotate-secret --help`"},
		{"webhooks rotate-secret a b", "unexpected argument \"b\""},
		{"webhooks rotate-secret a --overlap 1d", "--overlap: \"1d\" is not a length of time like 24h"},
		{"webhooks listen x", "unexpected argument \"x\""},
		{"webhooks listen --addr 9443", "--addr: \"9443\" is not HOST:PORT"},
		{"webhooks listen --secret hush", "--secret: a signing secret consists of whsec_ and base64 text; copy it unchanged; see"},
		{"webhooks listen --secret whsec_hush!", "--secret: a signing secret consists of whsec_ and base64 text; copy it unchanged; see"},
		{"webhooks listen --secret whsec_", "--secret: a signing secret consists of whsec_ and base64 text"},
		{"webhooks listen --forward-to localhost:3000", "--forward-to: \"localhost:3000\" is not a URL like http://localhost:3000/hook"},
		{"webhooks listen --forward-to ftp://localhost/", "--forward-to: \"ftp://localhost/\" is not a URL like"},
		{"webhooks listen --forward-to http://u:p@localhost/", "is not a URL like"},
		{"webhooks listen --forward-to=", "--forward-to: \"\" is not a URL like"},
		{"webhooks trigger", "TYPE is missing; see `govsvc webhooks trigger --help`"},
		{"webhooks trigger ping", "--secret and --url are missing; see"},
		{"webhooks trigger ping --url https://example.com/", "--secret is missing; see"},
		{"webhooks trigger pong --url https://example.com/ --secret whsec_AAAA", "no event has the type \"pong\"; the types are " + strings.Join(db.EventTypes(), ", ") + "; see"},
		{"webhooks trigger ping x --url https://example.com/ --secret whsec_AAAA", "unexpected argument \"x\""},
		{"webhooks trigger ping --url http://example.com/ --secret whsec_AAAA", "--url: url must be an https URL, such as https://example.com/hooks; see"},
		{"webhooks trigger ping --url https://u:p@example.com/ --secret whsec_AAAA", "--url: url must not contain a user name or password"},
		{"webhooks trigger ping --url https://0x7f.1/ --secret whsec_AAAA", "--url: url must have an IPv4 address as four decimal numbers"},

		{"serve --metrics-addr 9090", "--metrics-addr: \"9090\" is not HOST:PORT"},
	} {
		t.Run(row.line, func(t *testing.T) {
			t.Parallel()
			c := newCLIWithoutFile(t)
			if got := c.refused(2, strings.Fields(row.line)...); !strings.Contains(got, row.want) {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
			if exists(c.env["GOVSVC_DB"]) {
				t.Error("it made a data file")
			}
		})
	}
}

func TestOrgsCreate_NeedsName(t *testing.T) {
	t.Parallel()
	if got, want := newCLI(t).refused(2, "orgs", "create", " "), "an organisation's name has 1 to 200 characters"; !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestCommands_MakeNoMissingFile checks that commands that need an existing data file make
// none.
func TestCommands_MakeNoMissingFile(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"keys list", "keys revoke x", "keys rotate x", "orgs list", "orgs set default --plan starter", "orgs rename a b", "orgs remove a",
		"export", "audit verify", "audit export", "evidence list", "evidence file --title t", "evidence export x --out FILE", "keys mint --name n --scope read:all --org other", "import --dry-run FILE",
		"deliver --once", "deliver", "webhooks list", "webhooks rotate-secret x", "deadletters list", "deadletters replay --all",
		"deadletters replay x", "deadletters discard x", "backup copy.db",
		"users list", "users set x --role admin", "users passwd x", "users remove x", "users reset-second-factor x",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			c := newCLIWithoutFile(t)
			line = strings.ReplaceAll(line, "FILE", c.file("x.ndjson", ""))
			if got := c.refused(1, strings.Fields(line)...); !strings.Contains(got, "govsvc.db: no such file; give the data file with --db") {
				t.Errorf("got %s", got)
			}
			if exists(c.env["GOVSVC_DB"]) {
				t.Error("it made a data file")
			}
		})
	}
}

func TestEnvironment_SetsFlags(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, line string
		env        map[string]string
		status     int
		want       string // in stdout and stderr together
	}{
		{"required flags", "keys mint --json", map[string]string{"GOVSVC_NAME": "ci", "GOVSVC_SCOPE": "read:risks, write:risks", "GOVSVC_TEST": "true"}, 0, "\"name\": \"ci\",\n  \"kind\": \"test\",\n  \"scopes\": [\n    \"read:risks\",\n    \"write:risks\"\n  ]"},
		{"a flag wins", "keys mint --json --name flag --scope read:all", map[string]string{"GOVSVC_NAME": "variable", "GOVSVC_SCOPE": "write:risks"}, 0, "\"name\": \"flag\",\n  \"kind\": \"live\",\n  \"scopes\": [\n    \"read:all\"\n  ]"},
		{"a flag wins over a bad one", "version --json=false", map[string]string{"GOVSVC_JSON": "maybe"}, 0, "govsvc "},
		{"a switch", "version", map[string]string{"GOVSVC_JSON": "1"}, 0, `"sqlite": "3.`},
		{"an empty one", "version", map[string]string{"GOVSVC_JSON": ""}, 0, "SQLite 3."},
		{"dashes", "serve --print-config", map[string]string{"GOVSVC_LOG_FORMAT": "json"}, 0, "log-format: json  # environment, GOVSVC_LOG_FORMAT\n"},
		{"a one-shot flag", "import --json /dev/null", map[string]string{"GOVSVC_DRY_RUN": "true"}, 0, `"dry_run": false`},
		{"bad switch", "version", map[string]string{"GOVSVC_JSON": "maybe"}, 2, "govsvc: GOVSVC_JSON: \"maybe\" is not true or false; see `govsvc version --help`\n"},
		{"bad number", "serve", map[string]string{"GOVSVC_ANONYMOUS_RPM": "x"}, 2, `govsvc: GOVSVC_ANONYMOUS_RPM: "x" is not a whole number from 0 to 2147483647; `},
		{"bad network", "serve", map[string]string{"GOVSVC_TRUSTED_PROXY": "10.0.0.0/8,x"}, 2, `govsvc: GOVSVC_TRUSTED_PROXY: "x" is not a network`},
		{"bad choice", "orgs create a", map[string]string{"GOVSVC_PLAN": "gold"}, 2, `govsvc: GOVSVC_PLAN: "gold" is not starter, `},
		{"bad scope", "keys mint --name n", map[string]string{"GOVSVC_SCOPE": "gold"}, 2, `govsvc: GOVSVC_SCOPE: no scope is named "gold"`},
		{"of another command", "version", map[string]string{"GOVSVC_PLAN": "gold", "GOVSVC_VERSION": "x", "GOVSVC_HELP": "x"}, 0, "govsvc "},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := newCLI(t)
			for name, value := range row.env {
				c.env[name] = value
			}
			o := c.run(strings.Fields(row.line)...)
			if o.status != row.status || !strings.Contains(o.stdout+o.stderr, row.want) {
				t.Errorf("got %+v, want status %d and %s", o, row.status, row.want)
			}
		})
	}
}

// variableCount returns how often the help of a flag names its variable. A one-shot
// flag has none.
func variableCount(flag string) int {
	switch flag {
	case "force", "all", "all-orgs", "dry-run", "once", "rehearse", "template", "print-head", "print-config", "reason", "licenses", "schema", "3.0":
		return 0
	}
	return 1
}

// TestHelp_DescribesEachCommand checks the help of all commands.
func TestHelp_DescribesEachCommand(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	seen := 0
	var walk func(path ...string)
	walk = func(path ...string) {
		seen++
		help := c.must(append(path, "--help")...)
		if other := c.must(append([]string{"help"}, path...)...); other != help {
			t.Errorf("%q: `help` differs from --help:\n%s", path, other)
		}
		ours := len(path) == 0 || path[0] != "completion"
		var commands []string
		section, width := "", 100
		if ours {
			width = 80
		}
		for line := range strings.Lines(help) {
			line = strings.TrimRight(line, "\n")
			if line == "Usage:" {
				width = 100
			}
			switch {
			case len(line) > width:
				t.Errorf("%q: a line of %d characters: %s", path, len(line), line)
			case strings.HasSuffix(line, ":"):
				section = line
			case section == "Commands:" && strings.HasPrefix(line, "  "):
				commands = append(commands, strings.Fields(line)[0])
			}
		}
		if leaf := len(commands) == 0; ours && leaf && !strings.Contains(help, "Examples:\n  ") {
			t.Errorf("%q: no example", path)
		}
		for flag := range strings.SplitSeq(help, "      --") {
			name, _, _ := strings.Cut(strings.Fields(flag)[0], "=")
			want := "[GOVSVC_" + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(name)) + "]"
			if flag != help && !strings.HasPrefix(help, flag) && strings.Count(flag, want) != variableCount(name) {
				t.Errorf("%q: --%s does not name its variable once: %s", path, name, flag)
			}
			if flag != help && strings.Fields(flag)[1] == "string" {
				t.Errorf("%q: --%s does not name its value: %s", path, name, flag)
			}
		}
		for _, name := range commands {
			walk(append(path[:len(path):len(path)], name)...)
		}
	}
	walk()
	if seen < 20 {
		t.Errorf("only %d commands seen", seen)
	}
	mint := strings.ReplaceAll(c.must("keys", "mint", "--help"), "\n", " ")
	_, known, _ := strings.Cut(c.refused(2, "keys", "mint", "--scope", "x"), "the scopes are ")
	known, _, _ = strings.Cut(known, ";")
	for scope := range strings.SplitSeq(known, ", ") {
		if !strings.Contains(mint, scope) {
			t.Errorf("the help of keys mint does not name %s", scope)
		}
	}
}

func TestVersion_NamesComponents(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	for _, want := range []string{"govsvc ", "\ncommit ", "\nGo     go1.", "\nSQLite 3."} {
		if got := c.must("version"); !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	if got := c.must("--version"); !strings.HasPrefix(got, "govsvc ") {
		t.Errorf("--version: %q", got)
	}
}
