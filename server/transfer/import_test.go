package transfer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"govsvc/db/resource"
	"govsvc/internal/testkit"
	"govsvc/server/transfer"
)

func TestOpen_Formats(t *testing.T) {
	t.Parallel()
	other := risk("R-2", "")
	const list = `{"object":"list","api_version":"2026-09-12","data":[` + good + `],"has_more":false,"next_cursor":null}`
	pretty := "{\n  \"object\": \"list\",\n  \"data\": [\n" + good + ",\n" + other + "\n]\n}\n"
	large := good
	for i := range 2_000 {
		large += "," + risk(fmt.Sprint("L-", i), "")
	}
	rows := []struct {
		name, file, text string
		format           transfer.Format
		records          int
	}{
		{"lines", "x.ndjson", good + "\n" + other + "\n", "", 2},
		{"lines without an end", "x.jsonl", good + "\n" + other, "", 2},
		{"lines of another system", "x.NDJSON", "\ufeff" + good + "\r\n\r\n" + other + "\r\n", "", 2},
		{"blank lines", "x.ndjson", "\n \t\n" + good + "\n\n\n" + other + "\n\n", "", 2},
		{"spaces around", "x.ndjson", "  " + good + " \t\n", "", 1},
		{"nothing", "x.ndjson", "", "", 0},
		{"a byte order mark alone", "x.ndjson", "\ufeff", "", 0},
		{"blank lines alone", "x.ndjson", "\n\n", "", 0},
		{"nothing as JSON", "x.json", " \n", "", 0},
		{"nothing at all, unnamed", "x", "", "", 0},
		{"an array", "x.json", "[" + good + "," + other + "]", "", 2},
		{"an empty array", "x.json", "[ ]", "", 0},
		{"an array with a byte order mark", "x.json", "\ufeff[\r\n" + good + ",\r\n" + other + "\r\n]\r\n", "", 2},
		{"an envelope", "x.json", list, "", 1},
		{"an envelope over many lines", "x.json", pretty, "", 2},
		{"an envelope whose data comes first", "x.json", `{"data":[` + good + `],"object":"list","has_more":true}`, "", 1},
		{"an envelope of an object", "x.json", `{"object":"risk","api_version":"2026-09-12","data":` + good + `,"has_more":false,"next_cursor":null}`, "", 1},
		{"an envelope of nothing", "x.json", `{"object":"scorecard","api_version":"2026-09-12","data":null,"has_more":false,"next_cursor":null}`, "", 0},
		{"an envelope of no objects", "x.json", `{"object":"list","data":[]}`, "", 0},
		{"a record", "x.json", "{\"object\":\"risk\",\n\"risk_id\":\"R\",\n\"description\":\"d\"}\n", "", 1},
		{"lines, unnamed", "standard input", good + "\n" + other, "", 2},
		{"one line, unnamed", "standard input", good, "", 1},
		{"an array, unnamed", "standard input", "\n [" + good + "]", "", 1},
		{"an array over many lines, unnamed", "x.txt", "[\n" + good + "\n]", "", 1},
		{"an envelope, unnamed", "x", list, "", 1},
		{"a large envelope, unnamed", "x", `{"object":"list","data":[` + large + `]}`, "", 2_001},
		{"an envelope over many lines, unnamed", "x", pretty, "", 2},
		{"a record over many lines, unnamed", "x", "{\"object\":\"risk\",\n\"risk_id\":\"R\",\n\"description\":\"d\"}\n", "", 1},
		{"lines, said so", "x.json", good + "\n" + other, transfer.NDJSON, 2},
		{"an array, said so", "x.ndjson", "[\n" + good + "]", transfer.JSON, 1},
		{"a line of the largest size", "x.ndjson", risk("L", "")[:17] + strings.Repeat(" ", 1<<20-len(risk("L", ""))) + risk("L", "")[17:] + "\r\n" + good, "", 2},
		{"a value of the largest size", "x.json", "[" + risk("L", "")[:17] + strings.Repeat(" ", 1<<20-len(risk("L", ""))) + risk("L", "")[17:] + ",\n" + good + "]", "", 2},
		{"a type by its other names", "x.ndjson", assessment("01-01T00:00:00Z", `null`) + "\n" + `{"completed_at":"2026-02-01T00:00:00Z","methodology_version":"1","object":"score"}`, "", 2},
		{"a type written otherwise", "x.ndjson", `{"risk_id":"R","description":"d","ob\u006aect":"ri\u0073k"}`, "", 1},
	}
	s := newStore(t)
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			report, err := s.try(transfer.Options{Format: row.format}, transfer.Bytes(row.file, []byte(row.text)))
			if err != nil || report.Records != row.records {
				t.Errorf("%d records, want %d; %v", report.Records, row.records, err)
			}
			again, err := s.try(transfer.Options{Format: row.format}, transfer.Source{
				Name: row.file, Size: int64(len(row.text)),
				Open: func() (io.ReadCloser, error) {
					return io.NopCloser(iotest.HalfReader(strings.NewReader(row.text))), nil
				},
			})
			if err != nil || again.Records != row.records {
				t.Errorf("again: %d records, want %d; %v", again.Records, row.records, err)
			}
		})
	}
}

func TestOpen_UnknownFormat(t *testing.T) {
	t.Parallel()
	_, err := newStore(t).try(transfer.Options{Format: "xml"}, lines(good))
	if err == nil || err.Error() != `no format "xml"; the formats are ndjson, json, csv` {
		t.Error(err)
	}
}

// TestImport_Order imports records before the records that they refer to, in two
// sources.
func TestImport_Order(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	first := transfer.Bytes("a.json", []byte(anyRoadmap))
	second := transfer.Bytes("b.ndjson", []byte(milestone("")))
	if _, err := s.try(transfer.Options{}, second, first); err == nil {
		t.Error("the milestone came before its roadmap and was taken")
	}
	report, err := s.try(transfer.Options{}, first, second)
	if err != nil {
		t.Fatal(err)
	}
	want := []transfer.Count{{Type: "roadmap", Created: 1}, {Type: "milestone", Created: 1}}
	if diff := cmp.Diff(want, report.Types); diff != "" {
		t.Errorf("types (-want +got):\n%s", diff)
	}
}

// TestImport_Cancel ends an import while it reads the source, in either pass.
func TestImport_Cancel(t *testing.T) {
	t.Parallel()
	text := []byte(manyRisks(1500))
	for name, opening := range map[string]int{"while checking": 1, "while writing": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			before := s.contents()
			ctx, cancel := context.WithCancel(t.Context())
			opened := 0
			source := transfer.Source{Name: "x.ndjson", Size: int64(len(text)), Open: func() (io.ReadCloser, error) {
				if opened++; opened < opening {
					return io.NopCloser(bytes.NewReader(text)), nil
				}
				half := io.MultiReader(bytes.NewReader(text[:len(text)/2]), readerFunc(func([]byte) (int, error) {
					cancel()
					return 0, io.EOF
				}))
				return io.NopCloser(half), nil
			}}
			_, err := transfer.Import(ctx, s.DB, testkit.Document(t), s.by, []transfer.Source{source}, transfer.Options{})
			if !errors.Is(err, context.Canceled) || opened != opening {
				t.Errorf("%v after %d openings", err, opened)
			}
			if diff := cmp.Diff(before, s.contents()); diff != "" {
				t.Errorf("a cancelled import wrote (-before +after):\n%s", diff)
			}
			s.put(good) // the writer is free
		})
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestImport_BrokenSources imports sources that fail while they are read.
func TestImport_BrokenSources(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk has gone")
	rows := []struct {
		name string
		open func(opening int) (io.Reader, error)
		want string
	}{
		{"can't be opened", func(int) (io.Reader, error) { return nil, broken }, "the disk has gone"},
		{"can't be opened twice", func(n int) (io.Reader, error) {
			if n == 2 {
				return nil, broken
			}
			return strings.NewReader(good), nil
		}, "the disk has gone"},
		{
			"can't be read", func(int) (io.Reader, error) {
				return io.MultiReader(strings.NewReader(good+"\n"), iotest.ErrReader(broken)), nil
			},
			"x.ndjson can't be read: the disk has gone",
		},
		{
			"is another the second time", func(n int) (io.Reader, error) {
				return strings.NewReader(good + strings.Repeat("\nnonsense", n-1)), nil
			},
			"x.ndjson, line 2: the record is not valid JSON (at its byte 1); nothing was imported: fix it and import again",
		},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			opening := 0
			source := transfer.Source{Name: "x.ndjson", Open: func() (io.ReadCloser, error) {
				opening++
				in, err := row.open(opening)
				return io.NopCloser(in), err
			}}
			if _, err := s.try(transfer.Options{}, source); err == nil || err.Error() != row.want {
				t.Errorf("%v, want %s", err, row.want)
			}
			if s.export() != "" {
				t.Error("a broken source was imported")
			}
		})
	}
}

func TestImport_Progress(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	text := []byte(manyRisks(800))
	var reported []transfer.Progress
	options := transfer.Options{Progress: func(p transfer.Progress) { reported = append(reported, p) }}
	if _, err := s.try(options, transfer.Bytes("x.ndjson", text)); err != nil {
		t.Fatal(err)
	}
	ends := map[transfer.Phase]transfer.Progress{}
	for i, p := range reported {
		if i > 0 && p.Phase == reported[i-1].Phase && p.Bytes < reported[i-1].Bytes || p.Bytes > p.Total {
			t.Errorf("%+v after %+v", p, reported[max(i-1, 0)])
		}
		ends[p.Phase] = p
	}
	all := int64(len(text))
	want := map[transfer.Phase]transfer.Progress{
		transfer.PhaseCheck: {Phase: transfer.PhaseCheck, Bytes: all, Total: all, Records: 800},
		transfer.PhaseWrite: {Phase: transfer.PhaseWrite, Bytes: all, Total: all, Records: 800},
	}
	if diff := cmp.Diff(want, ends); diff != "" {
		t.Errorf("the ends of the stages (-want +got):\n%s", diff)
	}
}

func TestReport_JSON(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	report, _ := s.try(transfer.Options{}, lines(good, "{}"))
	text, err := json.Marshal(report)
	const want = `{"records":2,"dry_run":false,"types":[],"faults":[{"source":"records.ndjson","line":2,"member":"object",` +
		`"reason":"object is required: it names the record's type"}],"more_faults":0}`
	if err != nil || string(text) != want {
		t.Errorf("%s, want %s; %v", text, want, err)
	}
	text, err = json.Marshal(s.put(good))
	const wantGood = `{"records":1,"dry_run":false,"types":[{"type":"risk","created":1,"updated":0,"unchanged":0}],"faults":[],"more_faults":0}`
	if err != nil || string(text) != wantGood {
		t.Errorf("%s, want %s; %v", text, wantGood, err)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "x.ndjson")
	if err := os.WriteFile(path, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	for argument, name := range map[string]string{path: path, "-": transfer.StandardInput} {
		source, release, err := transfer.Open(t.Context(), argument, strings.NewReader(good))
		if err != nil {
			t.Fatal(err)
		}
		if source.Name != name || source.Size != int64(len(good)) {
			t.Errorf("%s: name %q, size %d", argument, source.Name, source.Size)
		}
		s := newStore(t)
		if report, err := s.try(transfer.Options{}, source); err != nil || report.Records != 1 {
			t.Errorf("%s: %d records, %v", argument, report.Records, err)
		}
		if err := release(); err != nil {
			t.Error(err)
		}
	}
	for argument, want := range map[string]string{dir: dir + " is a folder; name the files in it", path + "x": path + "x can't be read: no such file or directory"} {
		if _, _, err := transfer.Open(t.Context(), argument, nil); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestSpool_Ends checks that spooling an endless input stops when its context is
// canceled.
func TestSpool_Ends(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	in, end := io.Pipe()
	testkit.CloseAfter(t, end.Close)
	cancel()
	if _, _, err := transfer.Open(ctx, "-", in); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestSpool_LeavesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	_, release, err := transfer.Spool(t.Context(), "x", strings.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := release(); err != nil {
			t.Error(err)
		}
	})
	if left, err := os.ReadDir(dir); len(left) > 0 || err != nil {
		t.Errorf("%v, %v", left, err)
	}
}

func TestExport(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.put(good, anyKPI, anyRoadmap, milestone(""), risk("Q", ""))
	types := func(text string) (types []string) {
		for line := range strings.Lines(text) {
			var record struct{ Object string }
			if err := json.Unmarshal([]byte(line), &record); err != nil {
				t.Fatal(err)
			}
			types = append(types, record.Object)
		}
		return types
	}
	if diff := cmp.Diff([]string{"risk", "risk", "roadmap", "milestone", "kpi"}, types(s.export())); diff != "" {
		t.Errorf("all types (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"risk", "risk", "kpi"}, types(s.export("kpi", "risk", "kpi"))); diff != "" {
		t.Errorf("some types (-want +got):\n%s", diff)
	}
	audited := s.query("SELECT event ->> 'action' || ' ' || (event ->> 'category') || ' ' || (event ->> 'severity') || ' ' || (event -> 'metadata') FROM audit_events ORDER BY seq DESC LIMIT 1")
	if diff := cmp.Diff([]string{`export.completed export 1 {"types":{"kpi":1,"risk":2}}`}, audited); diff != "" {
		t.Errorf("audit event (-want +got):\n%s", diff)
	}
	_, err := s.exportTo(io.Discard, transfer.NDJSON, "score")
	if want := `no type "score"; the types are ` + strings.Join(resource.Types(), ", "); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	for _, row := range []struct {
		format transfer.Format
		types  []string
		want   string
	}{
		{"", nil, `no format ""; the formats are ndjson, json, csv`},
		{"xml", nil, `no format "xml"; the formats are ndjson, json, csv`},
		{transfer.CSV, nil, "a CSV file has one type"},
		{transfer.CSV, []string{"risk", "signal"}, "a CSV file has one type"},
	} {
		if _, err := s.exportTo(io.Discard, row.format, row.types...); err == nil || err.Error() != row.want {
			t.Errorf("%v, want %s", err, row.want)
		}
	}
}

// TestExport_IsSnapshot changes the file during an export.
func TestExport_IsSnapshot(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.put(strings.TrimSpace(manyRisks(400)))
	want := s.export()
	var out bytes.Buffer
	writer := writerFunc(func(p []byte) (int, error) {
		if out.Len() == 0 {
			s.put(anyRoadmap, milestone(""), risk("RISK-000003", `,"title":"later"`), risk("RISK-000399", `,"title":"later"`))
		}
		return out.Write(p)
	})
	if _, err := s.exportTo(writer, transfer.NDJSON); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("a snapshot shows later changes (-before +snapshot):\n%s", diff)
	}
	if s.export() == want {
		t.Error("the change did not happen")
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestExport_Fails(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.put(good)
	full := errors.New("the disk is full")
	audited := len(s.query("SELECT event FROM audit_events"))
	_, err := s.exportTo(writerFunc(func([]byte) (int, error) { return 0, full }), transfer.NDJSON)
	if !errors.Is(err, full) || len(s.query("SELECT event FROM audit_events")) != audited {
		t.Errorf("%v; it was audited as done", err)
	}
}
