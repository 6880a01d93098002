package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"varve/codec"
)

// otherWords are literals that are the name of a codec too, by file.
var otherWords = map[string][]string{
	"internal/table/schema.go": {"bytes"},
	"json_type.go":             {"bytes"},
	"serve/answer.go":          {"bytes"},
	"serve/document.go":        {"gzip"},
	"serve/handler.go":         {"bytes"},
	"serve/page.go":            {"bytes"},
}

// TestNoCodecNames checks that manifest/**, outside export/ and the texts of the planner's cases in plantest/, decides
// nothing by the name of a codec: it asks the codec, see codec/capabilities.go.
func TestNoCodecNames(t *testing.T) {
	names := map[string]bool{}
	for _, info := range codec.Table() {
		names[info.Name] = true
		if info.V2 != "" {
			names[info.V2] = true
		}
	}
	root := filepath.FromSlash("../../manifest")
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "export" || d.Name() == "plantest"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files++
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		for _, text := range literals(t, path) {
			switch {
			case names[text]:
				if !contains(otherWords[filepath.ToSlash(name)], text) {
					t.Errorf("%s has the codec's name %q", path, text)
				}
			case strings.Contains(text, `"endian"`), strings.HasSuffix(text, ".") && isPrefixOf(names, text):
				t.Errorf("%s has %q, a part of a codec", path, text)
			}
		}
		return nil
	})
	if err != nil || files < 100 {
		t.Fatalf("%d files: %v", files, err)
	}
}

func contains(list []string, text string) bool {
	for _, s := range list {
		if s == text {
			return true
		}
	}
	return false
}

func isPrefixOf(names map[string]bool, text string) bool {
	for name := range names {
		if len(text) > 1 && strings.HasPrefix(name, text) {
			return true
		}
	}
	return false
}

// literals returns the string literals of a file, except imports and tags.
func literals(t *testing.T, path string) (texts []string) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				text, err := strconv.Unquote(n.Value)
				if err != nil {
					t.Fatal(err)
				}
				texts = append(texts, text)
			}
		}
		return true
	})
	return texts
}
