package main_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// identifierWord matches one word of a name in mixed caps.
var identifierWord = regexp.MustCompile(`[A-Z]+[a-z0-9]*|[a-z0-9]+`)

func checkRestrictedMethods(t *tree) (violations []string) {
	for _, s := range t.code(false) {
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			if selector, ok := n.(*ast.SelectorExpr); ok {
				in, restricted := restrictedMethods[selector.Sel.Name]
				permits := func(dir string) bool { return under(s.dir, dir) }
				if restricted && !slices.ContainsFunc(in, permits) {
					violations = append(violations, fmt.Sprintf("%s: %s names %s", t.at(selector.Sel), s.dir, selector.Sel.Name))
				}
			}
			return true
		})
	}
	return violations
}

func checkWords(t *tree) (violations []string) {
	check := func(where, name string) {
		for _, word := range identifierWord.FindAllString(name, -1) {
			if slices.Contains(bannedWords, strings.ToLower(word)) && !slices.Contains(wordAllowed, name) {
				violations = append(violations, fmt.Sprintf("%s: %s has the word %s", where, name, strings.ToLower(word)))
			}
		}
	}
	for _, s := range t.sources {
		check(s.path, path.Base(s.path))
		if s.syntax == nil {
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			var names []*ast.Ident
			switch n := n.(type) {
			case *ast.FuncDecl:
				names = []*ast.Ident{n.Name}
			case *ast.TypeSpec:
				names = []*ast.Ident{n.Name}
			case *ast.ValueSpec:
				names = n.Names
			case *ast.Field:
				names = n.Names
			case *ast.AssignStmt:
				for _, left := range n.Lhs {
					if ident, ok := left.(*ast.Ident); ok && n.Tok == token.DEFINE {
						names = append(names, ident)
					}
				}
			}
			for _, ident := range names {
				check(t.at(ident), ident.Name)
			}
			return true
		})
	}
	return violations
}

func checkMethods(t *tree) (violations []string) {
	count := map[string]int{}
	for _, s := range t.sources {
		if s.syntax == nil {
			continue
		}
		for _, decl := range s.syntax.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok && d.Recv != nil {
				count[s.dir+", "+s.syntax.Name.Name+"."+types.ExprString(receiverType(d))]++
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		if count[name] > maxMethods {
			violations = append(violations, fmt.Sprintf("%s has %d methods, the limit is %d", name, count[name], maxMethods))
		}
	}
	return violations
}

// receiverType returns the type of a method's receiver without its star.
func receiverType(d *ast.FuncDecl) ast.Expr {
	if star, ok := d.Recv.List[0].Type.(*ast.StarExpr); ok {
		return star.X
	}
	return d.Recv.List[0].Type
}

func checkFiles(t *tree) (violations []string) {
	count := map[string]int{}
	for _, s := range t.code(false) {
		count[s.dir]++
	}
	for _, dir := range slices.Sorted(maps.Keys(count)) {
		if limit := cmp.Or(moreFiles[dir], maxFiles); count[dir] > limit {
			violations = append(violations, fmt.Sprintf("%s has %d files, the limit is %d", dir, count[dir], limit))
		}
	}
	return violations
}

// validTree returns a small repository that follows every rule. It has cases that are
// similar to violations but are none.
func validTree() fstest.MapFS {
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

// TestArchitecture_FindsViolations adds a violation of each rule to a valid repository.
func TestArchitecture_FindsViolations(t *testing.T) {
	t.Parallel()
	const api = "// Package api holds the operations.\npackage api\n\n"
	long := func(lines int) string { return "func long() {\n" + strings.Repeat("_ = 1\n", lines-2) + "}\n" }
	rows := []struct{ rule, path, text, want string }{
		{"imports", "db/risks.go", "package db\n\nimport _ \"govsvc/server/api\"\n", "db/risks.go:3: db imports govsvc/server/api: it may import db/audit, db/fair, db/resource, db/search, db/sqlite, migrations of this module; move"},
		{"imports", "server/api/x.go", "package api\n\nimport _ \"govsvc/server\"\n", "server/api imports govsvc/server:"},
		{"imports", "server/api/x.go", "package api\n\nimport _ \"govsvc/sandbox\"\n", "server/api imports govsvc/sandbox:"},
		{"imports", "server/limit/x.go", "package limit\n\nimport _ \"govsvc/db\"\n", "it may import nothing of this module"},
		{"imports", "server/x.go", "package server\n\nimport _ \"govsvc/web\"\n", "server imports govsvc/web:"},
		{"imports", "server/x.go", "package server\n\nimport _ \"govsvc/cmd\"\n", "server imports govsvc/cmd:"},
		{"imports", "web/x.go", "package web\n\nimport _ \"govsvc/server\"\n", "web imports govsvc/server:"},
		{"imports", "cmd/x.go", "package cmd\n\nimport _ \"govsvc/internal/testkit\"\n", "cmd imports govsvc/internal/testkit: only tests may import it"},
		{"imports", "x.go", "package main\n\nimport _ \"govsvc/db\"\n", ". imports govsvc/db:"},
		{"imports", "db/x_test.go", "package db\n\nimport _ \"govsvc/cmd\"\n", "db imports govsvc/cmd:"},
		{"imports", "server/queue/x.go", "package queue\n", "server/queue is not in the table allowedImports"},
		{"imports", "db/x.go", "package db\n\nimport _ \"net/http/httptest\"\n", "db imports net/http/httptest: keep HTTP in"},
		{"imports", "server/transfer/x.go", "package transfer\n\nimport _ \"net/http\"\n", "server/transfer imports net/http:"},
		{"imports", "cmd/x.go", "package cmd\n\nimport _ \"database/sql\"\n", "cmd imports database/sql: add a method to db"},
		{"imports", "server/x.go", "package server\n\nimport _ \"modernc.org/sqlite/lib\"\n", "server imports modernc.org/sqlite/lib:"},
		{"imports", "sandbox/x.go", "package sandbox\n\nimport _ \"github.com/pressly/goose/v3\"\n", "sandbox imports github.com/pressly/goose/v3:"},
		{"restricted methods", "server/x.go", "package server\n\nfunc f(store interface{ Engine() }) { store.Engine() }\n", "server/x.go:3: server names Engine"},
		{"sql", "cmd/x.go", "package cmd\n\nconst q = `\n\tSELECT id\n\tFROM risks`\n", "cmd/x.go:3: an SQL statement"},
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
		{"top level", "notes.txt", "", "notes.txt: not a name of the table topLevel"},
		{"top level", "tools/x.go", "package x\n", "tools: not a name of the table topLevel"},
		{"words", "db/x.go", "package db\n\nfunc newScene() {}\n", "db/x.go:3: newScene has the word scene"},
		{"words", "db/x_test.go", "package db\n\nfunc f() { lawTable := 1; _ = lawTable }\n", "lawTable has the word law"},
		{"words", "web/visit.go", "package web\n", "web/visit.go: visit.go has the word visit"},
		{"files", "server/api/x.go", "package api\n", "server/api has 32 files, the limit is 30"},
		{"methods", "server/api/x.go", "package api\n" + strings.Repeat("\nfunc (t *T) m() {}\n", 40), "server/api, api.T has 41 methods"},
	}

	tested, check := map[string]bool{}, map[string]func(*tree) []string{}
	for _, row := range rows {
		tested[row.rule] = true
	}
	clean, err := readTree(validTree())
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range rules {
		check[rule.name] = rule.check
		for _, violation := range rule.check(clean) {
			t.Errorf("%s: got a violation in the valid repository: %s", rule.name, violation)
		}
		if !tested[rule.name] {
			t.Errorf("%s: no row has a violation of this rule; add one", rule.name)
		}
	}
	for _, row := range rows {
		t.Run(row.rule+" "+row.path, func(t *testing.T) {
			t.Parallel()
			files := validTree()
			files[row.path] = &fstest.MapFile{Data: []byte(row.text)}
			if row.rule == "files" {
				for i := range maxFiles {
					files[fmt.Sprintf("%s/x%d.go", path.Dir(row.path), i)] = &fstest.MapFile{Data: []byte(row.text)}
				}
			}
			invalid, err := readTree(files)
			if err != nil {
				t.Fatal(err)
			}
			got := check[row.rule](invalid)
			if len(got) != 1 || !strings.Contains(got[0], row.want) {
				t.Errorf("got %q, want one violation with %q in it", got, row.want)
			}
		})
	}
}
