package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"regexp"
	"strings"
	"testing"

	"govsvc/db/dashboard"
	"govsvc/internal/testkit"
	"govsvc/server/transfer"
)

// importRecords imports records, given as NDJSON.
func (h *harness) importRecords(lines ...string) {
	h.t.Helper()
	doc := testkit.Document(h.t)
	source := transfer.Bytes("scene.ndjson", []byte(strings.Join(lines, "\n")))
	if _, err := transfer.Import(h.t.Context(), h.store, doc, h.by(), []transfer.Source{source}, transfer.Options{}); err != nil {
		h.t.Fatal(err)
	}
}

// importRisks adds risks from RISK-9000 on. The first ones are the most severe.
func (h *harness) importRisks(n int) {
	h.t.Helper()
	var lines []string
	for i := range n {
		severity := []string{"CRITICAL", "HIGH", "MEDIUM", "LOW"}[i*4/n]
		lines = append(lines, fmt.Sprintf(`{"object":"risk","risk_id":"RISK-%d","title":"Risk number %d","description":"One of many.","severity":%q,"status":"Open"}`, 9000+i, i, severity))
	}
	h.importRecords(lines...)
}

// find returns the first record of a type that contains all the words.
func (h *harness) find(object, words string) map[string]any {
	h.t.Helper()
	page, err := dashboard.Browse(h.t.Context(), h.store, h.org(), object, dashboard.BrowseQuery{Words: strings.Fields(words), Limit: 1})
	if err != nil {
		h.t.Fatal(err)
	}
	if len(page.Records) == 0 {
		h.t.Fatalf("no %s has the words %q", object, words)
	}
	record := map[string]any{}
	if err := json.Unmarshal(page.Records[0], &record); err != nil {
		h.t.Fatal(err)
	}
	return record
}

// pathOf returns the path of the record that find returns.
func (h *harness) pathOf(base, object, words string) string {
	h.t.Helper()
	return base + "/" + h.find(object, words)["id"].(string)
}

// hiddenFields returns the names and values of a form's hidden fields.
func hiddenFields(page string) (pairs []string) {
	for _, match := range regexp.MustCompile(`<input type="hidden" name="(was-[^"]*|conflict)" value="([^"]*)">`).FindAllStringSubmatch(page, -1) {
		pairs = append(pairs, match[1], match[2])
	}
	return pairs
}

// uploadedFile is a file that a client uploads.
type uploadedFile struct{ field, name, content string }

// upload sends a form with files; the pairs are its other fields.
func (c *client) upload(path string, files []uploadedFile, pairs ...string) response {
	c.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for i := 0; i+1 < len(pairs); i += 2 {
		if err := form.WriteField(pairs[i], pairs[i+1]); err != nil {
			c.t.Fatal(err)
		}
	}
	for _, file := range files {
		part, err := form.CreateFormFile(file.field, file.name)
		if err != nil {
			c.t.Fatal(err)
		}
		_, _ = part.Write([]byte(file.content)) // a write to memory can't fail
	}
	_ = form.Close()
	return c.do("POST", path, form.FormDataContentType(), body.String())
}

// countRows returns the number of rows of a page's table.
func countRows(page string) int { return strings.Count(page, `<th scope="row"`) }

// expectOrder checks that a page contains the texts in the given order.
func expectOrder(t *testing.T, page string, texts ...string) {
	t.Helper()
	rest := page
	for _, text := range texts {
		_, after, found := strings.Cut(rest, text)
		if !found {
			t.Fatalf("%q is missing after the text before it in:\n%.4000s", text, page)
		}
		rest = after
	}
}

// text returns a member's value as text.
func text(value any) string { return fmt.Sprint(value) }
