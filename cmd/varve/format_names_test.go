package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/readers/formats"
)

// formatFree are the packages that know no format: a new one must not touch them.
var formatFree = []string{"scan", "plan", "ingest", "internal/planner", "internal/planner/internal/*"}

// namesExports are the files of formatFree that name what varve writes, by path: sources are told from exports in ingest/outputs.go.
var namesExports = []string{"ingest/outputs.go"}

// TestNoFormatNames checks that no import, identifier or literal of these packages has the name of a format or of its options. Zarr is
// not only a format that varve reads, and "fits" is a word.
func TestNoFormatNames(t *testing.T) {
	var names []string
	for _, f := range formats.All() {
		for _, name := range append([]string{f.Name}, f.Aliases...) {
			if name = strings.Trim(name, "-+0123456789"); name != "Zarr" && name != "FITS" {
				names = append(names, strings.ToLower(name))
			}
		}
		for _, o := range f.Options {
			if strings.Contains(o.Name, "-") {
				names = append(names, o.Name, strings.ReplaceAll(o.Name, "-", ""))
			}
		}
	}
	files := 0
	for _, folder := range formatFree {
		paths, err := filepath.Glob(filepath.Join("../../manifest", folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			of, err := filepath.Rel("../../manifest", path)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(path, "_test.go") || slices.Contains(namesExports, filepath.ToSlash(of)) {
				continue
			}
			files++
			for _, word := range wordsOf(t, path) {
				named := func(name string) bool { return strings.Contains(strings.ToLower(word), name) }
				if slices.ContainsFunc(names, named) || strings.Contains(word, "FITS") {
					t.Errorf("%s names a format: %s", path, word)
				}
			}
		}
	}
	if files < 100 {
		t.Errorf("only %d files were read", files)
	}
}

// wordsOf returns the identifiers, literals and imports of a file.
func wordsOf(t *testing.T, path string) (words []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			words = append(words, n.Name)
		case *ast.BasicLit:
			words = append(words, n.Value)
		}
		return true
	})
	return words
}
