package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"
)

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// TestDocumentedCode type-checks the Go code of documents. A block sees what those before it in
// the same document declare.
func TestDocumentedCode(t *testing.T) {
	exports := exportData(t)
	for _, name := range []string{"README.md", "docs/reference/library.md", "docs/reference/http.md"} {
		text, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		blocks := goBlock.FindAllStringSubmatch(string(text), -1)
		if len(blocks) == 0 {
			t.Errorf("%s has no code; this test looks at the wrong place", name)
		}
		var declared, before, after strings.Builder
		for _, block := range blocks {
			if isDeclarations(block[1]) {
				declared.WriteString(block[1])
				continue
			}
			before.WriteString("{\n" + block[1])
			after.WriteString("}\n")
		}
		body := "func documented(ctx context.Context) error {\n" + before.String() + after.String() + "return nil\n}\n"
		for _, err := range checkCode(declared.String()+body, exports) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDocumentedReader: the page about readers has the code of the reader that make outside compiles and tests.
func TestDocumentedReader(t *testing.T) {
	page, err := os.ReadFile("../../docs/how-to/add-a-format.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("../../fixtures/module/testdata/outside/surfer/surfer.go")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(page), "<!-- surfer.go -->\n```go\n")
	shown, _, _ = strings.Cut(shown, "```")
	if shown == "" || !strings.HasSuffix(string(code), ")\n\n"+shown) {
		t.Error("docs/how-to/add-a-format.md has other code than surfer.go after its imports")
	}
}

// TestWrongCode checks that errors of the compiler are found.
func TestWrongCode(t *testing.T) {
	exports := exportData(t)
	for body, want := range map[string]string{
		"x, err := grid.Basic(nil)":        "",
		"x, err := grid.Simple(nil)":       "Simple",
		"err := store.Open(ctx, \"\")":     "not enough arguments",
		"s, err := zarr.Write(ctx, 1)":     "not enough arguments",
		"if x { return err }":              "undefined: x",
		"var o ingest.Options; o.Keep = 1": "Keep",
	} {
		found := checkCode("func documented(ctx context.Context) error {\n"+body+"\nreturn nil }", exports)
		if err := errors.Join(found...); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v; want %q", body, err, want)
		}
	}
}

func isDeclarations(code string) bool {
	_, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+code, parser.SkipObjectResolution)
	return err == nil
}

// exportData finds what the compiler says of each package that code may use.
func exportData(t *testing.T) map[string]string {
	t.Helper()
	cmd := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "varve/manifest/...", "varve/readers/...", "log/slog")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // under the race detector too, to compile packages only once
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		at, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[at] = file
	}
	return files
}

// checkCode type-checks declarations and returns the errors, except unused variables. It finds packages by
// their names; if two have the same name, it takes the one below manifest/export.
func checkCode(code string, exports map[string]string) (wrong []error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "code", "package p\n"+code, 0)
	if err != nil {
		return []error{err}
	}
	var imports strings.Builder
	imports.WriteString("package p\n")
	for _, name := range file.Unresolved {
		if at := packageNamed(name.Name, exports); at != "" && !strings.Contains(imports.String(), " \""+at+"\"\n") {
			fmt.Fprintf(&imports, "import %s %q\n", name.Name, at)
		}
	}
	if file, err = parser.ParseFile(fset, "code", imports.String()+code, parser.SkipObjectResolution); err != nil {
		return []error{err}
	}
	config := types.Config{
		Importer: importer.ForCompiler(fset, "gc", func(at string) (io.ReadCloser, error) { return os.Open(exports[at]) }),
		Error: func(err error) {
			if e, ok := errors.AsType[types.Error](err); !ok || !e.Soft {
				wrong = append(wrong, err)
			}
		},
	}
	_, _ = config.Check("p", fset, []*ast.File{file}, nil)
	return wrong
}

func packageNamed(name string, exports map[string]string) (found string) {
	for at := range exports {
		switch {
		case path.Base(at) != name || strings.Contains(at, "internal/") || strings.HasPrefix(at, "vendor/"):
		case strings.HasPrefix(at, "varve/manifest/export/"):
			return at
		case strings.HasPrefix(at, "varve/") || !strings.Contains(at, ".") && !strings.HasPrefix(found, "varve/") && (found == "" || len(at) < len(found)):
			found = at
		}
	}
	return found
}
