package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// layers are the packages from the top down, as docs/architecture.md draws them. A
// package may import the packages below its own line, and its own internal packages.
var layers = []string{
	"cmd/",
	"manifest/ingest",
	"manifest/compact",
	"manifest/points",
	"manifest/relocate",
	"manifest/verify",
	"manifest/diff",
	"manifest/present",
	"manifest/export",
	"manifest/serve",
	"manifest/engine",
	"manifest/conventions",
	"manifest/zarrstore",
	"manifest/internal/patches",
	"manifest/internal/regular",
	"manifest/internal/georef",
	"manifest/store",
	"manifest/internal/picture",
	"manifest/internal/plot",
	"manifest/internal/mosaic",
	"manifest/internal/change",
	"manifest/internal/table",
	"manifest/internal/packed",
	"manifest/scan",
	"manifest/internal/planner",
	"manifest/internal/planner/plantest",
	"manifest/internal/planner/internal/schema",
	"manifest/internal/planner/internal/equal",
	"manifest/internal/planner/internal/inline",
	"manifest/internal/planner/internal/newdim",
	"manifest/internal/planner/internal/tiling",
	"manifest/internal/planner/internal/edge",
	"manifest/internal/planner/internal/coord",
	"manifest/internal/planner/internal/naming",
	"manifest/plan",
	"manifest/internal/namepattern",
	"manifest/report/reporttest",
	"manifest/report/text",
	"manifest/report",
	"manifest/internal/convert",
	"manifest/internal/crs",
	"manifest/internal/cf",
	"manifest/repo",
	"manifest/internal/home",
	"manifest",
	"readers/formats",
	"readers/internal/describe",
	"readers/",
	"readers/internal/grib/index",
	"readers/icechunk/file",
	"readers/parquet",
	"readers/thrift",
	"readers/virtual",
	"readers",
	"readers/internal/byteswap",
	"readers/source/",
	"readers/source",
	"readers/source/atomicfile",
	"readers/source/internal",
	"readers/source/yamlkeys",
	"readers/internal/zipfile",
	"zarrjson/clients",
	"zarrjson",
	"codec",
	"codec/grib/message",
	"codec/grib",
	"codec/grib/geo",
	"codec/grib/section",
	"codec/grib/keys",
	"codec/internal",
	"grid",
	"fixtures",
}

// forbidden are imports that would break what a layer promises.
var forbidden = map[string][]string{
	"grid":                      {"encoding/json", "os", "net", "net/http", "io/fs"},
	"codec":                     {"os", "net", "net/http", "io/fs"},
	"codec/grib":                {"os", "net", "net/http", "io/fs"},
	"codec/internal":            {"os", "net", "net/http", "io/fs"},
	"zarrjson":                  {"os", "net", "net/http", "io/fs"},
	"manifest/internal/convert": {"os", "net", "net/http", "io/fs"},
	"manifest/internal/mosaic":  {"os", "net", "net/http", "io/fs"},
	"manifest/internal/planner": {"os", "net", "net/http", "io/fs"},
	"manifest/plan":             {"os", "net", "net/http", "io/fs"},
	"readers":                   {"net/http", "github.com/spf13/cobra"},
	"readers/":                  {"net/http", "github.com/spf13/cobra"},
	"readers/source":            {"github.com/spf13/cobra"},
}

type goPackage struct {
	ImportPath string
	Imports    []string
}

func TestLayers(t *testing.T) {
	packages := list(t)
	if len(packages) < 10 {
		t.Fatalf("go list found %d packages; this test looks at the wrong place", len(packages))
	}
	for _, p := range packages {
		from := layerOf(p.ImportPath)
		if from < 0 {
			t.Errorf("%s is in no layer", p.ImportPath)
			continue
		}
		for _, imported := range p.Imports {
			checkImport(t, p.ImportPath, from, imported)
		}
	}
}

// TestLayersAreDrawn: docs/architecture.md has the same layers, in the same order.
func TestLayersAreDrawn(t *testing.T) {
	doc, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(doc), "\n## The layers\n")
	_, section, _ = strings.Cut(section, "\n```text\n")
	section, _, _ = strings.Cut(section, "```")
	var drawn []string
	for line := range strings.Lines(section) {
		layer, _, _ := strings.Cut(line, "  ")
		layer, _, _ = strings.Cut(strings.TrimSuffix(layer, "/*"), "{")
		if strings.HasPrefix(layer, "cmd/") {
			layer = "cmd/"
		}
		drawn = append(drawn, layer)
	}
	want := slices.DeleteFunc(slices.Clone(layers), func(l string) bool { return l == "readers/source/" }) // what is in readers/source
	if got := slices.Compact(drawn); !slices.Equal(got, want) {
		t.Errorf("drawn are\n%q, and the layers are\n%q", got, want)
	}
}

func checkImport(t *testing.T, path string, from int, imported string) {
	layer, _, _ := strings.Cut(layers[from], "/planner/internal/")
	if layer != layers[from] {
		layer += "/planner" // its internal packages promise the same
	}
	if slices.Contains(forbidden[layer], imported) {
		t.Errorf("%s imports %s", path, imported)
	}
	if !strings.HasPrefix(imported, "varve/") {
		return
	}
	to := layerOf(imported)
	isFixture := layers[from] == "fixtures" // these packages import one another
	own := to == from && (isFixture || strings.Contains(imported, "/internal/") && !isOtherFormat(path, imported))
	if to < 0 || to <= from && !own {
		t.Errorf("%s imports %s, which is not below it", path, imported)
	}
	if layers[max(to, 0)] == "fixtures" && layers[from] != "cmd/" && !isFixture {
		t.Errorf("%s imports %s, which is for tests and the demo", path, imported)
	}
}

// isOtherFormat reports whether a package of one format imports one of another.
func isOtherFormat(path, imported string) bool {
	of := func(path string) string {
		_, rest, _ := strings.Cut(path, "varve/readers/internal/")
		name, _, _ := strings.Cut(rest, "/")
		return name
	}
	shared := []string{"", "chunks", "crs", "naming", "strided", "zarrtree", "zipdir"}
	return of(path) != of(imported) && !slices.Contains(shared, of(imported))
}

// layerOf returns the line of a package: the longest entry that it falls under.
func layerOf(path string) int {
	path = strings.TrimPrefix(path, "varve/")
	best := -1
	for i, l := range layers {
		under := path == l || strings.HasPrefix(path, strings.TrimSuffix(l, "/")+"/")
		if strings.HasSuffix(l, "/") {
			under = strings.HasPrefix(path, l)
		}
		if under && (best < 0 || len(l) > len(layers[best])) {
			best = i
		}
	}
	return best
}

func list(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "varve/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []goPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		all = append(all, p)
	}
}

func TestLayerOf(t *testing.T) {
	for path, want := range map[string]string{
		"varve/codec/internal/blosc":  "codec/internal",
		"varve/codec/grib":            "codec/grib",
		"varve/readers/internal/hdf5": "readers/",
		"varve/readers/source":        "readers/source",
		"varve/readers":               "readers",
		"varve/manifest/export/zarr":  "manifest/export",
		"varve/manifest":              "manifest",
	} {
		if got := layers[layerOf(path)]; got != want {
			t.Errorf("layer of %s: got %s, want %s", path, got, want)
		}
	}
	if layerOf("varve/elsewhere") >= 0 {
		t.Error("varve/elsewhere falls in a layer")
	}
}
