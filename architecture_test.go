// Package main_test keeps the laws of the repository: who may import whom,
// where SQL may stand, what a file may weigh and what it must say. It reads the
// files themselves, so a law holds for code behind build tags too.
//
// A law is a table below. Widen a table only in a commit that says why.
package main_test

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

const module = "govsvc"

// Limits in lines. The aims, 250 and 40, are the reader's to keep.
const (
	maxFileLines = 500
	maxFuncLines = 80
)

// rooms names, for each package, those of ours that it may import. "*" stands
// for one name. Tests may import any room but cmd: they set scenes.
var rooms = map[string][]string{
	".":       {"cmd"},
	"cmd":     {"*", "*/*"},
	"db":      {"db/fair", "migrations"},
	"db/fair": {}, "migrations": {},
	"sandbox":         {"db", "server/openapi", "server/transfer"},
	"server":          {"db", "db/fair", "server/*"},
	"server/api":      {"db", "server/openapi", "server/webhook"},
	"server/evidence": {"db"},
	"server/limit":    {},
	"server/metrics":  {"db"},
	"server/openapi":  {},
	"server/siem":     {},
	"server/transfer": {"db", "server/openapi"},
	"server/webhook":  {"db"},
	"web":             {"db", "server/api", "server/evidence", "server/limit", "server/openapi", "server/transfer", "server/webhook"},

	"server/certificates": {},
	"server/listener":     {"server/limit"},
}

// noHTTP are the rooms that work for every caller: HTTP, MCP, pages, commands.
var noHTTP = []string{"db", "server/api", "server/evidence", "server/openapi", "server/siem", "server/transfer"}

// store is where SQL and its drivers live.
var store = []string{"db", "migrations"}

// fences keep packages of others, and what lies below them, out of some rooms
// (out) or inside some (in). Tests are free.
var fences = []struct {
	imports string
	out, in []string
	mend    string
}{
	{imports: "net/http", out: noHTTP, mend: "keep HTTP in server, server/webhook, web or cmd, and pass plain values in"},
	{imports: "database/sql", in: store, mend: "add a method to db and call that"},
	{imports: "modernc.org/sqlite", in: store, mend: "let db open the file and name its errors"},
	{imports: "github.com/prometheus", in: []string{"server/metrics"}, mend: "count through server/metrics"},
	{imports: "github.com/pressly/goose", in: store, mend: "let db migrate when it opens the file"},
}

// statement tells a literal that is SQL from a sentence that starts alike.
var statement = regexp.MustCompile(`^\s*(?:` +
	`SELECT\s|select\s[^A-Z]*\sfrom\s|WITH\s+\w+.*\sAS\s*\(|PRAGMA\s|pragma\s|` +
	`(?i:INSERT\s+(OR\s+\w+\s+)?INTO\s|UPDATE\s+\S+\s+SET\s)|(?:DELETE\s+FROM|delete from)\s)`)

// top lists what may stand at the top of the repository, beside names that
// start with a dot and those .gitignore anchors there.
var top = strings.Fields(`main.go cmd server db sandbox migrations web go.mod go.sum doc architecture_test.go readme_test.go
	README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md LICENSE`)

// conventional are methods whose contract is their interface's, as in revive.
var conventional = strings.Fields("Error Unwrap String Read Write ServeHTTP Len Less Swap")

// vague are names that say nothing about what is inside.
var vague = strings.Fields("util utils helper helpers common misc")

// weighed are the kinds of file that have a limit of lines.
var weighed = strings.Fields(".go .css .yaml .html")

// laws are checked one by one; check returns a line for each breach.
var laws = []struct {
	name  string
	mend  string
	check func(*tree) []string
}{
	{"imports", "", checkImports},
	{"sql", "move the statement into db, a file a noun, and call a method", checkSQL},
	{"file size", "split the file by noun or by step", checkFileSize},
	{"package comment", "say above the package clause of one file, as Package NAME …, what the package is for", checkPackageComment},
	{"names", "name it after the noun or the verb it is about", checkNames},
	{"doc comments", "say the contract above the declaration, or make the name unexported", checkDocComments},
	{"function size", "give its steps names of their own", checkFuncSize},
	{"top level", "move it into a room, doc or a dot folder, or git-ignore what a build or a run leaves", checkTop},
}

func TestLaws(t *testing.T) {
	t.Parallel()
	repo, err := readTree(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, law := range laws {
		t.Run(law.name, func(t *testing.T) {
			t.Parallel()
			for _, breach := range law.check(repo) {
				if law.mend != "" {
					breach += ": " + law.mend
				}
				t.Error(breach)
			}
		})
	}
}

// lawful is a small repository that keeps every law, with the near misses that
// must not be taken for breaches.
func lawful() fstest.MapFS {
	files := map[string]string{
		".ci/run":               "true\n",
		".gitignore":            "# left by a build or a run\n/govsvc\n/*.db\nnode_modules/\n",
		"README.md":             "govsvc\n",
		"govsvc":                "\x7fELF",
		"left.db":               "SQLite format 3",
		"main.go":               "// Command govsvc serves.\npackage main\n\nimport _ \"govsvc/cmd\"\n\nfunc main() {}\n\nfunc Free() {}\n",
		"cmd/serve.go":          "// Package cmd is the command line.\npackage cmd\n\nimport (\n_ \"govsvc/db\"\n_ \"govsvc/server/openapi\"\n_ \"net/http\"\n)\n",
		"db/db.go":              "// Package db is the store.\npackage db\n\nimport (\n_ \"database/sql\"\n_ \"govsvc/migrations\"\n_ \"github.com/pressly/goose/v3\"\n)\n\nconst q = \"SELECT 1\"\n",
		"server/api/risks.go":   "// Package api holds the operations.\npackage api\n\n// Kinds of thing.\nconst A = \"Select a risk\"\n\n// T is a type.\ntype T int\n\ntype u int\n\nfunc (u) Close() {}\n\nfunc (T) Error() string { return \"\" }\n\nvar b = []string{\"update all risks, set by set\", \"Delete from the list\", \"select one\"}\n",
		"server/api/x_test.go":  "package api\n\nimport (\n_ \"database/sql\"\n_ \"govsvc/sandbox\"\n_ \"net/http\"\n)\n\nfunc TestX() {\n" + strings.Repeat("_ = \"SELECT 1\"\n", 100) + "}\n",
		"server/testdata/x.css": strings.Repeat("\n", 600),
		"server/openapi/a.yaml": strings.Repeat("a: b\n", 500),
		"web/long.js":           strings.Repeat("\n", 600),
	}
	repo := fstest.MapFS{}
	for name, text := range files {
		repo[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return repo
}

// TestLawsBite plants a breach of each law and expects to be told of it.
func TestLawsBite(t *testing.T) {
	t.Parallel()
	const api = "// Package api holds the operations.\npackage api\n\n"
	long := func(lines int) string { return "func long() {\n" + strings.Repeat("_ = 1\n", lines-2) + "}\n" }
	rows := []struct{ law, path, text, want string }{
		{"imports", "db/risks.go", "package db\n\nimport _ \"govsvc/server/api\"\n", "db/risks.go:3: db imports govsvc/server/api: it may import db/fair, migrations of ours; move"},
		{"imports", "server/api/x.go", "package api\n\nimport _ \"govsvc/server\"\n", "server/api imports govsvc/server:"},
		{"imports", "server/api/x.go", "package api\n\nimport _ \"govsvc/sandbox\"\n", "server/api imports govsvc/sandbox:"},
		{"imports", "server/limit/x.go", "package limit\n\nimport _ \"govsvc/db\"\n", "it may import nothing of ours"},
		{"imports", "server/x.go", "package server\n\nimport _ \"govsvc/web\"\n", "server imports govsvc/web:"},
		{"imports", "server/x.go", "package server\n\nimport _ \"govsvc/cmd\"\n", "server imports govsvc/cmd:"},
		{"imports", "web/x.go", "package web\n\nimport _ \"govsvc/server\"\n", "web imports govsvc/server:"},
		{"imports", "x.go", "package main\n\nimport _ \"govsvc/db\"\n", ". imports govsvc/db:"},
		{"imports", "db/x_test.go", "package db\n\nimport _ \"govsvc/cmd\"\n", "db imports govsvc/cmd:"},
		{"imports", "server/mcp/x.go", "package mcp\n", "server/mcp is not in the table rooms"},
		{"imports", "db/x.go", "package db\n\nimport _ \"net/http/httptest\"\n", "db imports net/http/httptest: keep HTTP in"},
		{"imports", "server/transfer/x.go", "package transfer\n\nimport _ \"net/http\"\n", "server/transfer imports net/http:"},
		{"imports", "cmd/x.go", "package cmd\n\nimport _ \"database/sql\"\n", "cmd imports database/sql: add a method to db"},
		{"imports", "server/x.go", "package server\n\nimport _ \"modernc.org/sqlite/lib\"\n", "server imports modernc.org/sqlite/lib:"},
		{"imports", "sandbox/x.go", "package sandbox\n\nimport _ \"github.com/pressly/goose/v3\"\n", "sandbox imports github.com/pressly/goose/v3:"},
		{"sql", "cmd/x.go", "package cmd\n\nconst q = `\n\tSELECT id\n\tFROM risks`\n", "cmd/x.go:3: a statement of SQL"},
		{"sql", "web/x.go", "package web\n\nconst q = \"insert or ignore into risks values (1)\"\n", "web/x.go:3:"},
		{"sql", "web/x.go", "package web\n\nfunc f() { g(\"UPDATE risks SET a = 1\") }\n", "web/x.go:3:"},
		{"sql", "sandbox/x.go", "package sandbox\n\nconst q = \"DELETE FROM risks\"\n", "sandbox/x.go:3:"},
		{"sql", "sandbox/x.go", "package sandbox\n\nconst q = \"PRAGMA optimize\"\n", "sandbox/x.go:3:"},
		{"sql", "sandbox/x.go", "package sandbox\n\nconst q = \"select id from risks\"\n", "sandbox/x.go:3:"},
		{"sql", "sandbox/x.go", "package sandbox\n\nconst q = \"WITH x AS (VALUES (1)) SELECT * FROM x\"\n", "sandbox/x.go:3:"},
		{"file size", "db/x_test.go", "package db\n" + strings.Repeat("\n", 500), "db/x_test.go: 501 lines, over 500"},
		{"file size", "web/static/app.css", strings.Repeat("\n", 501), "web/static/app.css: 501 lines"},
		{"file size", "server/openapi/a.yaml", strings.Repeat("a: b\n", 500) + "c: d", "server/openapi/a.yaml: 501 lines"},
		{"file size", "web/pages/x.html", strings.Repeat("\n", 900), "web/pages/x.html: 900 lines"},
		{"package comment", "server/limit/x.go", "package limit\n", "server/limit: package limit has no package comment"},
		{"package comment", "server/limit/x.go", "// Limits.\npackage limit\n", "server/limit: package limit has no package comment"},
		{"names", "db/risk_utils.go", "package db\n", "db/risk_utils.go: named utils"},
		{"names", "server/common/x.go", "package common\n", "server/common/x.go: named common"},
		{"names", "web/helpers_test.go", "package web\n", "web/helpers_test.go: named helpers"},
		{"names", "web/x.go", "package util\n", "web/x.go: named util"},
		{"doc comments", "server/api/x.go", api + "func Error() {}\n", "server/api/x.go:4: Error has no doc comment"},
		{"doc comments", "server/api/x.go", api + "func (*T) Close() {}\n", "T.Close has no doc comment"},
		{"doc comments", "server/api/x.go", api + "func (G[K, V]) Close() {}\n", "G.Close has no doc comment"},
		{"doc comments", "server/api/x.go", api + "// All.\ntype (\nA int\n)\n", "server/api/x.go:6: A has no doc comment"},
		{"doc comments", "server/api/x.go", api + "type A struct{}\n", "A has no doc comment"},
		{"doc comments", "server/api/x.go", api + "const (\na = 1\nB = 2\n)\n", "B has no doc comment"},
		{"doc comments", "server/api/x.go", api + "var a, B int\n", "B has no doc comment"},
		{"function size", "server/api/x.go", api + long(81), "server/api/x.go:4: long has 81 lines, over 80"},
		{"function size", "server/api/x.go", api + "var f = " + strings.Replace(long(90), " long", "", 1), "a function literal has 90 lines"},
		{"top level", "notes.txt", "", "notes.txt: not one of the names"},
		{"top level", "internal/x.go", "package x\n", "internal: not one of the names"},
	}

	proven, check := map[string]bool{}, map[string]func(*tree) []string{}
	for _, row := range rows {
		proven[row.law] = true
	}
	clean, err := readTree(lawful())
	if err != nil {
		t.Fatal(err)
	}
	for _, law := range laws {
		check[law.name] = law.check
		for _, breach := range law.check(clean) {
			t.Errorf("%s: told of a breach where none is: %s", law.name, breach)
		}
		if !proven[law.name] {
			t.Errorf("%s: no row plants a breach of this law: add one", law.name)
		}
	}
	for _, row := range rows {
		t.Run(row.law+" "+row.path, func(t *testing.T) {
			t.Parallel()
			files := lawful()
			files[row.path] = &fstest.MapFile{Data: []byte(row.text)}
			planted, err := readTree(files)
			if err != nil {
				t.Fatal(err)
			}
			got := check[row.law](planted)
			if len(got) != 1 || !strings.Contains(got[0], row.want) {
				t.Errorf("got %q, want one breach with %q in it", got, row.want)
			}
		})
	}
}

// tree is what the laws look at.
type tree struct {
	top     []string // the names at the top, less those that git ignores
	sources []*source
	fset    *token.FileSet
}

type source struct {
	path, dir string
	test      bool
	lines     int
	syntax    *ast.File // nil where the file is not Go
}

// readTree reads what git would keep, less dot folders and what the go command
// skips.
func readTree(fsys fs.FS) (*tree, error) {
	ignored, err := fs.ReadFile(fsys, ".gitignore")
	if err != nil {
		return nil, err
	}
	t := &tree{fset: token.NewFileSet()}
	err = fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if passedOver(name, string(ignored)) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.Contains(name, "/") {
			t.top = append(t.top, name)
		}
		if entry.IsDir() {
			return nil
		}
		return t.add(fsys, name)
	})
	return t, err
}

func passedOver(name, ignored string) bool {
	base := path.Base(name)
	if base[0] == '.' || base[0] == '_' || base == "testdata" || base == "node_modules" {
		return true
	}
	for line := range strings.Lines(ignored) {
		pattern, anchored := strings.CutPrefix(strings.TrimSpace(line), "/")
		if hit, _ := path.Match(strings.TrimSuffix(pattern, "/"), name); anchored && hit {
			return true
		}
	}
	return false
}

func (t *tree) add(fsys fs.FS, name string) error {
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	s := &source{path: name, dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go")}
	s.lines = bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		s.lines++
	}
	if path.Ext(name) == ".go" {
		s.syntax, err = parser.ParseFile(t.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	}
	t.sources = append(t.sources, s)
	return err
}

// code yields the Go files, tests only if asked for.
func (t *tree) code(tests bool) []*source {
	return slices.DeleteFunc(slices.Clone(t.sources), func(s *source) bool {
		return s.syntax == nil || s.test && !tests
	})
}

func (t *tree) at(n ast.Node) string {
	p := t.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

func checkImports(t *tree) (breaches []string) {
	for _, s := range t.code(true) {
		if _, known := rooms[s.dir]; !known {
			breaches = append(breaches, fmt.Sprintf("%s: the package %s is not in the table rooms of architecture_test.go", s.path, s.dir))
			continue
		}
		for _, spec := range s.syntax.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			if why := refusal(s, name); why != "" {
				breaches = append(breaches, fmt.Sprintf("%s: %s imports %s: %s", t.at(spec), s.dir, name, why))
			}
		}
	}
	return breaches
}

// refusal says why a file may not import the named package; "" is a consent.
func refusal(s *source, name string) string {
	if room, ours := strings.CutPrefix(name, module+"/"); ours {
		permits := func(pattern string) bool { hit, _ := path.Match(pattern, room); return hit }
		if room == s.dir || s.test && room != "cmd" || slices.ContainsFunc(rooms[s.dir], permits) {
			return ""
		}
		return "it may import " + cmp.Or(strings.Join(rooms[s.dir], ", "), "nothing") +
			" of ours; move the code to a room that may, or let cmd pass the value in"
	}
	for _, f := range fences {
		within := name == f.imports || strings.HasPrefix(name, f.imports+"/")
		if within && !s.test && (slices.Contains(f.out, s.dir) || f.in != nil && !slices.Contains(f.in, s.dir)) {
			return f.mend
		}
	}
	return ""
}

func checkSQL(t *tree) (breaches []string) {
	for _, s := range t.code(false) {
		if slices.Contains(store, s.dir) {
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, _ := strconv.Unquote(lit.Value); statement.MatchString(text) {
					breaches = append(breaches, t.at(lit)+": a statement of SQL outside db and migrations")
				}
			}
			return true
		})
	}
	return breaches
}

func checkFileSize(t *tree) (breaches []string) {
	for _, s := range t.sources {
		if slices.Contains(weighed, path.Ext(s.path)) && s.lines > maxFileLines {
			breaches = append(breaches, fmt.Sprintf("%s: %d lines, over %d", s.path, s.lines, maxFileLines))
		}
	}
	return breaches
}

func checkPackageComment(t *tree) (breaches []string) {
	said, names := map[string]bool{}, map[string]string{}
	for _, s := range t.code(false) {
		name := s.syntax.Name.Name
		names[s.dir] = name
		doc := s.syntax.Doc.Text()
		if strings.HasPrefix(doc, "Package "+name+" ") || name == "main" && strings.HasPrefix(doc, "Command "+module+" ") {
			said[s.dir] = true
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(names)) {
		if !said[dir] {
			breaches = append(breaches, fmt.Sprintf("%s: package %s has no package comment", dir, names[dir]))
		}
	}
	return breaches
}

func checkNames(t *tree) (breaches []string) {
	for _, s := range t.sources {
		named := strings.ToLower(s.path)
		if s.syntax != nil {
			named += "/" + s.syntax.Name.Name
		}
		words := strings.FieldsFunc(named, func(r rune) bool { return strings.ContainsRune("/_-.", r) })
		if i := slices.IndexFunc(words, func(w string) bool { return slices.Contains(vague, w) }); i >= 0 {
			breaches = append(breaches, fmt.Sprintf("%s: named %s", s.path, words[i]))
		}
	}
	return breaches
}

func checkDocComments(t *tree) (breaches []string) {
	report := func(n ast.Node, name string) {
		breaches = append(breaches, fmt.Sprintf("%s: %s has no doc comment", t.at(n), name))
	}
	for _, s := range t.code(false) {
		if s.syntax.Name.Name == "main" {
			continue
		}
		for _, decl := range s.syntax.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				told := d.Doc != nil || d.Recv != nil && slices.Contains(conventional, d.Name.Name)
				if name, exported := funcName(d); exported && !told {
					report(d, name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					for _, ident := range undocumented(d, spec) {
						report(ident, ident.Name)
					}
				}
			}
		}
	}
	return breaches
}

// funcName also says whether others can call it: a method needs an exported
// receiver as well.
func funcName(d *ast.FuncDecl) (name string, exported bool) {
	if d.Recv == nil {
		return d.Name.Name, d.Name.IsExported()
	}
	recv, _, _ := strings.Cut(strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*"), "[")
	return recv + "." + d.Name.Name, ast.IsExported(recv) && d.Name.IsExported()
}

// undocumented lists a spec's exported names without a comment. The comment of
// a group speaks for its constants and variables, not for its types.
func undocumented(d *ast.GenDecl, spec ast.Spec) []*ast.Ident {
	var names []*ast.Ident
	documented := d.Doc != nil
	switch s := spec.(type) {
	case *ast.TypeSpec:
		names = []*ast.Ident{s.Name}
		documented = s.Doc != nil || d.Doc != nil && !d.Lparen.IsValid()
	case *ast.ValueSpec:
		names = s.Names
		documented = documented || s.Doc != nil || s.Comment != nil
	}
	return slices.DeleteFunc(slices.Clone(names), func(n *ast.Ident) bool { return documented || !n.IsExported() })
}

func checkFuncSize(t *tree) (breaches []string) {
	for _, s := range t.code(false) {
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			name := "a function literal"
			switch f := n.(type) {
			case *ast.FuncDecl:
				name, _ = funcName(f)
			case *ast.FuncLit:
			default:
				return true
			}
			lines := t.fset.Position(n.End()).Line - t.fset.Position(n.Pos()).Line + 1
			if lines > maxFuncLines {
				breaches = append(breaches, fmt.Sprintf("%s: %s has %d lines, over %d", t.at(n), name, lines, maxFuncLines))
			}
			return true
		})
	}
	return breaches
}

func checkTop(t *tree) (breaches []string) {
	for _, name := range t.top {
		if !slices.Contains(top, name) {
			breaches = append(breaches, name+": not one of the names that stand at the top")
		}
	}
	return breaches
}
