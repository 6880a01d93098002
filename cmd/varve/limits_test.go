package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var recordLimits = flag.Bool("record-limits", false, "write docs/reference/limits.md")

const limitsHead = `# Limits

Look up the largest sizes and numbers that varve accepts or keeps. This page is generated from the constants of the code
whose names begin with max: ` + "`go test ./cmd/varve -run TestLimits -record-limits`" + `. [Security](security.md) says why there are limits.
The comment of a constant is its reason.

`

// TestLimits checks that docs/reference/limits.md has the limits of the code.
func TestLimits(t *testing.T) {
	const page = "../../docs/reference/limits.md"
	want := limitsHead + limitsTable(t)
	if *recordLimits {
		if err := os.WriteFile(page, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	// The reasons are comments. They may change without a new page.
	withoutReasons := func(text string) string { return reasonCell.ReplaceAllString(text, "| `$1` | $2 |") }
	if withoutReasons(string(got)) != withoutReasons(want) {
		t.Errorf("%s is out of date: go test ./cmd/varve -run TestLimits -record-limits", page)
	}
}

var reasonCell = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| ([\\d,]+) \\|.*$")

var limitName = regexp.MustCompile(`^[mM]ax[A-Z]`)

// limitsTable returns a table of the limits of each package.
func limitsTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, dir := range packageFolders(t, "readers", "codec", "zarrjson", "grid", "manifest") {
		rows := limitsIn(t, dir)
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(&b, "## %s\n\n| limit | value | reason |\n|---|---|---|\n%s\n", filepath.ToSlash(dir), strings.Join(rows, ""))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// packageFolders returns all folders below some folders of the repository, sorted.
func packageFolders(t *testing.T, tops ...string) (dirs []string) {
	t.Helper()
	for _, top := range tops {
		err := filepath.WalkDir(filepath.Join("../..", top), func(name string, d fs.DirEntry, err error) error {
			if d != nil && d.IsDir() && strings.HasSuffix(filepath.ToSlash(name), "codec/internal") {
				return fs.SkipDir // the constants there are of formats
			}
			if err == nil && d.IsDir() && d.Name() != "testdata" && d.Name() != "readertest" {
				dir, _ := filepath.Rel("../..", name)
				dirs = append(dirs, dir)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(dirs)
	return dirs
}

// limitsIn returns a row for each limit of a package.
func limitsIn(t *testing.T, dir string) (rows []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	exprs := map[string]ast.Expr{}
	comments := map[string]string{}
	set := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.CONST {
				continue
			}
			above := group.Doc.Text()
			for _, spec := range group.Specs {
				v := spec.(*ast.ValueSpec)
				if doc := v.Doc.Text(); doc != "" {
					above = doc // a comment is for the constants below it too
				}
				for i, name := range v.Names {
					if i < len(v.Values) {
						exprs[name.Name] = v.Values[i]
					}
					comments[name.Name] = above
					if line := v.Comment.Text(); line != "" {
						comments[name.Name] = line
					}
				}
			}
		}
	}
	for name, expr := range exprs {
		if !limitName.MatchString(name) {
			continue
		}
		if value := evaluate(expr, exprs, 0); value != nil && value.Kind() == constant.Int {
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |\n", name, withCommas(value.ExactString()), reasonOf(name, comments[name])))
		}
	}
	slices.Sort(rows)
	return rows
}

// reasonOf returns the first sentence of a comment for a cell of a table, without the name of the constant. A long
// sentence ends at its first comma or colon.
func reasonOf(name, comment string) string {
	text := strings.TrimPrefix(strings.Join(strings.Fields(comment), " "), name+" ")
	if end := strings.Index(text, ". "); end >= 0 {
		text = text[:end+1]
	}
	if end := strings.IndexAny(text, ",:;"); len(text) > 70 && end > 0 {
		text = text[:end] + "."
	}
	return markdown(strings.TrimPrefix(text, "is "))
}

// withCommas groups the digits of a number by thousands.
func withCommas(digits string) string {
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// evaluate returns the value of a constant, or nil if it needs another package or a function.
func evaluate(e ast.Expr, known map[string]ast.Expr, depth int) constant.Value {
	if depth > 100 {
		return nil
	}
	switch e := e.(type) {
	case *ast.BasicLit:
		return constant.MakeFromLiteral(e.Value, e.Kind, 0)
	case *ast.ParenExpr:
		return evaluate(e.X, known, depth+1)
	case *ast.Ident:
		if to, ok := known[e.Name]; ok {
			return evaluate(to, known, depth+1)
		}
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok && x.Name == "math" {
			return map[string]constant.Value{"MaxInt32": constant.MakeInt64(1<<31 - 1), "MaxUint32": constant.MakeInt64(1<<32 - 1), "MaxInt64": constant.MakeInt64(1<<63 - 1)}[e.Sel.Name]
		}
	case *ast.BinaryExpr:
		x, y := evaluate(e.X, known, depth+1), evaluate(e.Y, known, depth+1)
		if x == nil || y == nil {
			return nil
		}
		switch e.Op {
		case token.SHL:
			by, _ := constant.Uint64Val(y)
			return constant.Shift(x, e.Op, uint(by))
		case token.QUO:
			if constant.Sign(y) == 0 {
				return nil
			}
			return constant.BinaryOp(x, token.QUO_ASSIGN, y)
		}
		return constant.BinaryOp(x, e.Op, y)
	}
	return nil
}

// TestSecurityPage checks that each test which docs/reference/security.md names exists.
func TestSecurityPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/security.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	for _, dir := range packageFolders(t, "readers", "codec", "zarrjson", "grid", "manifest", "cmd", "fixtures") {
		files, err := filepath.Glob(filepath.Join("../..", dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			code, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range declared.FindAllSubmatch(code, -1) {
				tests[string(m[1])] = true
			}
		}
	}
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`").FindAllSubmatch(text, -1)
	if len(named) < 30 {
		t.Errorf("the page names %d tests only", len(named))
	}
	for _, m := range named {
		if !tests[string(m[1])] {
			t.Errorf("there is no test %s", m[1])
		}
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| who") && strings.Count(line, "|") == 5 && !strings.Contains(line, "`Test") && !strings.Contains(line, "`Fuzz") {
			t.Errorf("no test in the line %s", line)
		}
	}
}
