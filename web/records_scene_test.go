package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"regexp"
	"strings"
	"testing"

	"govsvc/db"
	"govsvc/server/transfer"
)

// load imports records, given as NDJSON.
func (s *scene) load(lines ...string) {
	s.t.Helper()
	doc, err := document()
	if err != nil {
		s.t.Fatal(err)
	}
	source := transfer.Bytes("scene.ndjson", []byte(strings.Join(lines, "\n")))
	if _, err := transfer.Import(s.t.Context(), s.store, doc, s.by(), []transfer.Source{source}, transfer.Options{}); err != nil {
		s.t.Fatal(err)
	}
}

// manyRisks adds risks RISK-9000 and up, the first ones graver.
func (s *scene) manyRisks(n int) {
	s.t.Helper()
	var lines []string
	for i := range n {
		severity := []string{"CRITICAL", "HIGH", "MEDIUM", "LOW"}[i*4/n]
		lines = append(lines, fmt.Sprintf(`{"object":"risk","risk_id":"RISK-%d","title":"Risk number %d","description":"One of many.","severity":%q,"status":"Open"}`, 9000+i, i, severity))
	}
	s.load(lines...)
}

// find is the record of a type whose texts hold the words.
func (s *scene) find(object, words string) map[string]any {
	s.t.Helper()
	page, err := s.store.Browse(s.t.Context(), s.org(), object, db.BrowseQuery{Words: strings.Fields(words), Limit: 1})
	if err != nil {
		s.t.Fatal(err)
	}
	if len(page.Records) == 0 {
		s.t.Fatalf("no %s has the words %q", object, words)
	}
	record := map[string]any{}
	if err := json.Unmarshal(page.Records[0], &record); err != nil {
		s.t.Fatal(err)
	}
	return record
}

// at is the path of the record that find finds.
func (s *scene) at(base, object, words string) string {
	s.t.Helper()
	return base + "/" + s.find(object, words)["id"].(string)
}

// hidden lists the names and values of a form's hidden fields.
func hidden(page string) (pairs []string) {
	for _, match := range regexp.MustCompile(`<input type="hidden" name="(was-[^"]*)" value="([^"]*)">`).FindAllStringSubmatch(page, -1) {
		pairs = append(pairs, match[1], match[2])
	}
	return pairs
}

// upload is a file that a guest sends.
type upload struct{ field, name, content string }

// send sends a form with files; the pairs are its other fields.
func (g *guest) send(path string, files []upload, pairs ...string) reply {
	g.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for i := 0; i+1 < len(pairs); i += 2 {
		if err := form.WriteField(pairs[i], pairs[i+1]); err != nil {
			g.t.Fatal(err)
		}
	}
	for _, file := range files {
		part, err := form.CreateFormFile(file.field, file.name)
		if err != nil {
			g.t.Fatal(err)
		}
		_, _ = part.Write([]byte(file.content)) // into memory
	}
	_ = form.Close()
	return g.do("POST", path, form.FormDataContentType(), body.String())
}

// rows counts the rows of a page's table.
func rows(page string) int { return strings.Count(page, `<th scope="row"`) }

// inOrder checks that texts stand in a page one behind the other.
func inOrder(t *testing.T, page string, texts ...string) {
	t.Helper()
	rest := page
	for _, text := range texts {
		_, after, found := strings.Cut(rest, text)
		if !found {
			t.Fatalf("%q is not behind what is before it in:\n%.4000s", text, page)
		}
		rest = after
	}
}

// text is a member's value as text.
func text(value any) string { return fmt.Sprint(value) }
