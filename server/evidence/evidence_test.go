package evidence_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
	"govsvc/server/evidence"
)

// unzip reads an archive with the standard library.
func unzip(t *testing.T, archive []byte) (names []string, files map[string]string) {
	t.Helper()
	reader, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	for _, f := range reader.File {
		from, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, f.Name)
		files[f.Name] = string(text)
	}
	return names, files
}

func TestFile(t *testing.T) {
	t.Parallel()
	s := filled(t)
	pack, archive := s.file(evidence.Draft{Title: " Q3 audit ", Attachments: []evidence.Attachment{attached("b.txt", "bee"), attached("a.txt", "")}})
	names, files := unzip(t, archive)
	want := []string{
		"manifest.json", "posture.json", "obligations.json", "risks.json", "incidents.json", "kpis.json",
		"attachments/a.txt", "attachments/b.txt",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for name, parts := range map[string][]string{
		"posture.json":      {`"version_number":2`, `"Version 2."`},
		"obligations.json":  {"[\n{", `"O-1"`, "},\n{", `"O-2"`, "}\n]\n"},
		"risks.json":        {`"RISK-0001"`, `"severity_evidence":[{"id":"`, `"actor":"system","reason":"Retrained and tested on the July sample","before":{"severity":"CRITICAL"`, `"after":{"severity":"MEDIUM"`, `"RISK-0002"`, `"severity_evidence":[]`},
		"incidents.json":    {`"timeline":[{"at":"2026-09-01T08:00:00.000Z","status":"open","note":"Declared"`, `"status":"resolved"`},
		"kpis.json":         {`"target_value":90.5`, `"current_value":60`, `"checkins":[{"object":"kpi_checkin"`, `"value":55.25,"period_start":"2026-07-01"`, `"value":60,"period_start":"2026-08-01"`},
		"attachments/b.txt": {"bee"},
	} {
		rest := files[name]
		for _, part := range parts {
			_, after, found := strings.Cut(rest, part)
			if !found {
				t.Errorf("%s: got\n%s\nwant %s at this position", name, files[name], part)
			}
			rest = after
		}
		if strings.HasSuffix(name, ".json") && !json.Valid([]byte(files[name])) {
			t.Errorf("%s is not JSON", name)
		}
	}
	if strings.Contains(files["posture.json"], "Version 1.") {
		t.Error("posture.json has a replaced posture")
	}
	checkManifest(t, s, pack, names, files)
}

func checkManifest(t *testing.T, s *store, pack db.EvidencePack, names []string, files map[string]string) {
	t.Helper()
	var got evidence.Manifest
	if err := json.Unmarshal([]byte(files["manifest.json"]), &got); err != nil {
		t.Fatal(err)
	}
	schema, err := s.File.Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := evidence.Manifest{
		Object: "evidence_manifest", APIVersion: "2026-09-12", PackID: pack.ID, Title: "Q3 audit",
		Organisation: evidence.Organisation{ID: s.org.ID, Name: "default"}, FiledAt: "2026-10-01T12:00:00.000Z", FiledBy: "system",
		Versions: evidence.Versions{Manifest: 1, Govsvc: "v1.2.3", Schema: schema},
	}
	for _, name := range names[1:] {
		want.Items = append(want.Items, evidence.Item{Path: name, Size: int64(len(files[name])), SHA256: hash(files[name])})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
	canonical, err := evidence.Canonical([]byte(files["manifest.json"]))
	if err != nil || string(canonical) != files["manifest.json"] {
		t.Errorf("the manifest is not canonical: %v", err)
	}
	if pack.ManifestSHA256 != hash(files["manifest.json"]) || pack.ItemCount != len(names)-1 {
		t.Errorf("got pack %+v, want that of the manifest", pack)
	}
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// TestFile_Reports checks the list of packs, the webhook event and the audit log after a
// pack is filed.
func TestFile_Reports(t *testing.T) {
	t.Parallel()
	s := filled(t)
	testdb.Subscribe(t, s.File.Path())
	pack, archive := s.file(evidence.Draft{})
	if pack.Size != int64(len(archive)) {
		t.Errorf("got size %d, want %d", pack.Size, len(archive))
	}
	packs, err := s.Evidence.List(t.Context(), s.org.Org)
	if diff := cmp.Diff([]db.EvidencePack{pack}, packs); diff != "" || err != nil {
		t.Errorf("list, %v (-want +got):\n%s", err, diff)
	}
	var event struct {
		Type string
		Data map[string]any
	}
	if err := json.Unmarshal([]byte(s.value("SELECT body FROM events WHERE type LIKE 'evidence%'")), &event); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"pack_id": pack.ID, "title": "Q3 audit", "item_count": 5.0, "manifest_sha256": pack.ManifestSHA256, "filed_at": "2026-10-01T12:00:00.000Z",
	}
	if diff := cmp.Diff(want, event.Data); diff != "" || event.Type != "evidence.pack_filed" {
		t.Errorf("event %s (-want +got):\n%s", event.Type, diff)
	}
	const filed = `SELECT group_concat(event ->> 'action' || ' ' || (event ->> 'category') || ' ' || (event ->> 'severity') || ' ' || (event ->> 'resource_id'), ';')
		FROM audit_events WHERE event ->> 'resource_type' = 'evidence_pack'`
	if got, want := s.value(filed), "evidence_pack.filed data_change 3 "+pack.ID+";evidence_pack.exported export 1 "+pack.ID; got != want {
		t.Errorf("audit log: got %s, want %s", got, want)
	}
	if s.value("SELECT manifest FROM evidence_packs") != string(manifestOf(t, archive)) {
		t.Error("the manifest in the data file differs from that in the archive")
	}
	if _, err := s.Evidence.Export(t.Context(), s.by, "0199", io.Discard); !db.Is(err, db.NotFound) {
		t.Errorf("export of an unknown pack: got %v", err)
	}
	other, err := s.Orgs.Create(t.Context(), s.by, "other", db.Enterprise)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Evidence.Export(t.Context(), db.Actor{Org: other.Org, ID: "system"}, pack.ID, io.Discard); !db.Is(err, db.NotFound) {
		t.Errorf("export of another organisation's pack: got %v", err)
	}
}

func manifestOf(t *testing.T, archive []byte) []byte {
	t.Helper()
	_, files := unzip(t, archive)
	return []byte(files["manifest.json"])
}

// TestFile_Deterministic checks that the same data make the same bytes.
func TestFile_Deterministic(t *testing.T) {
	t.Parallel()
	draft := evidence.Draft{Attachments: []evidence.Attachment{attached("b", "2"), attached("a", "1")}}
	_, first := filled(t).file(draft)
	draft.Attachments[0], draft.Attachments[1] = draft.Attachments[1], draft.Attachments[0]
	if _, second := filled(t).file(draft); !bytes.Equal(first, second) {
		t.Error("two packs of the same data differ")
	}
}

func TestFile_EmptyDataFile(t *testing.T) {
	t.Parallel()
	_, archive := newStore(t).file(evidence.Draft{})
	_, files := unzip(t, archive)
	if files["posture.json"] != "null\n" || files["risks.json"] != "[]\n" {
		t.Errorf("got posture %q, risks %q", files["posture.json"], files["risks.json"])
	}
	if _, err := verify(t.Context(), archive); err != nil {
		t.Error(err)
	}
}

func TestFile_Regime(t *testing.T) {
	t.Parallel()
	s := filled(t)
	pack, archive := s.file(evidence.Draft{RegimeID: "eu-ai-act"})
	_, files := unzip(t, archive)
	if got := files["obligations.json"]; !strings.Contains(got, "O-1") || strings.Contains(got, "O-2") {
		t.Errorf("got obligations %s, want O-1 alone", got)
	}
	if !strings.Contains(files["manifest.json"], `"regime_id":"eu-ai-act"`) || *pack.RegimeID != "eu-ai-act" {
		t.Errorf("got manifest %s, want the regime", files["manifest.json"])
	}
	if _, archive = s.file(evidence.Draft{RegimeID: "gdpr"}); !strings.Contains(string(archive), "[]\n") {
		t.Error("a regime that only the posture names: want an empty list")
	}
}

// TestFile_RefusesDraft checks that a draft that can't be filed leaves nothing.
func TestFile_RefusesDraft(t *testing.T) {
	t.Parallel()
	s := filled(t)
	before := s.value("SELECT count(*) FROM audit_events")
	broken := evidence.Attachment{Name: "x", Open: func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(strings.NewReader("half"), failing{})), nil
	}}
	sized := func(name string, n int64) evidence.Attachment {
		return evidence.Attachment{Name: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(io.LimitReader(testkit.Zeros{}, n)), nil }}
	}
	for name, row := range map[string]struct {
		draft evidence.Draft
		want  string
	}{
		"no title":       {evidence.Draft{Title: " "}, "a title has 1 to 2000 characters"},
		"long title":     {evidence.Draft{Title: strings.Repeat("ä", 2001)}, "a title has 1 to 2000 characters"},
		"broken title":   {evidence.Draft{Title: "a\xff"}, "a title has 1 to 2000 characters"},
		"regime":         {evidence.Draft{Title: "t", RegimeID: "hipaa"}, `regime "hipaa"; the regimes are: eu-ai-act, gdpr, iso-42001`},
		"twice":          {evidence.Draft{Title: "t", Attachments: []evidence.Attachment{attached("a/x.txt", ""), attached("b/x.txt", "")}}, `"a/x.txt" and "b/x.txt" would both be attachments/x.txt`},
		"twice in case":  {evidence.Draft{Title: "t", Attachments: []evidence.Attachment{attached("Ära.TXT", ""), attached("ära.txt", "")}}, "would both be attachments/"},
		"twice, cleaned": {evidence.Draft{Title: "t", Attachments: []evidence.Attachment{attached("a?", ""), attached("a*", "")}}, "would both be attachments/a_"},
		"broken":         {evidence.Draft{Title: "t", Attachments: []evidence.Attachment{broken}}, "x: the disk is gone"},
		"too many":       {evidence.Draft{Title: "t", Attachments: make([]evidence.Attachment, 1001)}, "at most 1000 attachments"},
		"too large":      {evidence.Draft{Title: "t", Attachments: []evidence.Attachment{sized("big", evidence.MaxAttachment+1)}}, "big is larger than 64 MiB"},
		"too large in all": {evidence.Draft{Title: "t", Attachments: []evidence.Attachment{
			sized("1", evidence.MaxAttachment), sized("2", evidence.MaxAttachment), sized("3", evidence.MaxAttachment), sized("4", evidence.MaxAttachment), sized("5", 1),
		}}, "larger than 256 MiB in all"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := evidence.File(t.Context(), s.DB, s.by, s.org, row.draft)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %s", err, row.want)
			}
		})
	}
	if after := s.value("SELECT count(*) FROM audit_events"); after != before {
		t.Errorf("got %s audit events, want %s", after, before)
	}
	if n := s.value("SELECT (SELECT count(*) FROM evidence_packs) + (SELECT count(*) FROM evidence_pieces) + (SELECT count(*) FROM evidence_uploads)"); n != "0" {
		t.Errorf("got %s rows of packs, want 0", n)
	}
}

// TestFile_NoRegimes checks the message if no record names a regime.
func TestFile_NoRegimes(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	_, err := evidence.File(t.Context(), s.DB, s.by, s.org, evidence.Draft{Title: "t", RegimeID: "x"})
	if want := `no obligation and no current posture names a regime "x"; the regimes are: none yet`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("the disk is gone") }

// TestFile_Large files a pack of several pieces.
func TestFile_Large(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	_, archive := s.file(evidence.Draft{Attachments: []evidence.Attachment{attached("large", strings.Repeat("0123456789", 300_000))}})
	if _, err := verify(t.Context(), archive); err != nil {
		t.Error(err)
	}
	if n := s.value("SELECT count(*) FROM evidence_pieces"); n != "3" {
		t.Errorf("got %s pieces, want 3", n)
	}
}

func TestSafeName(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"policy.pdf":                      "policy.pdf",
		"Prüfbericht (2026-09) №1.pdf":    "Prüfbericht (2026-09) _1.pdf",
		"議事録.pdf":                         "議事録.pdf",
		"../../etc/passwd":                "passwd",
		`C:\Users\x\secret.txt`:           "secret.txt",
		"/":                               "_",
		".":                               "_",
		"..":                              "_",
		"":                                "_",
		"...":                             "_",
		".bashrc":                         "_.bashrc",
		"-rf":                             "_-rf",
		" a ":                             "_ a_",
		"a.":                              "a_",
		"a. . ":                           "a_",
		"a\nb\x00c\x1b[31m":               "a_b_c__31m",
		"gpj.\u202eexe":                   "gpj._exe",
		"a\u200bb":                        "a_b",
		"bad\xff\xfename":                 "bad_name",
		"a\ufffdb":                        "a_b",
		"\u0301a":                         "_\u0301a",
		"CON":                             "_CON",
		"con.txt":                         "_con.txt",
		"nul .tar.gz":                     "_nul .tar.gz",
		"COM1":                            "_COM1",
		"lpt9.x":                          "_lpt9.x",
		"COM10":                           "COM10",
		"a:b":                             "a_b",
		"x.txt:$DATA":                     "x.txt__DATA",
		"a*?<>|\"b":                       "a______b",
		"%2e%2e%2f":                       "_2e_2e_2f",
		strings.Repeat("ä", 200) + ".pdf": strings.Repeat("ä", 98) + ".pdf",
		strings.Repeat("a", 300):          strings.Repeat("a", 200),
		"a." + strings.Repeat("b", 300):   "a." + strings.Repeat("b", 198),
	} {
		got := evidence.SafeName(given)
		if got != want {
			t.Errorf("%q: got %q, want %q", given, got, want)
		}
		if again := evidence.SafeName(got); again != got {
			t.Errorf("%q: got %q for a safe name, want it unchanged", got, again)
		}
	}
}

// TestFile_HostileNames files a pack with hostile names of attachments and verifies it.
func TestFile_HostileNames(t *testing.T) {
	t.Parallel()
	var files []evidence.Attachment
	for _, name := range []string{"../../up", `..\..\back`, "/etc/abs", "nul\x00l", "line\nfeed", "C:drive", "x\xff", "manifest.json", ".", "aux"} {
		files = append(files, attached(name, name))
	}
	_, archive := newStore(t).file(evidence.Draft{Attachments: files})
	pack, err := verify(t.Context(), archive)
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range pack.Items {
		if rest, in := strings.CutPrefix(item.Path, "attachments/"); in && (!filepath.IsLocal(rest) || strings.ContainsAny(rest, "/\\:\x00\n")) {
			t.Errorf("got path %q, want a local one", item.Path)
		}
	}
}
