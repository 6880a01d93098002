package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestRacePackages holds CONCURRENT of the Makefile, the packages that CI tests under the race detector, against the
// packages whose own code starts goroutines.
func TestRacePackages(t *testing.T) {
	listed := fromMakefile(t, "CONCURRENT")
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{.Dir}} {{join .GoFiles " "}}`, "varve/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var concurrent []string
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if slices.ContainsFunc(fields[2:], func(name string) bool { return startsGoroutines(t, filepath.Join(fields[1], name)) }) {
			concurrent = append(concurrent, strings.TrimPrefix(fields[0], "varve/"))
		}
	}
	if !slices.Equal(listed, concurrent) {
		t.Errorf("CONCURRENT of the Makefile is\n%s\nand these packages start goroutines:\n%s",
			strings.Join(listed, " "), strings.Join(concurrent, " "))
	}
}

// fromMakefile returns the words of a variable of the Makefile.
func fromMakefile(t *testing.T, name string) []string {
	t.Helper()
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(`(?m)^` + name + ` := ((?:.*\\\n)*.*)$`).FindSubmatch(makefile)
	if match == nil {
		t.Fatalf("the Makefile has no %s", name)
	}
	return strings.Fields(strings.ReplaceAll(string(match[1]), "\\\n", " "))
}

// TestComputingPackages checks that no package that is compiled without the race detector has a copy of code of sync that
// other packages use too: the linker takes any one copy.
func TestComputingPackages(t *testing.T) {
	cmd := exec.Command("go", append([]string{"list", "-e", "-f", `{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}} {{end}}`}, fromMakefile(t, "COMPUTING")...)...)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	generic := regexp.MustCompile(`sync\.(Map|OnceValues?)\b|atomic\.Pointer\[|"unique"`)
	files := strings.Fields(string(out))
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := generic.Find(text); found != nil {
			t.Errorf("%s uses %s: take its package from COMPUTING of the Makefile", name, found)
		}
	}
	if len(files) < 30 {
		t.Errorf("%d files", len(files))
	}
}

// startsGoroutines reports whether a file has a go statement or imports errgroup.
func startsGoroutines(t *testing.T, name string) (found bool) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range file.Imports {
		found = found || spec.Path.Value == `"golang.org/x/sync/errgroup"`
	}
	ast.Inspect(file, func(n ast.Node) bool {
		_, isGo := n.(*ast.GoStmt)
		found = found || isGo
		return !found
	})
	return found
}
