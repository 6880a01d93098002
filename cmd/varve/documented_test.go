package main

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goFiles calls do with every Go file of the library.
func goFiles(t *testing.T, do func(name string, file *ast.File)) {
	t.Helper()
	fset, count := token.NewFileSet(), 0
	for _, dir := range []string{"grid", "codec", "zarrjson", "readers", "manifest"} {
		err := filepath.WalkDir(filepath.Join("../..", dir), func(name string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(name) != ".go" {
				return err
			}
			file, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			count++
			do(name, file)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if count < 500 {
		t.Fatalf("%d Go files; this test looks at the wrong place", count)
	}
}

// TestDocumented checks that every package and every exported name has a comment.
func TestDocumented(t *testing.T) {
	packages := map[string]bool{}
	goFiles(t, func(name string, file *ast.File) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		dir := filepath.Dir(name)
		packages[dir] = packages[dir] || file.Doc != nil
		if strings.Contains(dir, "internal") {
			return
		}
		for _, d := range file.Decls {
			for _, ident := range undocumented(d) {
				t.Errorf("%s: %s has no comment", name, ident)
			}
		}
	})
	for dir, documented := range packages {
		if !documented {
			t.Errorf("%s has no package comment", dir)
		}
	}
}

func undocumented(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc == nil && (d.Recv == nil || isExported(d.Recv.List[0].Type)) {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.Name.IsExported() && cmp.Or(d.Doc, spec.Doc) == nil {
					names = append(names, spec.Name.Name)
				}
			case *ast.ValueSpec:
				for _, n := range spec.Names {
					if n.IsExported() && cmp.Or(d.Doc, spec.Doc, spec.Comment) == nil {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}

func isExported(receiver ast.Expr) bool {
	switch x := receiver.(type) {
	case *ast.StarExpr:
		return isExported(x.X)
	case *ast.IndexExpr:
		return isExported(x.X)
	case *ast.Ident:
		return x.IsExported()
	}
	return false
}

// TestNamedExamples: the examples that docs/reference/library.md names are there.
func TestNamedExamples(t *testing.T) {
	there := map[string]bool{}
	goFiles(t, func(name string, file *ast.File) {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Example") {
				there[f.Name.Name] = true
			}
		}
	})
	text, err := os.ReadFile("../../docs/reference/library.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Example\\w+)`").FindAllStringSubmatch(string(text), -1)
	if len(named) == 0 {
		t.Error("none is named; this test looks at the wrong place")
	}
	for _, name := range named {
		if !there[name[1]] {
			t.Errorf("there is no %s", name[1])
		}
	}
}
