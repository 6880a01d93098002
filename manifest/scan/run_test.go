package scan_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"varve/codec"
	"varve/fixtures/soak"
	"varve/manifest"
	"varve/manifest/scan"
)

func demo() []string {
	names, _ := filepath.Glob(fixtures + "/demo/*.nc")
	return names
}

// copyTo copies a file and returns the new path.
func copyTo(t *testing.T, folder, from string) string {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(folder, filepath.Base(from))
	if err := os.WriteFile(to, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestShared checks that files share equal headers, attributes and values, and no others.
func TestShared(t *testing.T) {
	names := demo()
	again := copyTo(t, t.TempDir(), names[0])
	a, err := scanAll(append(names, again), scan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	first, second, last := a.Files[0], a.Files[1], a.Files[3]
	if first.Header != last.Header || first.Groups != last.Groups || !slices.Equal(first.Values, last.Values) {
		t.Error("equal files share nothing")
	}
	if first.Header == second.Header {
		t.Error("files of 31 and of 28 days have the same header")
	}
	lat, time := first.Header.Find("/lat"), first.Header.Find("/time")
	if first.Values[lat] == nil || first.Values[lat] != second.Values[lat] {
		t.Error("equal coordinates are not shared")
	}
	if first.Values[time] == second.Values[time] {
		t.Error("different times are shared")
	}
	if last.URL != again || last.Row != first.Row+second.Row-first.Row+a.Files[2].Row-second.Row+first.Header.Rows() {
		t.Errorf("%s begins at row %d", last.URL, last.Row)
	}
}

// TestOrder checks that the result does not depend on the order in which workers finish.
func TestOrder(t *testing.T) {
	names := fixtureFiles(t)
	names = append(names, names...)
	want, err := scanAll(names, scan.Options{Workers: 1, SkipBroken: true})
	if err != nil {
		t.Fatal(err)
	}
	got, err := scanAll(names, scan.Options{Workers: 7, SkipBroken: true})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.refs, want.refs) || !slices.EqualFunc(got.inline, want.inline, bytes.Equal) {
		t.Error("refs differ")
	}
	for i, f := range got.Files {
		// FileHeaders and FileGroups with equal contents may share memory in other ways.
		a, b := *f, *want.Files[i]
		if !reflect.DeepEqual(a.Header.Expand(), b.Header.Expand()) || !reflect.DeepEqual(a.Groups.Expand(), b.Groups.Expand()) {
			t.Errorf("%s: headers or groups differ", f.URL)
		}
		if a.Header, b.Header, a.Groups, b.Groups = nil, nil, nil, nil; !reflect.DeepEqual(a, b) {
			t.Errorf("%s: files differ", f.URL)
		}
	}
	for i, b := range got.Broken {
		if b.URL != want.Broken[i].URL || b.Err.Error() != want.Broken[i].Err.Error() {
			t.Errorf("broken: %v, want %v", b, want.Broken[i])
		}
	}
	for _, f := range got.Files {
		checkKept(t, f)
	}
}

// checkKept checks that values still have their IDs: then their memory was not used for other files.
func checkKept(t *testing.T, f *manifest.File) {
	t.Helper()
	h, g := *f.Header.Expand(), *f.Groups.Expand()
	h.SetID()
	g.SetID()
	if h.ID != f.Header.ID || g.ID != f.Groups.ID {
		t.Errorf("%s: the header or the attributes changed", f.URL)
	}
	for i, v := range f.Values {
		if v == nil {
			continue
		}
		c := *v
		if c.SetID(); c.ID != v.ID {
			t.Errorf("%s: the values of %s changed", f.URL, f.Header.Variable(i).Path)
		}
	}
}

// TestBroken checks that the error lists all broken sources, and that SkipBroken leaves them out.
func TestBroken(t *testing.T) {
	folder := t.TempDir()
	files := map[string]string{
		"cut.nc":   "",
		"page.nc":  "<!DOCTYPE html><html>",
		"empty.nc": "",
	}
	whole, err := os.ReadFile(demo()[0])
	if err != nil {
		t.Fatal(err)
	}
	files["cut.nc"] = string(whole[:len(whole)/2])
	names := demo()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"cut.nc", "absent.nc", "page.nc", "empty.nc"} {
		names = slices.Insert(names, 1, filepath.Join(folder, name))
	}
	a, err := scanAll(names, scan.Options{})
	var broken *scan.BrokenError
	if !errors.As(err, &broken) || len(broken.Broken) != 4 {
		t.Fatalf("got %v", err)
	}
	for _, name := range []string{"cut.nc", "absent.nc", "page.nc", "empty.nc"} {
		if n := strings.Count(err.Error(), name); n < 1 || n > 2 {
			t.Errorf("%s is named %d times:\n%v", name, n, err)
		}
	}
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want an error that wraps the errors of the sources", err)
	}
	if len(a.Files) != 3 {
		t.Errorf("%d files", len(a.Files))
	}
	skipped, err := scanAll(names, scan.Options{SkipBroken: true})
	if err != nil || len(skipped.Files) != 3 || len(skipped.Broken) != 4 {
		t.Errorf("%d files, %d broken, %v", len(skipped.Files), len(skipped.Broken), err)
	}
	if int64(len(skipped.refs)) != skipped.Rows {
		t.Error("rows of broken files are counted")
	}
}

// stopping is a sink that cancels its scan.
type stopping struct {
	discard
	stop func() error
}

func (s *stopping) Append(rows *manifest.RefColumns) error {
	if s.rows > 20 {
		return s.stop()
	}
	return s.discard.Append(rows)
}

// TestStopped checks that a scan ends soon if it is cancelled, or if the sink returns an error.
func TestStopped(t *testing.T) {
	names := slices.Repeat(demo(), 200)
	ctx, cancel := context.WithCancel(context.Background())
	sink := &stopping{stop: func() error { cancel(); return nil }}
	start := time.Now()
	if _, err := scan.Scan(ctx, names, &scan.Options{Sink: sink}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	full := errors.New("no space left")
	sink = &stopping{stop: func() error { return full }}
	if _, err := scan.Scan(context.Background(), names, &scan.Options{Sink: sink}); !errors.Is(err, full) {
		t.Errorf("full sink: %v", err)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("stopping took %v", took)
	}
}

// TestProgress checks the numbers that Progress gets.
func TestProgress(t *testing.T) {
	var steps []scan.Progress
	var d discard
	opts := scan.Options{Sink: &d, Progress: func(p scan.Progress) { steps = append(steps, p) }}
	if _, err := scan.Scan(context.Background(), demo(), &opts); err != nil {
		t.Fatal(err)
	}
	if len(steps) != 3 || steps[0].Done != 1 || steps[2].Done != 3 || steps[2].Sources != 3 || steps[2].Refs != d.rows || steps[2].Bytes == 0 {
		t.Errorf("steps %+v, %d rows", steps, d.rows)
	}
}

// TestFirst checks that FirstFile and FirstRow are added to the numbers of files and rows.
func TestFirst(t *testing.T) {
	a, err := scanAll([]string{fixtures + "/hdf5/virtual.h5"}, scan.Options{FirstFile: 40, FirstRow: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if a.Files[0].Row != 1000 || a.Files[0].Parts[0][0].File != 41 {
		t.Errorf("row %d, parts %v", a.Files[0].Row, a.Files[0].Parts)
	}
}

// TestDamaged scans files with changed or missing bytes: no reader may panic, and no ref may point outside
// the file.
func TestDamaged(t *testing.T) {
	seed := soak.Seed(t)
	r := rand.New(rand.NewPCG(seed, 1))
	folder := t.TempDir()
	scanned := 0
	for _, from := range []string{"hdf5/filter_masks.h5", "hdf5/virtual.h5", "hdf5/types.h5", "hdf5/layouts.h5", "netcdf3/classic.nc", "demo/2021-01.nc"} {
		name := copyTo(t, folder, fixtures+"/"+from)
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for range 60 {
			data := bytes.Clone(whole)
			for range 1 + r.IntN(3) {
				data[r.IntN(min(len(data), 8<<10))] ^= byte(1 << r.IntN(8))
			}
			if r.IntN(6) == 0 {
				data = data[:r.IntN(len(data))]
			}
			if err := os.WriteFile(name, data, 0o644); err != nil {
				t.Fatal(err)
			}
			a, err := scanAll([]string{name}, scan.Options{SkipBroken: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range a.Broken {
				if bug := (*scan.PanicError)(nil); errors.As(b.Err, &bug) {
					t.Errorf("%s: %v", from, b.Err)
				}
			}
			scanned += len(a.Files)
			for _, ref := range a.refs {
				if ref.Offset >= 0 && ref.Other == 0 && len(a.Files) == 1 && ref.Offset > int64(len(data)) {
					t.Errorf("%s: a ref to offset %d of %d", from, ref.Offset, len(data))
				}
			}
		}
	}
	if scanned == 0 {
		t.Error("no damaged file was scanned without an error")
	}
}

// TestNull checks that a dataset with a null dataspace has no elements, unlike a scalar.
func TestNull(t *testing.T) {
	folder := t.TempDir()
	name := copyTo(t, folder, fixtures+"/hdf5/layouts.h5")
	if err := os.WriteFile(filepath.Join(folder, "layouts.raw"), make([]byte, 8), 0o644); err != nil {
		t.Fatal(err)
	}
	a, err := scanAll([]string{name}, scan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := a.Files[0].Header.Expand()
	for _, path := range []string{"/null", "/null text"} {
		if v := h.Variables[h.Find(path)]; v.Unreadable != "" || !slices.Equal(v.Shape, []int64{0}) {
			t.Errorf("%s: shape %v, %q", path, v.Shape, v.Unreadable)
		}
	}
}

// TestConventions checks types that HDF5 does not have and that programs store by convention: bool, complex,
// references to objects and rows.
func TestConventions(t *testing.T) {
	a, err := scanAll([]string{fixtures + "/hdf5/conventions.h5"}, scan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h, values := a.Files[0].Header.Expand(), a.Files[0].Values
	for path, want := range map[string]codec.Type{
		"/truth": {Kind: codec.Bool, Size: 1}, "/complex": {Kind: codec.Complex, Size: 16}, "/big complex": {Kind: codec.Complex, Size: 8},
		"/paths": {Kind: codec.String}, "/nothing": {Kind: codec.Float, Size: 4},
	} {
		if v := h.Variables[h.Find(path)]; !v.Type.Equal(want) || v.Unreadable != "" {
			t.Errorf("%s: %s, %q, want %s", path, v.Type, v.Unreadable, want)
		}
	}
	paths := h.Find("/paths")
	if got := fmt.Sprintf("%q", values[paths].Texts); got != `["/truth" "/table" "" "/"]` {
		t.Errorf("paths are %s", got)
	}
	if v := h.Variables[h.Find("/nothing")]; !slices.Equal(v.Shape, []int64{0}) || len(v.Attributes) != 1 {
		t.Errorf("nothing: %+v", v)
	}
	var groups []manifest.Attribute
	for _, g := range a.Files[0].Groups.Expand().Groups {
		groups = append(groups, g.Attributes...)
	}
	text := codec.Type{Kind: codec.String}
	for name, want := range map[string]manifest.Attribute{
		"of":           {Name: "of", Type: text, Texts: []string{"/truth"}, Scalar: true},
		"column-order": {Name: "column-order", Type: text, Texts: []string{"truth"}},
	} {
		if got := manifest.Lookup(groups, name); got == nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	rows := h.Find("/rows")
	if v := h.Variables[rows]; v.Type.String() != "struct of 3 fields, 138 bytes" || v.Type.Fields[1].Type.String() != "U32" {
		t.Errorf("rows are of %s, %+v, %q", v.Type, v.Type.Fields, v.Unreadable)
	} else if b := values[rows].Data; len(b) != 2*138 || b[0] != 1 || b[2] != 0xe9 || b[138] != 2 || string(b[140:144]) != "a\x00\x00\x00" || b[138+2+17*4] != 's' {
		t.Errorf("rows are %x", b)
	}
	if a := manifest.Lookup(h.Variables[h.Find("/truth")].Attributes, "ordered"); a == nil || a.Type.Kind != codec.Bool {
		t.Errorf("ordered: %+v", a)
	}
}
