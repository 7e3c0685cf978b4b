package evidence_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"govsvc/internal/testkit"
	"govsvc/server/evidence"
)

// TestVerify_Golden verifies a pack that an earlier version filed. It must remain valid.
// Update the file only with a new version of the manifest.
func TestVerify_Golden(t *testing.T) {
	t.Parallel()
	const path, sum = "testdata/pack.zip", "testdata/pack.sha256"
	if testkit.Update() {
		pack, archive := filled(t).file(evidence.Draft{Title: "Kept for ever", Attachments: []evidence.Attachment{attached("note.txt", "note\n")}})
		for path, text := range map[string]string{path: string(archive), sum: pack.ManifestSHA256} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	pack, err := verify(t.Context(), read(t, path))
	if err != nil {
		t.Fatal(err)
	}
	if pack.ManifestSHA256 != string(read(t, sum)) || pack.Title != "Kept for ever" || len(pack.Items) != 6 {
		t.Errorf("got %+v", pack)
	}
}

// TestVerify_EveryByte checks that no byte can be changed, removed or added.
func TestVerify_EveryByte(t *testing.T) {
	t.Parallel()
	_, archive := newStore(t).file(evidence.Draft{Attachments: []evidence.Attachment{attached("note.txt", "note\n")}})
	refused := func(change string, at int, altered []byte) {
		t.Helper()
		var fault *evidence.VerificationError
		if _, err := verify(t.Context(), altered); !errors.As(err, &fault) || fault.Reason == "" {
			t.Errorf("byte %d of %d %s: got %v, want a fault", at, len(archive), change, err)
		}
	}
	for at := range archive {
		altered := bytes.Clone(archive)
		altered[at] ^= 1 << (at % 8)
		refused("flipped", at, altered)
		if at%29 == 0 {
			refused("removed", at, slices.Delete(bytes.Clone(archive), at, at+1))
			refused("doubled", at, slices.Insert(bytes.Clone(archive), at, archive[at]))
			refused("and the rest removed", at, archive[:at])
		}
	}
}

// pack is an archive that a test changes.
type pack struct {
	order   []string
	files   map[string]string
	method  uint16
	comment string
	change  func(*zip.FileHeader)
}

// openPack reads a pack.
func openPack(t *testing.T, archive []byte) *pack {
	t.Helper()
	p := &pack{}
	p.order, p.files = unzip(t, archive)
	return p
}

func (p *pack) zip(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestSpeed) })
	for _, name := range p.order {
		header := &zip.FileHeader{Name: name, Method: p.method}
		if p.change != nil {
			p.change(header)
		}
		to, err := w.CreateHeader(header)
		if err == nil {
			_, err = io.WriteString(to, p.files[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.SetComment(p.comment); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (p *pack) add(name, text string) {
	p.order = append(p.order, name)
	p.files[name] = text
}

func (p *pack) remove(name string) {
	p.order = slices.DeleteFunc(p.order, func(n string) bool { return n == name })
}

// edit changes the manifest and keeps it canonical.
func (p *pack) edit(t *testing.T, change func(*evidence.Manifest)) {
	t.Helper()
	var m evidence.Manifest
	if err := json.Unmarshal([]byte(p.files["manifest.json"]), &m); err != nil {
		t.Fatal(err)
	}
	change(&m)
	text, err := json.Marshal(m)
	if err == nil {
		text, err = evidence.Canonical(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.files["manifest.json"] = string(text)
}

// TestVerify_Changed changes a pack as a zip program can. The error names the first
// file that differs.
func TestVerify_Changed(t *testing.T) {
	t.Parallel()
	archive := read(t, "testdata/pack.zip")
	edit := func(change func(*evidence.Manifest)) func(*testing.T, *pack) {
		return func(t *testing.T, p *pack) { t.Helper(); p.edit(t, change) }
	}
	for name, row := range map[string]struct {
		change func(*testing.T, *pack)
		path   string
		want   string
	}{
		"nothing":    {func(*testing.T, *pack) {}, "manifest.json", "written again"},
		"compressed": {func(_ *testing.T, p *pack) { p.method = zip.Deflate }, "manifest.json", "written again"},
		"a comment":  {func(_ *testing.T, p *pack) { p.comment = "hello" }, "manifest.json", "written again"},
		"an item":    {func(_ *testing.T, p *pack) { p.files["risks.json"] += " " }, "risks.json", "longer than the"},
		"an item's text": {func(_ *testing.T, p *pack) {
			p.files["risks.json"] = strings.Replace(p.files["risks.json"], "MEDIUM", "medium", 1)
		}, "risks.json", "SHA-256"},
		"an item cut":      {func(_ *testing.T, p *pack) { p.files["kpis.json"] = "[]\n" }, "kpis.json", "has 3 bytes; "},
		"two items":        {func(_ *testing.T, p *pack) { p.files["kpis.json"], p.files["incidents.json"] = "", "" }, "incidents.json", "has 0 bytes"},
		"removed":          {func(_ *testing.T, p *pack) { p.remove("incidents.json") }, "incidents.json", "is missing"},
		"added":            {func(_ *testing.T, p *pack) { p.add("extra.txt", "") }, "extra.txt", "not in the manifest"},
		"a folder":         {func(_ *testing.T, p *pack) { p.add("attachments/", "") }, "attachments/", "not in the manifest"},
		"path traversal":   {func(_ *testing.T, p *pack) { p.add("../../evil", "") }, "../../evil", "not in the manifest"},
		"renamed":          {func(_ *testing.T, p *pack) { p.remove("kpis.json"); p.add("KPIs.json", p.files["kpis.json"]) }, "kpis.json", "is missing"},
		"twice":            {func(_ *testing.T, p *pack) { p.add("risks.json", "[]") }, "risks.json", "twice"},
		"the manifest too": {func(_ *testing.T, p *pack) { p.add("manifest.json", "{}") }, "manifest.json", "twice"},
		"no manifest":      {func(_ *testing.T, p *pack) { p.remove("manifest.json") }, "manifest.json", "is missing"},
		"no JSON":          {func(_ *testing.T, p *pack) { p.files["manifest.json"] = "{" }, "manifest.json", "is not JSON"},
		"not an object":    {func(_ *testing.T, p *pack) { p.files["manifest.json"] = "[]" }, "manifest.json", "not the manifest of"},
		"not ours":         {func(_ *testing.T, p *pack) { p.files["manifest.json"] = "{}" }, "manifest.json", "not the manifest of"},
		"not canonical":    {func(_ *testing.T, p *pack) { p.files["manifest.json"] += "\n" }, "manifest.json", "canonical"},
		"a double member": {func(_ *testing.T, p *pack) {
			p.files["manifest.json"] = strings.Replace(p.files["manifest.json"], `"title"`, `"title":"x","title"`, 1)
		}, "manifest.json", "duplicate"},
		"encrypted":                       {func(_ *testing.T, p *pack) { p.change = func(h *zip.FileHeader) { h.Flags |= 1 } }, "manifest.json", "encrypted"},
		"newer":                           {edit(func(m *evidence.Manifest) { m.Versions.Manifest = 2 }), "manifest.json", "newer"},
		"unlisted":                        {edit(func(m *evidence.Manifest) { m.Items = m.Items[1:] }), "posture.json", "not in the manifest"},
		"listed twice":                    {edit(func(m *evidence.Manifest) { m.Items[1] = m.Items[0] }), "manifest.json", "lists posture.json twice"},
		"listed itself":                   {edit(func(m *evidence.Manifest) { m.Items[0].Path = "manifest.json" }), "manifest.json", "lists manifest.json twice"},
		"a path up":                       {edit(func(m *evidence.Manifest) { m.Items[0].Path = "../x" }), "manifest.json", `lists "../x", which is no path`},
		"a path back":                     {edit(func(m *evidence.Manifest) { m.Items[0].Path = `a\b` }), "manifest.json", "no path"},
		"a path with a control character": {edit(func(m *evidence.Manifest) { m.Items[0].Path = "a\u202eb" }), "manifest.json", "no path"},
		"a size":                          {edit(func(m *evidence.Manifest) { m.Items[0].Size++ }), "posture.json", "bytes; "},
		"a size below 0":                  {edit(func(m *evidence.Manifest) { m.Items[0].Size = -1 }), "manifest.json", "size that no pack has"},
		"a vast size":                     {edit(func(m *evidence.Manifest) { m.Items[0].Size = 1 << 52 }), "manifest.json", "size that no pack has"},
		"a hash":                          {edit(func(m *evidence.Manifest) { m.Items[2].SHA256 = hash("") }), "risks.json", "SHA-256"},
		"no hash":                         {edit(func(m *evidence.Manifest) { m.Items[2].SHA256 = "" }), "manifest.json", "no SHA-256"},
		"a hash, upper":                   {edit(func(m *evidence.Manifest) { m.Items[2].SHA256 = strings.ToUpper(m.Items[2].SHA256) }), "manifest.json", "no SHA-256"},
		"the title":                       {edit(func(m *evidence.Manifest) { m.Title = "Another" }), "manifest.json", "written again"},
		"a bomb":                          {func(_ *testing.T, p *pack) { p.method, p.files["risks.json"] = zip.Deflate, bomb }, "risks.json", "longer than the"},
		"a bomb manifest":                 {func(_ *testing.T, p *pack) { p.method, p.files["manifest.json"] = zip.Deflate, bomb }, "manifest.json", "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := openPack(t, archive)
			p.files = maps.Clone(p.files)
			row.change(t, p)
			_, err := verify(t.Context(), p.zip(t))
			var fault *evidence.VerificationError
			if !errors.As(err, &fault) || fault.Path != row.path || !strings.Contains(fault.Reason, row.want) {
				t.Errorf("got %v, want %s: … %s", err, row.path, row.want)
			}
		})
	}
}

// bomb is a long text that compresses to few bytes.
var bomb = strings.Repeat("\x00", 16<<20)

// TestVerify_AddedBytes adds bytes before and after an unchanged pack.
func TestVerify_AddedBytes(t *testing.T) {
	t.Parallel()
	archive := string(read(t, "testdata/pack.zip"))
	many := &pack{files: map[string]string{}}
	for i := range 60_000 {
		many.add(fmt.Sprintf("%050d", i), "")
	}
	for name, row := range map[string]struct{ archive, want string }{
		"prepended":  {"MZ" + archive, "byte 0 of the archive"},
		"appended":   {archive + "\n", "1 bytes were added after"},
		"again":      {archive + archive, "bytes were added after"},
		"empty":      {"", "is not a complete zip archive"},
		"text":       {"hello", "is not a complete zip archive"},
		"half":       {archive[:len(archive)/2], "is not a complete zip archive"},
		"many files": {string(many.zip(t)), "more files than any pack"},
	} {
		_, err := verify(t.Context(), []byte(row.archive))
		var fault *evidence.VerificationError
		if !errors.As(err, &fault) || !strings.Contains(fault.Reason, row.want) {
			t.Errorf("%s: got %v, want %s", name, err, row.want)
		}
	}
}

// FuzzVerify checks that Verify accepts only packs and that no archive makes it panic.
func FuzzVerify(f *testing.F) {
	golden := read(f, "testdata/pack.zip")
	f.Add(golden)
	f.Add(golden[:len(golden)-1])
	f.Add([]byte("PK\x05\x06" + strings.Repeat("\x00", 18)))
	f.Fuzz(func(t *testing.T, archive []byte) {
		got, err := verify(t.Context(), archive)
		if err != nil {
			var fault *evidence.VerificationError
			if !errors.As(err, &fault) {
				t.Errorf("got %v, want a fault", err)
			}
			return
		}
		_, files := unzip(t, archive)
		if hash(files["manifest.json"]) != got.ManifestSHA256 || len(files) != len(got.Items)+1 {
			t.Errorf("got %+v, want an error", got)
		}
	})
}
