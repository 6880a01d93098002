package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/readers"
	"varve/readers/formats"
	"varve/readers/source"
)

// samples are sources of every format, with their kind in a document and an object in them.
var samples = []struct{ name, kind, path string }{
	{"hdf5/types.h5", "hdf5", "/vlen"},
	{"hdf5/netcdf4.nc", "hdf5", "/v"},
	{"netcdf3/classic.nc", "netcdf3", "/record_b"},
	{"fits/table.fits", "fits", "/T/byte"},
	{"fits/compressed.fits", "fits", "/DITHERED"},
	{"fits/ascii.fits", "fits", "/T/long"},
	{"fits/refused.fits", "fits", "/"},
	{"hdf4/chunked.hdf", "hdf4", "/cube"},
	{"hdf4/records.hdf", "hdf4", "/wind"},
	{"dmrpp/sample.h5.dmrpp", "dmr++", "/masked"},
	{"zarr/v2", "zarr", "/"},
	{"zarr/v3_consolidated", "zarr", "/"},
	{"zarr/rectilinear", "zarr", "/monthly"},
	{"kerchunk/inline.json", "kerchunk", "/g/big"},
	{"kerchunk/combined.parq", "kerchunk", "/"},
	{"icechunk/plain", "icechunk", "/g"},
	{"icechunk/v2", "icechunk", "/monthly"},
}

// object holds the checked fields of an object of a document.
type object struct {
	Path, Type, Values, Error string
	Chunks                    *struct {
		N      int
		Sha256 string
	}
}

type inspected struct {
	Kind, Status, Error string
	Objects, Salvaged   []object
	NetCDF              struct{ Variables []object }
}

func (d *inspected) find(path string) *object {
	for _, list := range [][]object{d.Objects, d.NetCDF.Variables} {
		if i := slices.IndexFunc(list, func(o object) bool { return o.Path == path }); i >= 0 {
			return &list[i]
		}
	}
	return nil
}

func inspectDocument(t *testing.T, args ...string) (inspected, error) {
	t.Helper()
	out, err := inspect(t, append([]string{"--json", "--checksum", "--values"}, args...)...)
	var doc inspected
	if jsonErr := json.Unmarshal([]byte(out), &doc); jsonErr != nil {
		t.Fatalf("%v: %s", jsonErr, out)
	}
	return doc, err
}

// TestInspectEveryFormat shows a source of every format, for people and as a document.
func TestInspectEveryFormat(t *testing.T) {
	for _, s := range samples {
		t.Run(s.name, func(t *testing.T) {
			name := filepath.Join("../../fixtures", s.name)
			text, err := inspect(t, name)
			if err != nil || !strings.HasPrefix(text, name+": ") || !strings.HasSuffix(strings.TrimSpace(text), "}") && !strings.Contains(text, "// cannot be read") {
				t.Errorf("%v: %s", err, text)
			}
			doc, err := inspectDocument(t, name)
			if err != nil || doc.Status != "ok" || doc.Kind != s.kind {
				t.Fatalf("%v: %+v", err, doc)
			}
			o := doc.find(s.path)
			if o == nil {
				t.Fatalf("%s is not in %+v", s.path, doc)
			}
			if o.Chunks != nil && (o.Chunks.N == 0 || len(o.Chunks.Sha256) != 64) {
				t.Errorf("%s: %+v", s.path, o)
			}
		})
	}
}

// damaged writes a copy of a sample in which the bytes at the last place of a text are zeros.
func damaged(t *testing.T, sample, at string, skip int) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../fixtures", sample))
	if err != nil {
		t.Fatal(err)
	}
	i := bytes.LastIndex(data, []byte(at))
	if i < 0 {
		t.Fatalf("%q is not in %s", at, sample)
	}
	clear(data[i+skip : i+skip+4])
	name := filepath.Join(t.TempDir(), filepath.Base(sample))
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestInspectDamagedObject damages one object of a file: the others are listed, it is marked, and
// the command ends with the exit code of corrupt input.
func TestInspectDamagedObject(t *testing.T) {
	name := damaged(t, "hdf5/index_btree2.h5", "BTHD", 0)
	doc, err := inspectDocument(t, name)
	if exitCode(err, false) != exitCorrupt || doc.Status != "ok" {
		t.Errorf("status %s, %v", doc.Status, err)
	}
	marked, clean := 0, 0
	for _, o := range doc.Objects {
		if o.Error != "" {
			marked++
		} else if len(o.Values) == 64 {
			clean++
		}
	}
	if marked != 1 || clean == 0 {
		t.Errorf("%d objects are marked and %d are not: %+v", marked, clean, doc.Objects)
	}
	text, err := inspect(t, name)
	if exitCode(err, false) != exitCorrupt || strings.Count(text, "cannot ") != 1 || !strings.Contains(text, "verbatim") {
		t.Errorf("%v: %s", err, text)
	}
}

// TestInspectDamagedMember damages the name of one member of the root group. libhdf5 then lists no member.
// varve shows the other members; the document has them among the salvaged ones.
func TestInspectDamagedMember(t *testing.T) {
	data, err := os.ReadFile("../../fixtures/hdf5/phony_dimensions.h5")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "a.h5")
	if err := os.WriteFile(name, bytes.Replace(data, []byte("\x00b\x00\x00"), make([]byte, 4), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	doc, err := inspectDocument(t, name)
	if exitCode(err, false) != exitCorrupt || doc.Status != "ok" || len(doc.Objects) != 1 || doc.Objects[0].Error == "" {
		t.Errorf("%v: %+v", err, doc.Objects)
	}
	var paths []string
	for _, o := range doc.Salvaged {
		paths = append(paths, o.Path)
		if o.Error != "" {
			t.Errorf("%s: %s", o.Path, o.Error)
		}
	}
	if want := []string{"/a", "/g", "/g/c"}; !slices.Equal(paths, want) {
		t.Errorf("salvaged %v, want %v", paths, want)
	}
	text, err := inspect(t, name)
	if exitCode(err, false) != exitCorrupt || !strings.Contains(text, "// cannot be read: /: "+name+": /: at offset") || !strings.Contains(text, "float a(") {
		t.Errorf("%v: %s", err, text)
	}
}

// TestInspectTruncated cuts a netCDF-3 file off within the values of its last variable, which
// alone is marked.
func TestInspectTruncated(t *testing.T) {
	data, err := os.ReadFile("../../fixtures/netcdf3/classic.nc")
	if err != nil {
		t.Fatal(err)
	}
	whole, err := inspectDocument(t, "../../fixtures/netcdf3/classic.nc")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "cut.nc")
	if err := os.WriteFile(name, data[:len(data)-70], 0o644); err != nil {
		t.Fatal(err)
	}
	doc, err := inspectDocument(t, name)
	if exitCode(err, false) != exitCorrupt {
		t.Errorf("got %v", err)
	}
	same := 0
	for _, w := range whole.NetCDF.Variables {
		g := doc.find(w.Path)
		switch {
		case g == nil:
			t.Errorf("%s is not listed", w.Path)
		case g.Values == w.Values:
			same++
		case !strings.HasPrefix(g.Values, "undecodable: "):
			t.Errorf("%s has other values: %s", w.Path, g.Values)
		}
	}
	if same == 0 || same == len(whole.NetCDF.Variables) {
		t.Errorf("%d of %d variables are as in the whole file", same, len(whole.NetCDF.Variables))
	}
}

// TestInspectAllow reads values in a file elsewhere where that is allowed.
func TestInspectAllow(t *testing.T) {
	dir := t.TempDir()
	data, err := os.ReadFile("../../fixtures/hdf5/layouts.h5")
	if err != nil {
		t.Fatal(err)
	}
	data = bytes.Replace(data, []byte("layouts.raw"), []byte("../x/lay.rw"), 1)
	for name, b := range map[string][]byte{"in/a.h5": data, "x/lay.rw": {1, 0, 2, 0, 3, 0, 4, 0}} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(dir, "in/a.h5")
	ctx := t.Context()
	src, err := source.Open(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if _, err := externalOf(t, src); !errors.Is(err, source.ErrForbidden) {
		t.Errorf("without leave: %v", err)
	}
	if got, err := externalOf(t, src, filepath.Join(dir, "x")); err != nil || !bytes.Equal(got.Data, []byte{1, 0, 2, 0, 3, 0, 4, 0}) {
		t.Errorf("with leave: %v, %v", got.Data, err)
	}
	if doc, err := inspectDocument(t, "--allow", filepath.Join(dir, "x"), name); err != nil || len(doc.find("/external").Values) != 64 {
		t.Errorf("inspect --allow: %v", err)
	}
}

func externalOf(t *testing.T, src *source.Source, allow ...string) (readers.Value, error) {
	t.Helper()
	data, err := formats.Open(t.Context(), src, &readers.Config{Allow: allow})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range data.Root.Variables {
		if v.Name == "external" {
			return v.ReadAll(t.Context(), 1<<10)
		}
	}
	t.Fatal("no variable")
	return readers.Value{}, nil
}

func TestElementsText(t *testing.T) {
	le := readers.LittleEndian
	i2, f4 := readers.Int(2, le, true), readers.IEEEFloat(4, le)
	sequence := &readers.Type{Class: readers.VarLen, Size: 16, Base: i2}
	pair := &readers.Type{Class: readers.Compound, Size: 8, Members: []readers.Member{{Name: "b", Offset: 4, Type: f4}, {Name: "a", Type: i2}}}
	for _, test := range []struct {
		name  string
		typ   *readers.Type
		shape []uint64
		data  []byte
		want  string
	}{
		{"sequences", sequence, []uint64{2}, []byte{2, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0}, "{5s, -1s}, {}"},
		{"compound", pair, nil, []byte{7, 0, 0, 0, 0xc0, 0x3f}, "{7s, 1.5f}"},
		{"array", &readers.Type{Class: readers.Array, Size: 4, Dims: []int{2}, Base: i2}, nil, []byte{1, 0, 2, 0}, "{1s, 2s}"},
		{"enum", &readers.Type{Class: readers.Enum, Size: 2, Base: readers.Int(2, readers.BigEndian, true), Choices: []readers.Choice{{Name: "on", Value: []byte{0, 1}}}}, []uint64{2}, []byte{1, 0, 2, 0}, "on, 2s"},
		{"opaque", &readers.Type{Class: readers.Opaque, Size: 2}, nil, []byte{0xab, 1}, "0xab01"},
		{"reference", &readers.Type{Class: readers.Reference, Size: 8}, nil, []byte{9, 1, 0, 0, 0, 0, 0, 0}, "@265"},
		{"cut off", sequence, nil, []byte{2, 0, 0, 0, 0, 0, 0, 0, 5, 0}, "// 10 bytes of vlen<<i2>"},
		{"bomb", sequence, nil, []byte{0, 0, 0, 0, 0, 0, 0, 0xff}, "// 8 bytes of vlen<<i2>"},
		{"nothing", i2, []uint64{0}, nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := valueText(&readers.Value{Type: test.typ, Shape: test.shape, Data: test.data})
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
