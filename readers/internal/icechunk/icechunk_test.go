package icechunk

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"varve/readers"
	"varve/readers/icechunk/file"
	"varve/readers/readertest"
	"varve/readers/source"
)

const (
	fixtureDir = "../../../fixtures/icechunk"
	virtual    = "file:///tmp/varve-icechunk/"
)

// expectedVersion holds Icechunk's and zarr-python's description of a version of a repository.
type expectedVersion struct {
	Title  string
	Arrays map[string]struct {
		Shape  []uint64
		Values string
		Error  string
		Keys   json.RawMessage // lists of numbers, or how many there are
	}
}

func openSource(t testing.TB, name string) *source.Source {
	t.Helper()
	src, err := source.Open(context.Background(), filepath.Join(fixtureDir, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	})
	return src
}

func variables(t testing.TB, name, version string) (*readers.Dataset, map[string]*readers.Variable) {
	t.Helper()
	src := openSource(t, name)
	if is, err := (Format{}).Detect(context.Background(), src); !is || err != nil {
		t.Fatalf("Detect: got %v, %v", is, err)
	}
	data, err := Format{Version: version}.Open(context.Background(), src)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range data.Problems {
		t.Errorf("problem: %v", p.Err)
	}
	out := map[string]*readers.Variable{}
	data.Root.Walk(func(g *readers.Group) bool {
		for _, v := range g.Variables {
			out[v.Path] = v
		}
		return true
	})
	return data, out
}

// TestAgainstIcechunk compares several versions of the sample repositories with the content that
// Icechunk reported when they were made.
func TestAgainstIcechunk(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(fixtureDir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]expectedVersion
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	for name, want := range all {
		t.Run(name, func(t *testing.T) {
			repo, version, _ := strings.Cut(name, "@")
			data, found := variables(t, repo, version)
			if a := readers.Lookup(data.Root.Attributes, "title"); want.Title != "" && string(a.Texts[0]) != want.Title {
				t.Errorf("title %q, want %q", a.Texts, want.Title)
			}
			if len(found) != len(want.Arrays) {
				t.Errorf("%d variables, want %d", len(found), len(want.Arrays))
			}
			for path, a := range want.Arrays {
				v := found[path]
				if v == nil {
					t.Errorf("%s is missing", path)
					continue
				}
				if !slices.Equal(v.Shape, a.Shape) {
					t.Errorf("%s: shape %v, want %v", path, v.Shape, a.Shape)
				}
				compareKeys(t, v, a.Keys)
				if strings.HasSuffix(path, "virtual") || a.Error != "" {
					continue
				}
				value, err := v.ReadAll(context.Background(), 1<<20)
				if got := hex.EncodeToString(value.Data); err != nil || got != a.Values {
					t.Errorf("%s: values %s, want %s (%v)", path, got, a.Values, err)
				}
			}
		})
	}
}

func compareKeys(t *testing.T, v *readers.Variable, want json.RawMessage) {
	t.Helper()
	got := []string{}
	for r, err := range v.Storage.Refs(context.Background()) {
		if err != nil {
			t.Error(err)
			return
		}
		got = append(got, fmt.Sprint(r.Index))
	}
	var keys [][]uint64
	if json.Unmarshal(want, &keys) != nil {
		if fmt.Sprint(len(got)) != string(want) {
			t.Errorf("%s: %d refs, want %s", v.Path, len(got), want)
		}
		return
	}
	wanted := []string{}
	for _, k := range keys {
		wanted = append(wanted, fmt.Sprint(k))
	}
	slices.Sort(got)
	slices.Sort(wanted)
	if !slices.Equal(got, wanted) {
		t.Errorf("%s: chunks %v, want %v", v.Path, got, wanted)
	}
}

func TestVirtualRefs(t *testing.T) {
	for _, repo := range []string{"v1", "v2"} {
		_, found := variables(t, repo, "main")
		var got []string
		for r, err := range found["/virtual"].Storage.Refs(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%v %d %d %s %q %s", r.Index, r.Offset, r.Size, r.Other.Source, r.Other.ETag, r.Other.Modified.Format(time.DateOnly)))
		}
		want := []string{
			"[0] 0 8 " + virtual + "data.bin \"\" 0001-01-01",
			"[2] 16 8 " + virtual + "data.bin \"\" 2000-01-02",
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", repo, got, want)
		}
		if _, err := found["/virtual"].ReadAll(context.Background(), 100); !errors.Is(err, source.ErrForbidden) {
			t.Errorf("%s: reading outside the allowed folders: got %v", repo, err)
		}
		for r, err := range found["/tagged"].Storage.Refs(context.Background()) {
			if err != nil || r.Other.ETag != "abc" {
				t.Errorf("%s: got %+v, %v", repo, r.Other, err)
			}
		}
	}
}

// TestCompressedLocations reads locations that Icechunk compressed with a dictionary.
func TestCompressedLocations(t *testing.T) {
	_, found := variables(t, "many", "")
	n := 0
	for r, err := range found["/v"].Storage.Refs(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("%sarchive/year=%d/part-%05d.nc", virtual, 2000+n/30, n/3)
		if r.Index[0] != uint64(n) || r.Offset != int64(n) || r.Size != 1 || r.Other.Source != want {
			t.Fatalf("ref %d: %+v, want %s", n, *r, want)
		}
		n++
	}
	src := openSource(t, "many")
	for e, err := range src.List(context.Background(), "manifests") {
		if err != nil {
			t.Fatal(err)
		}
		f, err := readFile(context.Background(), src, "manifests/"+e.Name, file.Manifest)
		if err != nil {
			t.Fatal(err)
		}
		if f.Root().Bytes(2) == nil {
			t.Error("the sample has no dictionary, so this test checks nothing")
		}
	}
}

func TestVersions(t *testing.T) {
	ctx := context.Background()
	r, err := openRepo(ctx, openSource(t, "v2"))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Branches) != 2 || len(r.Tags) != 1 || r.Branches["other"] != r.Tags["v1"] || r.Branches["main"] == r.Tags["v1"] {
		t.Errorf("got branches %v, tags %v", r.Branches, r.Tags)
	}
	for _, repo := range []string{"v1", "v2"} {
		if _, err := (Format{Version: "nobody"}).Open(ctx, openSource(t, repo)); err == nil {
			t.Errorf("%s: opened a version that does not exist", repo)
		}
		if _, err := (Format{Version: "../x"}).Open(ctx, openSource(t, repo)); err == nil {
			t.Errorf("%s: opened a version whose name is a path out of the repository", repo)
		}
	}
	data, err := Format{Version: r.Tags["v1"]}.Open(ctx, openSource(t, "v2"))
	if err != nil || string(data.Root.Attributes[0].Texts[0]) != "first" {
		t.Errorf("by the id of a snapshot: got %v", err)
	}
}

// TestOpenChecks opens virtual chunks of files that changed, or are not in allowed folders.
func TestOpenChecks(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "data.bin")
	if err := os.WriteFile(name, []byte("12345"), 0o644); err != nil {
		t.Fatal(err)
	}
	when := time.Unix(1_000_000_000, 500_000_000)
	if err := os.Chtimes(name, when, when); err != nil {
		t.Fatal(err)
	}
	c := &chunks{src: openSource(t, "v2"), folders: []string{dir}}
	for _, test := range []struct {
		name  string
		other readers.Other
		want  error
	}{
		{"nothing known", readers.Other{}, nil},
		{"rounded up", readers.Other{Modified: time.Unix(1_000_000_001, 0)}, nil},
		{"rounded down", readers.Other{Modified: time.Unix(1_000_000_000, 0)}, source.ErrChanged},
		{"ETag", readers.Other{ETag: "abc", Modified: time.Unix(1_000_000_001, 0)}, errors.ErrUnsupported},
		{"elsewhere", readers.Other{Source: "file:///etc/hostname"}, source.ErrForbidden},
		{"relative container", readers.Other{Source: "vcc://name/key"}, errors.ErrUnsupported},
	} {
		if test.other.Source == "" {
			test.other.Source = "file://" + name
		}
		src, err := c.Open(context.Background(), &test.other)
		if !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, err, test.want)
		}
		if err == nil {
			_ = src.Close()
		}
	}
}

func TestConformance(t *testing.T) {
	var samples []readertest.FolderSample
	for _, name := range []string{"plain", "plain_v1"} {
		s := readertest.ReadFolder(t, name, filepath.Join(fixtureDir, name))
		samples = append(samples, s)
	}
	readertest.RunFolder(t, Info(), samples...)
}

// TestNamed: locations are URLs; names in object stores have no escapes.
func TestNamed(t *testing.T) {
	for location, want := range map[string]string{
		"s3://bucket/a%20b/100%25%23.nc": "s3://bucket/a b/100%#.nc",
		"gs://bucket/a b/100%.nc%2":      "gs://bucket/a b/100%.nc%2",
		"az://bucket/%%41%zz+":           "az://bucket/%A%zz+",
		"s3://bucket/plain.nc":           "s3://bucket/plain.nc",
		"file:///a%20b.nc":               "file:///a%20b.nc", // which is read as a URL
		"https://host/a%20b.nc":          "https://host/a%20b.nc",
	} {
		if got := sourceName(location); got != want {
			t.Errorf("%s: %q, want %q", location, got, want)
		}
	}
}
