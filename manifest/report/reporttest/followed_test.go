package reporttest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// notFollowed are remedies that no test can follow, with the reason.
var notFollowed = map[string]string{
	"option deep": "helps only if an older varve read another header from the same file",
}

// TestEachRemedyIsFollowed finds all options and consequences of remedies in the source code. A test has to follow a remedy with each of
// them, and compare the result with the truth.
func TestEachRemedyIsFollowed(t *testing.T) {
	followed := map[string]bool{}
	files, err := filepath.Glob("testdata/followed/*.txt")
	if err != nil || len(files) < 3 {
		t.Fatalf("%v: %q", err, files)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			followed[strings.TrimSpace(line)] = true
		}
	}
	given := remediesInSource(t)
	if len(given) < 90 {
		t.Errorf("only %d options and consequences were found", len(given))
	}
	for _, remedy := range slices.Sorted(maps.Keys(given)) {
		if !followed[remedy] && notFollowed[remedy] == "" {
			t.Errorf("no test follows a remedy with the %s, which is in %s", remedy, given[remedy])
		}
	}
	for remedy := range notFollowed {
		if given[remedy] == "" || followed[remedy] {
			t.Errorf("%s is followed, or not in the source", remedy)
		}
	}
}

// remediesInSource returns the place of an option and of a consequence of each remedy. Remedies that are made of other data, such as those of
// an error, are where that was made.
func remediesInSource(t *testing.T) map[string]string {
	t.Helper()
	constants := map[string]string{}
	var parsed []*ast.File
	set := token.NewFileSet()
	for _, folder := range []string{"../../../manifest", "../../../readers", "../../../cmd/varve", "../../../codec"} {
		err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
			parsed = append(parsed, f)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	found := map[string]string{}
	for _, f := range parsed {
		if f.Name.Name != "report" {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			of, _ := spec.Type.(*ast.Ident)
			if text, ok := literal(spec.Values[0]); ok && of != nil && (of.Name == "Option" || of.Name == "Consequence") {
				constants[spec.Names[0].Name] = text
				if of.Name == "Consequence" {
					found["consequence "+text] = set.Position(n.Pos()).String()
				}
			}
			return true
		})
	}
	for _, f := range parsed {
		ast.Inspect(f, func(n ast.Node) bool {
			if option, ok := optionOf(n, constants); ok {
				found["option "+option] = set.Position(n.Pos()).String()
			}
			return true
		})
	}
	return found
}

// optionOf returns the option of a call or a literal that makes a remedy.
func optionOf(n ast.Node, constants map[string]string) (string, bool) {
	switch n := n.(type) {
	case *ast.CallExpr:
		at := map[string]int{"Do": 0, "Fill": 0, "And": 0, "Or": 0, "WithRemedy": 1}
		name := ""
		switch fun := n.Fun.(type) {
		case *ast.SelectorExpr:
			if pkg, _ := fun.X.(*ast.Ident); pkg != nil && pkg.Name == "cmp" {
				return "", false
			}
			name = fun.Sel.Name
		case *ast.Ident:
			name = fun.Name
		}
		switch name {
		case "DropPath":
			return constants["Drop"], true
		case "BroadcastAlong":
			return constants["Broadcast"], true
		}
		if i, ok := at[name]; ok && i < len(n.Args) {
			return constant(n.Args[i], constants)
		}
	case *ast.CompositeLit:
		of, _ := n.Type.(*ast.SelectorExpr)
		if of == nil || of.Sel.Name != "Setting" || len(n.Elts) == 0 {
			return "", false
		}
		if pair, ok := n.Elts[0].(*ast.KeyValueExpr); ok {
			return "", pair == nil // an option that the user gave
		}
		return constant(n.Elts[0], constants)
	}
	return "", false
}

// constant returns the text of an option: a literal, a constant of package report, or one of these that is converted.
func constant(e ast.Expr, constants map[string]string) (string, bool) {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		pkg, _ := e.X.(*ast.Ident)
		text, ok := constants[e.Sel.Name]
		return text, ok && pkg != nil && pkg.Name == "report"
	case *ast.Ident:
		text, ok := constants[e.Name]
		return text, ok
	case *ast.CallExpr:
		if len(e.Args) == 1 {
			return constant(e.Args[0], constants)
		}
	}
	return literal(e)
}

func literal(e ast.Expr) (string, bool) {
	b, ok := e.(*ast.BasicLit)
	if !ok || b.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(b.Value)
	return text, err == nil
}
