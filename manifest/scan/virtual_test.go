package scan_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/manifest"
	"varve/manifest/scan"
)

// TestVirtualAgainstLibhdf5 compares virtual datasets, read as parts or by value, with the values that
// libhdf5 read when the fixtures were made.
func TestVirtualAgainstLibhdf5(t *testing.T) {
	text, err := os.ReadFile(fixtures + "/hdf5/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var expected map[string]map[string]struct{ Values string }
	if err := json.Unmarshal(text, &expected); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"virtual.h5", "virtual_numbered.h5", "virtual_matched.h5", "virtual_places.h5"} {
		a, err := scanAll([]string{fixtures + "/hdf5/" + name}, scan.Options{ValueBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		f := a.Files[0]
		for path, want := range expected[name] {
			if want.Values == "" {
				continue
			}
			got, err := a.read(f, f.Header.Find(path))
			if sum := sha256.Sum256(got.Fixed); err != nil || hex.EncodeToString(sum[:]) != want.Values {
				t.Errorf("%s: %s: %v, %x", name, path, err, got.Fixed)
			}
		}
	}
}

// TestVirtualKept checks that virtual datasets are stored by value if their parts are not boxes, or are strings
// or elements of another type, and that the versions of their files are recorded.
func TestVirtualKept(t *testing.T) {
	a, err := scanAll([]string{fixtures + "/hdf5/virtual_matched.h5"}, scan.Options{ValueBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	f := a.Files[0]
	for path, want := range map[string]manifest.Layout{
		"/columns": manifest.Parted, "/into_rows": manifest.Parted, "/over": manifest.Valued, "/hidden": manifest.Parted, "/fills": manifest.Parted,
		"/across": manifest.Valued, "/blocks": manifest.Valued, "/first": manifest.Valued, "/names": manifest.Valued, "/of_int16": manifest.Valued,
	} {
		if v := f.Header.Variable(f.Header.Find(path)); v.Storage.Layout != want {
			t.Errorf("%s is %s, want %s, %q", path, v.Storage.Layout, want, v.Unreadable)
		}
	}
	if got := fmt.Sprintf("%s", f.Values[f.Header.Find("/names")].Texts); got != "[a bb ccc]" {
		t.Errorf("names are %s", got)
	}
	if !slices.ContainsFunc(a.Files, func(f *manifest.File) bool {
		return strings.HasSuffix(f.URL, "/virtual_sources.h5") && f.Header.Len() == 0
	}) {
		t.Error("values of virtual_sources.h5 are stored without the version of the file")
	}
	// If the values are too large to store, the variable is unreadable.
	a, err = scanAll([]string{fixtures + "/hdf5/virtual_matched.h5"}, scan.Options{ValueBytes: 8})
	if err != nil {
		t.Fatal(err)
	}
	h := a.Files[0].Header.Expand()
	// want is a part of the reason; empty if the variable is readable.
	for path, want := range map[string]string{"/first": "cube", "/of_int16": "int64", "/columns": ""} {
		if v := h.Variables[h.Find(path)]; !strings.Contains(v.Unreadable, want) || (v.Unreadable == "") != (want == "") {
			t.Errorf("%s: %q, want %q", path, v.Unreadable, want)
		}
	}
}

// TestVirtualThroughLink checks that a virtual dataset behind a link uses the sources next to its own file,
// if reading them is allowed, and not fill values.
func TestVirtualThroughLink(t *testing.T) {
	real, folder := t.TempDir(), t.TempDir()
	copyTo(t, real, fixtures+"/hdf5/virtual_source.h5")
	link := filepath.Join(folder, "virtual.h5")
	if err := os.Symlink(copyTo(t, real, fixtures+"/hdf5/virtual.h5"), link); err != nil {
		t.Fatal(err)
	}
	a, err := scanAll([]string{link}, scan.Options{Allow: []string{real}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := a.read(a.Files[0], 0); err != nil || len(got.Fixed) != 6*6*2 || got.Fixed[2] != 1 {
		t.Errorf("values %x, %v", got.Fixed, err)
	}
	a, err = scanAll([]string{link}, scan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if v := a.Files[0].Header.Variable(0); !strings.Contains(v.Unreadable, "virtual_source.h5") {
		t.Errorf("a source that may not be read: %+v", v)
	}
}

// TestVisible checks that each element belongs to the last of several overlapping boxes.
func TestVisible(t *testing.T) {
	a, err := scanAll([]string{fixtures + "/hdf5/virtual_matched.h5"}, scan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := a.Files[0]
	cells := int64(0)
	for _, p := range f.Parts[f.Header.Find("/hidden")] {
		cells += p.Shape[0] * p.Shape[1]
	}
	if cells != 6*8 {
		t.Errorf("the boxes have %d elements, want 48", cells)
	}
}
