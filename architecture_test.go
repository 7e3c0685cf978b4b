// Package main_test checks the architecture of the repository: which package may import
// which, where SQL is allowed, how long a file may be, which comments and names it must
// have. It reads the files themselves, so that the rules also apply to code behind build
// tags.
//
// The rules are the tables below. Change a table only in a commit that says why.
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

// Limits in lines. Aim at 250 and 40.
const (
	maxFileLines = 500
	maxFuncLines = 80
)

// Limits of a type and of a package, tests aside. Package cmd has a file for each command.
const (
	maxMethods = 40
	maxFiles   = 30
)

// moreFiles are the limits of packages that may have more files.
var moreFiles = map[string]int{"cmd": 75, "db": 32}

// allowedImports lists, for each package, the packages of this module that it may import.
// "*" matches one name. Tests may import all packages except cmd.
var allowedImports = map[string][]string{
	".":               {"cmd"},
	"cmd":             {"*", "*/*", "*/*/*"},
	"db":              {"db/audit", "db/fair", "db/resource", "db/search", "db/sqlite", "migrations"},
	"db/annotation":   {"db", "db/audit", "db/resource"},
	"db/audit":        {},
	"db/auth":         {"db", "db/audit", "db/fair", "db/sqlite"},
	"db/backup":       {"db", "db/audit", "db/sqlite", "migrations"},
	"db/check":        {"db", "db/backup", "db/delivery"},
	"db/dashboard":    {"db", "db/audit", "db/delivery", "db/resource", "db/search", "db/sqlite"},
	"db/delivery":     {"db", "db/audit"},
	"db/fair":         {},
	"db/report":       {"db", "db/audit"},
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
	"web/admin":       {"db", "db/audit", "db/auth", "db/backup", "db/check", "db/dashboard", "db/resource", "server/api", "server/transfer", "web/page", "web/records", "web/ui"},
	"web/data":        {"db", "db/auth", "db/resource", "server/api", "server/evidence", "server/transfer", "web/page", "web/records", "web/ui"},
	"web/overview":    {"db/auth", "db/resource", "server/api", "server/openapi", "web/page", "web/records", "web/ui"},
	"web/page":        {"db", "db/audit", "db/auth", "server/api", "server/limit", "server/openapi", "server/transfer", "web/ui"},
	"web/records":     {"db", "db/annotation", "db/auth", "db/dashboard", "db/resource", "server/api", "server/openapi", "server/transfer", "web/page", "web/ui"},
	"web/report":      {"db/auth", "db/dashboard", "db/report", "db/resource", "server/api", "web/page", "web/records", "web/ui"},
	"web/ui":          {},

	"web/integrations": {"db", "db/auth", "db/delivery", "server/api", "server/openapi", "server/webhook", "web/page", "web/ui"},

	"server/certificates":     {},
	"server/listener":         {"server/limit"},
	"server/memlimit":         {},
	"internal/testkit":        {"server/openapi"},
	"internal/testkit/testdb": {"db", "db/audit", "internal/testkit", "sandbox", "server/openapi", "server/transfer"},

	"server/webhook/receiver": {"db", "db/delivery", "server/webhook"},
}

// noHTTP are the packages that work for every caller: HTTP, MCP, pages, commands.
var noHTTP = []string{"db", "db/annotation", "db/auth", "db/backup", "db/check", "db/dashboard", "db/delivery", "db/report", "db/resource", "db/sqlite", "server/api", "server/evidence", "server/mcp", "server/openapi", "server/siem", "server/transfer", "web/ui"}

// store are the packages with SQL and its drivers.
var store = []string{"db", "db/annotation", "db/auth", "db/backup", "db/dashboard", "db/delivery", "db/report", "db/search", "db/sqlite", "migrations"}

// restrictedImports are packages of other modules, and the packages below them, that some
// packages must not import (out) or that only some may import (in). Tests may import them.
var restrictedImports = []struct {
	imports string
	out, in []string
	fix     string
}{
	{imports: "net/http", out: noHTTP, fix: "keep HTTP in server, server/webhook, web or cmd, and pass plain values in"},
	{imports: "database/sql", in: slices.Concat(store, []string{testkit}), fix: "add a method to db and call that"},
	{imports: "modernc.org/sqlite", in: []string{"db/sqlite"}, fix: "let db/sqlite open the file and name its errors"},
	{imports: "github.com/prometheus", in: []string{"server/metrics"}, fix: "count through server/metrics"},
	{imports: "github.com/pressly/goose", in: store, fix: "let db migrate when it opens the file"},
}

// restrictedMethods are methods that only some packages and those below them may name.
// Tests may name them.
var restrictedMethods = map[string][]string{"Engine": {"db", testkit}}

// statement matches a literal that is SQL, but not a sentence that begins like one.
var statement = regexp.MustCompile(`^\s*(?:` +
	`SELECT\s|select\s[^A-Z]*\sfrom\s|WITH\s+\w+.*\sAS\s*\(|PRAGMA\s|pragma\s|` +
	`(?i:INSERT\s+(OR\s+\w+\s+)?INTO\s|UPDATE\s+\S+\s+SET\s)|(?:DELETE\s+FROM|delete from)\s)`)

// topLevel lists the names at the top of the repository, except those that begin with a dot
// and those that .gitignore has.
var topLevel = strings.Fields(`main.go cmd internal server db sandbox migrations web go.mod go.sum doc architecture_test.go architecture_rules_test.go readme_test.go
	README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md LICENSE Makefile`)

// conventional are methods with the contract of their interface, as in revive.
var conventional = strings.Fields("Error Unwrap String Read Write ServeHTTP Len Less Swap")

// vagueNames do not say what a file or package contains.
var vagueNames = strings.Fields("util utils helper helpers common misc")

// bannedWords are the private metaphors that identifiers and file names once had. Standard
// terms have taken their places.
var bannedWords = strings.Fields(`birth brisk deed desk door entrance flawed guest hasten house law laws mend
	noun nouns raise rhythm scene scenes seal stage tell tells told transcript unseal visit wanting world`)

// wordAllowed are the identifiers in which a banned word is a term of a standard.
var wordAllowed = strings.Fields("OpenWorld")

// limitedFiles are the suffixes of files with a limit of lines.
var limitedFiles = strings.Fields(".go .css .yaml .html")

// rules are checked one by one. check returns a line for each violation.
var rules = []struct {
	name  string
	fix   string
	check func(*tree) []string
}{
	{"imports", "", checkImports},
	{"restricted methods", "read through a function of db or of a package below it", checkRestrictedMethods},
	{"sql", "move the statement into db and call a function there", checkSQL},
	{"file size", "split the file by resource or by step", checkFileSize},
	{"package comment", "say what the package is for above the package clause of one file: Package NAME …", checkPackageComment},
	{"names", "name it after the resource or the operation", checkNames},
	{"words", "use the field's standard term", checkWords},
	{"methods", "make services of it, or functions", checkMethods},
	{"files", "merge files of one subject, or make a package of them", checkFiles},
	{"doc comments", "say the contract above the declaration, or make the name unexported", checkDocComments},
	{"function size", "make its steps functions", checkFuncSize},
	{"top level", "move it into a package, doc or a dot folder, or let .gitignore name it", checkTop},
}

func TestArchitecture_FollowsRules(t *testing.T) {
	t.Parallel()
	repo, err := readTree(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			t.Parallel()
			for _, violation := range rule.check(repo) {
				if rule.fix != "" {
					violation += ": " + rule.fix
				}
				t.Error(violation)
			}
		})
	}
}

// tree is what the rules check.
type tree struct {
	top     []string // the names at the top, except those that git ignores
	sources []*source
	fset    *token.FileSet
}

type source struct {
	path, dir string
	test      bool
	lines     int
	syntax    *ast.File // nil if the file is not Go
}

// readTree reads the files that git would keep, except dot folders and what the go command
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
		if skipped(name, string(ignored)) {
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

func skipped(name, ignored string) bool {
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

// code returns the Go files. It returns tests only on request.
func (t *tree) code(tests bool) []*source {
	return slices.DeleteFunc(slices.Clone(t.sources), func(s *source) bool {
		return s.syntax == nil || s.test && !tests
	})
}

func (t *tree) at(n ast.Node) string {
	p := t.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

func checkImports(t *tree) (violations []string) {
	for _, s := range t.code(true) {
		if _, known := allowedImports[s.dir]; !known {
			violations = append(violations, fmt.Sprintf("%s: the package %s is not in the table allowedImports of architecture_test.go", s.path, s.dir))
			continue
		}
		for _, spec := range s.syntax.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			if why := refusal(s, name); why != "" {
				violations = append(violations, fmt.Sprintf("%s: %s imports %s: %s", t.at(spec), s.dir, name, why))
			}
		}
	}
	return violations
}

// testkit and the packages below it are for tests only.
const testkit = "internal/testkit"

// under reports whether a package is another one or lies below it.
func under(dir, ancestor string) bool { return dir == ancestor || strings.HasPrefix(dir, ancestor+"/") }

// refusal says why a file may not import a package. It returns "" if it may.
func refusal(s *source, name string) string {
	if dir, ours := strings.CutPrefix(name, module+"/"); ours {
		permits := func(pattern string) bool { hit, _ := path.Match(pattern, dir); return hit }
		if under(dir, testkit) && !s.test && !under(s.dir, testkit) {
			return "only tests may import it"
		}
		if dir == s.dir || s.test && dir != "cmd" || slices.ContainsFunc(allowedImports[s.dir], permits) {
			return ""
		}
		return "it may import " + cmp.Or(strings.Join(allowedImports[s.dir], ", "), "nothing") +
			" of this module; move the code to a package that may, or let cmd pass the value in"
	}
	for _, f := range restrictedImports {
		within := under(name, f.imports)
		if within && !s.test && (slices.Contains(f.out, s.dir) || f.in != nil && !slices.Contains(f.in, s.dir)) {
			return f.fix
		}
	}
	return ""
}

func checkSQL(t *tree) (violations []string) {
	for _, s := range t.code(false) {
		if slices.Contains(store, s.dir) || under(s.dir, testkit) {
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, _ := strconv.Unquote(lit.Value); statement.MatchString(text) {
					violations = append(violations, t.at(lit)+": an SQL statement outside db and migrations")
				}
			}
			return true
		})
	}
	return violations
}

func checkFileSize(t *tree) (violations []string) {
	for _, s := range t.sources {
		if slices.Contains(limitedFiles, path.Ext(s.path)) && s.lines > maxFileLines {
			violations = append(violations, fmt.Sprintf("%s: %d lines, over %d", s.path, s.lines, maxFileLines))
		}
	}
	return violations
}

func checkPackageComment(t *tree) (violations []string) {
	described, names := map[string]bool{}, map[string]string{}
	for _, s := range t.code(false) {
		name := s.syntax.Name.Name
		names[s.dir] = name
		doc := s.syntax.Doc.Text()
		if strings.HasPrefix(doc, "Package "+name+" ") || name == "main" && strings.HasPrefix(doc, "Command "+module+" ") {
			described[s.dir] = true
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(names)) {
		if !described[dir] {
			violations = append(violations, fmt.Sprintf("%s: package %s has no package comment", dir, names[dir]))
		}
	}
	return violations
}

func checkNames(t *tree) (violations []string) {
	for _, s := range t.sources {
		named := strings.ToLower(s.path)
		if s.syntax != nil {
			named += "/" + s.syntax.Name.Name
		}
		words := strings.FieldsFunc(named, func(r rune) bool { return strings.ContainsRune("/_-.", r) })
		if i := slices.IndexFunc(words, func(w string) bool { return slices.Contains(vagueNames, w) }); i >= 0 {
			violations = append(violations, fmt.Sprintf("%s: named %s", s.path, words[i]))
		}
	}
	return violations
}

func checkDocComments(t *tree) (violations []string) {
	report := func(n ast.Node, name string) {
		violations = append(violations, fmt.Sprintf("%s: %s has no doc comment", t.at(n), name))
	}
	for _, s := range t.code(false) {
		if s.syntax.Name.Name == "main" {
			continue
		}
		for _, decl := range s.syntax.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				documented := d.Doc != nil || d.Recv != nil && slices.Contains(conventional, d.Name.Name)
				if name, exported := funcName(d); exported && !documented {
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
	return violations
}

// funcName also reports whether other packages can call a function. A method needs an
// exported receiver, too.
func funcName(d *ast.FuncDecl) (name string, exported bool) {
	if d.Recv == nil {
		return d.Name.Name, d.Name.IsExported()
	}
	recv, _, _ := strings.Cut(strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*"), "[")
	return recv + "." + d.Name.Name, ast.IsExported(recv) && d.Name.IsExported()
}

// undocumented returns the exported names of a spec without a comment. The comment of a
// group is valid for its constants and variables, not for its types.
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

func checkFuncSize(t *tree) (violations []string) {
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
				violations = append(violations, fmt.Sprintf("%s: %s has %d lines, over %d", t.at(n), name, lines, maxFuncLines))
			}
			return true
		})
	}
	return violations
}

func checkTop(t *tree) (violations []string) {
	for _, name := range t.top {
		if !slices.Contains(topLevel, name) {
			violations = append(violations, name+": not a name of the table topLevel")
		}
	}
	return violations
}
