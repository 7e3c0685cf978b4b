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
	".":               {"cmd"},
	"cmd":             {"*", "*/*", "*/*/*"},
	"db":              {"db/audit", "db/fair", "db/resource", "db/search", "db/sqlite", "migrations"},
	"db/audit":        {},
	"db/auth":         {"db", "db/audit", "db/fair", "db/sqlite"},
	"db/backup":       {"db", "db/audit", "db/sqlite", "migrations"},
	"db/dashboard":    {"db", "db/delivery", "db/resource", "db/sqlite"},
	"db/delivery":     {"db", "db/audit"},
	"db/fair":         {},
	"db/resource":     {},
	"db/search":       {"db/resource", "db/sqlite"},
	"db/sqlite":       {},
	"migrations":      {},
	"sandbox":         {"db", "db/audit", "db/resource", "server/openapi", "server/transfer"},
	"server":          {"db", "db/auth", "db/delivery", "db/fair", "db/resource", "server/*"},
	"server/api":      {"db", "db/audit", "db/dashboard", "db/delivery", "db/resource", "server/openapi", "server/webhook"},
	"server/evidence": {"db"},
	"server/limit":    {},
	"server/mcp":      {"server/api", "server/openapi"},
	"server/metrics":  {"db", "db/delivery"},
	"server/openapi":  {"db/resource"},
	"server/siem":     {"db", "db/audit"},
	"server/transfer": {"db", "db/audit", "db/resource", "server/openapi"},
	"server/webhook":  {"db", "db/delivery"},
	"web":             {"db", "db/auth", "server/api", "server/evidence", "server/limit", "server/openapi", "web/*"},
	"web/account":     {"db", "db/auth", "web/page", "web/ui"},
	"web/admin":       {"db", "db/audit", "db/auth", "db/backup", "db/dashboard", "db/resource", "server/api", "web/page", "web/records", "web/ui"},
	"web/data":        {"db", "db/auth", "db/resource", "server/api", "server/evidence", "server/transfer", "web/page", "web/records", "web/ui"},
	"web/overview":    {"db/auth", "db/resource", "server/api", "server/openapi", "web/page", "web/records", "web/ui"},
	"web/page":        {"db", "db/audit", "db/auth", "server/api", "server/limit", "server/openapi", "server/transfer", "web/ui"},
	"web/records":     {"db", "db/auth", "db/resource", "server/api", "server/openapi", "server/transfer", "web/page", "web/ui"},
	"web/ui":          {},

	"web/integrations": {"db", "db/auth", "db/delivery", "server/api", "server/openapi", "server/webhook", "web/page", "web/ui"},

	"server/certificates":     {},
	"server/listener":         {"server/limit"},
	"server/memlimit":         {},
	"internal/testkit":        {"server/openapi"},
	"internal/testkit/testdb": {"db", "db/audit", "internal/testkit", "sandbox", "server/openapi", "server/transfer"},

	"server/webhook/receiver": {"db", "db/delivery", "server/webhook"},
}

// noHTTP are the rooms that work for every caller: HTTP, MCP, pages, commands.
var noHTTP = []string{"db", "db/auth", "db/backup", "db/dashboard", "db/delivery", "db/resource", "db/sqlite", "server/api", "server/evidence", "server/mcp", "server/openapi", "server/siem", "server/transfer", "web/ui"}

// store is where SQL and its drivers live.
var store = []string{"db", "db/auth", "db/backup", "db/dashboard", "db/delivery", "db/search", "db/sqlite", "migrations"}

// fences keep packages of others, and what lies below them, out of some rooms
// (out) or inside some (in). Tests are free.
var fences = []struct {
	imports string
	out, in []string
	mend    string
}{
	{imports: "net/http", out: noHTTP, mend: "keep HTTP in server, server/webhook, web or cmd, and pass plain values in"},
	{imports: "database/sql", in: slices.Concat(store, []string{testkit}), mend: "add a method to db and call that"},
	{imports: "modernc.org/sqlite", in: []string{"db/sqlite"}, mend: "let db/sqlite open the file and name its errors"},
	{imports: "github.com/prometheus", in: []string{"server/metrics"}, mend: "count through server/metrics"},
	{imports: "github.com/pressly/goose", in: store, mend: "let db migrate when it opens the file"},
}

// statement tells a literal that is SQL from a sentence that starts alike.
var statement = regexp.MustCompile(`^\s*(?:` +
	`SELECT\s|select\s[^A-Z]*\sfrom\s|WITH\s+\w+.*\sAS\s*\(|PRAGMA\s|pragma\s|` +
	`(?i:INSERT\s+(OR\s+\w+\s+)?INTO\s|UPDATE\s+\S+\s+SET\s)|(?:DELETE\s+FROM|delete from)\s)`)

// top lists what may stand at the top of the repository, beside names that
// start with a dot and those .gitignore anchors there.
var top = strings.Fields(`main.go cmd internal server db sandbox migrations web go.mod go.sum doc architecture_test.go architecture_rules_test.go readme_test.go
	README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md LICENSE Makefile`)

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

// testkit and the packages below it are for tests alone.
const testkit = "internal/testkit"

// under reports whether a package is another one or lies below it.
func under(dir, ancestor string) bool { return dir == ancestor || strings.HasPrefix(dir, ancestor+"/") }

// refusal says why a file may not import the named package; "" is a consent.
func refusal(s *source, name string) string {
	if room, ours := strings.CutPrefix(name, module+"/"); ours {
		permits := func(pattern string) bool { hit, _ := path.Match(pattern, room); return hit }
		if under(room, testkit) && !s.test && !under(s.dir, testkit) {
			return "only tests may import it"
		}
		if room == s.dir || s.test && room != "cmd" || slices.ContainsFunc(rooms[s.dir], permits) {
			return ""
		}
		return "it may import " + cmp.Or(strings.Join(rooms[s.dir], ", "), "nothing") +
			" of ours; move the code to a room that may, or let cmd pass the value in"
	}
	for _, f := range fences {
		within := under(name, f.imports)
		if within && !s.test && (slices.Contains(f.out, s.dir) || f.in != nil && !slices.Contains(f.in, s.dir)) {
			return f.mend
		}
	}
	return ""
}

func checkSQL(t *tree) (breaches []string) {
	for _, s := range t.code(false) {
		if slices.Contains(store, s.dir) || under(s.dir, testkit) {
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
