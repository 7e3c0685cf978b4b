package annotation_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/annotation"
	"govsvc/db/resource"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// fixture is a store with one risk.
type fixture struct {
	*testing.T
	*annotation.Service
	store *db.DB
	by    db.Actor
	risk  annotation.Subject
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{T: t, store: testdb.Open(t, testdb.Options(testdb.EmptyFile(t)))}
	f.Service, f.by = annotation.New(f.store), testdb.Operator(t, f.store)
	f.risk = f.add("RISK-A")
	return f
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// add adds a risk.
func (f *fixture) add(key string) annotation.Subject {
	f.Helper()
	f.must(testdb.AddRisk(f.Context(), f.store, key))
	return annotation.Subject{Type: "risk", ID: testkit.QuerySQL(f.T, f.store.File.Path(), "SELECT id FROM risks WHERE risk_id = '"+key+"'")[0]}
}

// events returns the actions of a record with the members of its changes.
func (f *fixture) events(of annotation.Subject) []string {
	f.Helper()
	return testkit.QuerySQL(f.T, f.store.File.Path(), `SELECT action || ' ' || (event -> '$.metadata.changes') FROM audit_events
		WHERE resource_id = '`+of.ID+`' AND action <> 'risk.created' ORDER BY seq`)
}

// wantError checks the code of an error and a part of its message.
func (f *fixture) wantError(err error, code db.Code, message string) {
	f.Helper()
	if !db.Is(err, code) || !strings.Contains(err.Error(), message) {
		f.Errorf("got %v, want code %d and %q", err, code, message)
	}
}

func TestComments(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ann, bob := f.by, f.by
	ann.ID, bob.ID = "ann", "bob"
	f.must(f.AddComment(t.Context(), ann, f.risk, " one\r\ntwo "))
	f.must(f.AddComment(t.Context(), bob, f.risk, "three"))
	all, more, err := f.Comments(t.Context(), f.by.Org, f.risk, 0)
	f.must(err)
	if len(all) != 2 || more || all[0].Text != "one\ntwo" || all[0].Author != "ann" || all[1].Author != "bob" || all[0].At == "" {
		t.Fatalf("got %+v, %v", all, more)
	}
	f.wantError(f.RemoveComment(t.Context(), bob, f.risk, all[0].ID, false), db.NotFound, "of yours")
	f.must(f.RemoveComment(t.Context(), bob, f.risk, all[1].ID, false))
	f.must(f.RemoveComment(t.Context(), bob, f.risk, all[0].ID, true))
	f.wantError(f.RemoveComment(t.Context(), bob, f.risk, all[0].ID, true), db.NotFound, "")
	want := []string{
		`comment.created {"comment":{"from":null,"to":"one\ntwo"}}`, `comment.created {"comment":{"from":null,"to":"three"}}`,
		`comment.removed {"comment":{"from":"three","to":null}}`, `comment.removed {"comment":{"from":"one\ntwo","to":null}}`,
	}
	if diff := cmp.Diff(want, f.events(f.risk)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestComments_Bounds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, row := range []struct {
		text, want string
	}{
		{" \n", "enter a comment"},
		{strings.Repeat("é", annotation.MaxComment+1), "at most 20,000 characters"},
		{"a\x00b", "NUL"},
		{"a\xff", "NUL"},
	} {
		f.wantError(f.AddComment(t.Context(), f.by, f.risk, row.text), db.Invalid, row.want)
	}
	f.must(f.AddComment(t.Context(), f.by, f.risk, strings.Repeat("é", annotation.MaxComment)))
	f.wantError(f.AddComment(t.Context(), f.by, annotation.Subject{Type: "risk", ID: "none"}, "text"), db.NotFound, "no risk")
	testkit.ExecSQL(t, f.store.File.Path(), `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
		INSERT INTO comments (org_id, id, record_type, record_id, text, author, created_at) SELECT org_id, i, record_type, record_id, i, author, created_at FROM comments, n`)
	f.wantError(f.AddComment(t.Context(), f.by, f.risk, "text"), db.Conflict, "1000 comments")
	page, more, err := f.Comments(t.Context(), f.by.Org, f.risk, 0)
	if err != nil || len(page) != annotation.CommentsOnPage || !more || page[len(page)-1].Text != "999" {
		t.Fatalf("got %d comments, %v, %v", len(page), more, err)
	}
	earlier, _, err := f.Comments(t.Context(), f.by.Org, f.risk, page[0].Number)
	if err != nil || earlier[len(earlier)-1].Number >= page[0].Number {
		t.Errorf("got %d earlier comments, %v", len(earlier), err)
	}
}

func TestAttachments(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	content := bytes.Repeat([]byte("0123456789abcdef"), 100_000) // two pieces
	f.must(f.Attach(t.Context(), f.by, f.risk, "report.pdf", bytes.NewReader(content)))
	all, err := f.Attachments(t.Context(), f.by.Org, f.risk)
	f.must(err)
	sum := sha256.Sum256(content)
	if len(all) != 1 || all[0].Name != "report.pdf" || all[0].Size != int64(len(content)) || all[0].SHA256 != hex.EncodeToString(sum[:]) {
		t.Fatalf("got %+v", all)
	}
	one, err := f.Attachment(t.Context(), f.by.Org, f.risk, all[0].ID)
	f.must(err)
	var got bytes.Buffer
	f.must(f.Read(t.Context(), one, &got))
	if !bytes.Equal(got.Bytes(), content) {
		t.Errorf("got %d bytes", got.Len())
	}
	other := f.add("RISK-B")
	_, err = f.Attachment(t.Context(), f.by.Org, other, one.ID)
	f.wantError(err, db.NotFound, "no attachment")
	f.wantError(f.RemoveAttachment(t.Context(), f.by, other, one.ID), db.NotFound, "no attachment")
	f.must(f.RemoveAttachment(t.Context(), f.by, f.risk, one.ID))
	if left := testkit.QuerySQL(t, f.store.File.Path(), "SELECT count(*) FROM evidence_pieces UNION ALL SELECT count(*) FROM evidence_uploads"); left[0]+left[1] != "00" {
		t.Errorf("got %v pieces and uploads after the removal", left)
	}
	want := []string{`attachment.created {"attachment":{"from":null,"to":"report.pdf"}}`, `attachment.removed {"attachment":{"from":"report.pdf","to":null}}`}
	if diff := cmp.Diff(want, f.events(f.risk)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestAttachments_Bounds checks what is refused, and that nothing of it is kept.
func TestAttachments_Bounds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	small := func() *strings.Reader { return strings.NewReader("x") }
	f.wantError(f.Attach(t.Context(), f.by, f.risk, "", small()), db.Invalid, "1 to 200 characters")
	f.wantError(f.Attach(t.Context(), f.by, f.risk, "a\nb", small()), db.Invalid, "control characters")
	f.wantError(f.Attach(t.Context(), f.by, f.risk, "empty", strings.NewReader("")), db.Invalid, "is empty")
	f.wantError(f.Attach(t.Context(), f.by, f.risk, "large", bytes.NewReader(make([]byte, annotation.MaxAttachment+1))), db.Invalid, "larger than 32 MB")
	f.wantError(f.Attach(t.Context(), f.by, annotation.Subject{Type: "risk", ID: "none"}, "a", small()), db.NotFound, "no risk")
	f.must(f.Attach(t.Context(), f.by, f.risk, "a", small()))
	testkit.ExecSQL(t, f.store.File.Path(), "UPDATE attachments SET size = 134217727")
	f.wantError(f.Attach(t.Context(), f.by, f.risk, "b", strings.NewReader("xy")), db.Invalid, "128 MB in total")
	if left := testkit.QuerySQL(t, f.store.File.Path(), "SELECT count(*) FROM evidence_uploads"); left[0] != "1" {
		t.Errorf("got %s uploads, want that of the stored file", left[0])
	}
	testkit.ExecSQL(t, f.store.File.Path(), "UPDATE attachments SET size = 1, sha256 = '"+strings.Repeat("0", 64)+"'")
	all, err := f.Attachments(t.Context(), f.by.Org, f.risk)
	f.must(err)
	if err := f.Read(t.Context(), all[0], &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "SHA-256") {
		t.Errorf("a damaged file: got %v", err)
	}
}

func TestArchive(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, archived := range []bool{true, true, false, false} {
		f.must(f.Archive(t.Context(), f.by, f.risk, archived))
		found, err := f.Archived(t.Context(), f.by.Org, f.risk)
		if err != nil || (found != nil) != archived {
			t.Errorf("got %v, %v, want archived %v", found, err, archived)
		}
	}
	f.wantError(f.Archive(t.Context(), f.by, annotation.Subject{Type: "risk", ID: "none"}, true), db.NotFound, "no risk")
	if err := f.Archive(t.Context(), f.by, annotation.Subject{Type: "signal", ID: "x"}, true); err == nil {
		t.Error("a signal was archived")
	}
	want := []string{`risk.archived {"archived":{"from":false,"to":true}}`, `risk.restored {"archived":{"from":true,"to":false}}`}
	if diff := cmp.Diff(want, f.events(f.risk)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := f.add("RISK-B")
	var made db.Object
	f.must(f.store.Write(t.Context(), f.by, func(tx *db.Tx) (err error) {
		made, err = tx.Create(resource.Link, db.Record{"record_type": "risk", "record_key": "RISK-B", "other_type": "risk", "other_key": "RISK-A"})
		return err
	}))
	f.must(f.Archive(t.Context(), f.by, other, true))
	for _, row := range []struct {
		of, other annotation.Subject
		key       string
		archived  bool
	}{{f.risk, other, "RISK-B", true}, {other, f.risk, "RISK-A", false}} {
		all, err := f.Links(t.Context(), f.by.Org, row.of)
		if err != nil || len(all) != 1 || all[0].ID != made.ID || all[0].Other.Subject != row.other || all[0].Other.Key != row.key || all[0].Other.Status != "Open" || all[0].Archived != row.archived {
			t.Errorf("got %+v, %v, want %+v", all, err, row)
		}
	}
	f.wantError(f.RemoveLink(t.Context(), f.by, f.add("RISK-C"), made.ID), db.NotFound, "no link")
	f.must(f.RemoveLink(t.Context(), f.by, other, made.ID))
	ends, err := f.LinkEnds(t.Context(), f.by.Org, []string{made.ID, "none"})
	want := map[string][2]annotation.Subject{made.ID: {f.risk, other}}
	if diff := cmp.Diff(want, ends); diff != "" || err != nil {
		t.Errorf("the ends of a removed link (-want +got):\n%s%v", diff, err)
	}
}

// TestOtherOrganisation checks that an organisation does not reach the annotations of
// another one.
func TestOtherOrganisation(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	acme, err := f.store.Orgs.Create(t.Context(), f.by, "acme", db.Enterprise)
	f.must(err)
	f.must(f.AddComment(t.Context(), f.by, f.risk, "text"))
	f.must(f.Attach(t.Context(), f.by, f.risk, "a", strings.NewReader("x")))
	foreign := f.by
	foreign.Org = acme.Org
	f.wantError(f.AddComment(t.Context(), foreign, f.risk, "text"), db.NotFound, "no risk")
	f.wantError(f.Attach(t.Context(), foreign, f.risk, "a", strings.NewReader("x")), db.NotFound, "no risk")
	f.wantError(f.Archive(t.Context(), foreign, f.risk, true), db.NotFound, "no risk")
	comments, _, err := f.Comments(t.Context(), acme.Org, f.risk, 0)
	files, failed := f.Attachments(t.Context(), acme.Org, f.risk)
	if err != nil || failed != nil || len(comments)+len(files) != 0 {
		t.Errorf("got %v, %v, %v, %v", comments, err, files, failed)
	}
	_, err = f.store.Orgs.Remove(t.Context(), f.by, "acme", func(*db.Tx) error { return nil })
	f.must(err)
}

// TestPlans checks that the reads of a record's page use indexes.
func TestPlans(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, query := range []string{
		"SELECT key, name, status FROM record_names WHERE org_id = ? AND type = ? AND id = ?",
		"SELECT text FROM comments WHERE org_id = ? AND record_type = ? AND record_id = ? ORDER BY seq DESC",
		"SELECT record FROM link_records WHERE org_id = ? ORDER BY created_at, id",
	} {
		testkit.CheckPlan(t, f.store.File.Path(), "SEARCH", query, 1, "risk", "x")
	}
}
