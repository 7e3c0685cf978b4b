package cmd_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEvidence_FilesAndExportsPack(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("orgs", "create", "acme")
	c.must("import", "--org", "acme", "../sandbox/demo.ndjson")
	if got := c.must("evidence", "list", "--org", "acme", "--json"); got != "[]\n" {
		t.Errorf("list of none: %s", got)
	}
	policy, minutes := c.file("Policy, v2.pdf", "policy"), c.file("minutes.txt", "minutes")
	var pack struct {
		ID     string
		SHA256 string `json:"manifest_sha256"`
		Items  int    `json:"item_count"`
	}
	out := filepath.Join(c.dir, "pack.zip")
	text := c.must("evidence", "file", "--org", "acme", "--title", "Q3 audit", "--attach", policy, "--attach", minutes, "--regime", "gdpr", "--out", out, "--json")
	if err := json.Unmarshal([]byte(text), &pack); err != nil || pack.Items != 7 || len(pack.SHA256) != 64 {
		t.Fatalf("%s, %v", text, err)
	}
	list := c.must("evidence", "list", "--org", "acme")
	for _, want := range []string{"MANIFEST SHA-256\n", pack.ID, "Q3 audit", "gdpr", pack.SHA256} {
		if !strings.Contains(list, want) {
			t.Errorf("no %s in the list\n%s", want, list)
		}
	}

	verified := c.must("evidence", "verify", out, "--sha256", strings.ToUpper(pack.SHA256))
	if !strings.HasPrefix(verified, out+": unchanged since it was filed, 7 items\ntitle Q3 audit\norganisation acme\n") || !strings.HasSuffix(verified, "\nmanifest_sha256 "+pack.SHA256+"\n") {
		t.Errorf("verified: %s", verified)
	}
	again := filepath.Join(c.dir, "again.zip")
	if got := c.must("evidence", "export", pack.ID, "--org", "acme", "--out", again); got != "" || c.read(again) != c.read(out) {
		t.Errorf("the exported pack is not the one that was filed; stdout %q", got)
	}
	if got := c.must("evidence", "export", pack.ID, "--org", "acme", "--out", "-"); got != c.read(out) {
		t.Error("the pack on stdout is not the one that was filed")
	}
	if info, err := os.Stat(again); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestEvidenceVerify_Refuses(t *testing.T) {
	t.Parallel()
	c := newCLIWithoutFile(t)
	c.must("orgs", "create", "acme")
	out := filepath.Join(c.dir, "pack.zip")
	c.must("evidence", "file", "--title", "t", "--attach", c.file("note.txt", "the note"), "--out", out)
	c.env["GOVSVC_DB"] = filepath.Join(c.dir, "none.db") // offline
	c.must("evidence", "verify", out)

	other := strings.Repeat("0", 64)
	if got := c.refused(1, "evidence", "verify", out, "--sha256", other); !strings.Contains(got, "pack.zip: manifest.json: its SHA-256 is ") || !strings.Contains(got, ", not "+other+": this is a different pack, or a forged one") {
		t.Errorf("another hash: %s", got)
	}
	tampered := c.file("tampered.zip", strings.Replace(c.read(out), "the note", "The note", 1))
	if got := c.refused(1, "evidence", "verify", tampered); !strings.Contains(got, "tampered.zip: attachments/note.txt: differs from what was filed") {
		t.Errorf("an item: %s", got)
	}
	o := c.run("evidence", "verify", "--json", tampered)
	var verdict struct {
		Intact bool
		Fault  struct{ Path string }
	}
	if err := json.Unmarshal([]byte(o.stdout), &verdict); err != nil || o.status != 1 || verdict.Intact || verdict.Fault.Path != "attachments/note.txt" || strings.Count(o.stderr, "\n") != 1 {
		t.Errorf("as JSON: %+v, %v", o, err)
	}
	evil := c.file("evil.zip", strings.ReplaceAll(c.read(out), "note.txt", "\x1b[31m\n.t"))
	if got := c.refused(1, "evidence", "verify", evil); strings.ContainsRune(got, 0x1b) {
		t.Errorf("a name that steers the terminal: %q", got)
	}
	for name, want := range map[string]string{
		c.file("x.zip", "hello"):         "x.zip: is not a complete zip archive",
		c.dir:                            " is not a file",
		newSocket(c):                     "socket is not a file",
		filepath.Join(c.dir, "none.zip"): "none.zip: no such file or directory",
	} {
		if got := c.refused(1, "evidence", "verify", name); !strings.Contains(got, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	if exists(c.env["GOVSVC_DB"]) {
		t.Error("it made a data file")
	}
}

func TestEvidence_RefusesWrongUse(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("orgs", "create", "acme")
	twice := filepath.Join(c.dir, "below")
	must(t, os.Mkdir(twice, 0o700))
	first, second := c.file("note.txt", ""), c.file("below/NOTE.txt", "")
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"--attach", first + "," + second}, `"note.txt" and "NOTE.txt" would both be attachments/NOTE.txt`},
		{[]string{"--attach", twice}, "below is not a file"},
		{[]string{"--attach", "none.txt"}, "--attach: none.txt: no such file or directory"},
		{[]string{"--regime", "hipaa"}, `names a regime "hipaa"`},
		{[]string{"--org", "none"}, `no organisation is named "none"`},
	} {
		if got := c.refused(1, append([]string{"evidence", "file", "--title", "t"}, row.args...)...); !strings.Contains(got, row.want) {
			t.Errorf("%q: got %s, want %s", row.args, got, row.want)
		}
	}
	c.refused(2, "evidence", "file", "--title", "t", "--out", "-")
	if got := c.refused(1, "evidence", "export", "0199", "--out", filepath.Join(c.dir, "x.zip")); !strings.Contains(got, "no evidence pack 0199 in this organisation; `govsvc evidence list` shows them") || exists(filepath.Join(c.dir, "x.zip")) {
		t.Errorf("no pack: %s", got)
	}
	if got := c.must("evidence", "list"); strings.Count(got, "\n") != 1 {
		t.Errorf("something was filed:\n%s", got)
	}
}
