package present

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/codec"
	"varve/fixtures/classic"
	"varve/manifest/ingest"
	"varve/manifest/internal/cf"
	"varve/manifest/zarrstore"
	"varve/readers/netcdf3"
	"varve/readers/source"
	"varve/zarrjson"
)

// TestNPYHeader: headers have a multiple of 64 bytes and the correct length, in format 1 and format 2.
func TestNPYHeader(t *testing.T) {
	for _, shape := range [][]int64{nil, {3}, {1, 2, 3}, {1 << 40, 5}} {
		checkNPYHeader(t, "'<f4'", shape)
	}
	for _, fields := range []int{1, 4, 8, 16, 100, 4095, 5000, 20000} { // lengths with bytes above 127, and above 65,535
		checkNPYHeader(t, "["+strings.Repeat("('x', '<f8'), ", fields)+"]", []int64{3})
	}
}

func checkNPYHeader(t *testing.T, descr string, shape []int64) {
	t.Helper()
	header := npyHeader(descr, shape)
	if len(header)%64 != 0 || header[len(header)-1] != '\n' {
		t.Errorf("%.40s, %v: %d bytes, %.80q", descr, shape, len(header), header)
	}
	n, begin := int(binary.LittleEndian.Uint16(header[8:])), 10
	if header[6] == 2 {
		n, begin = int(binary.LittleEndian.Uint32(header[8:])), 12
	}
	if n != len(header)-begin || header[begin] != '{' {
		t.Errorf("%.40s, %v: the declared length is %d, want %d", descr, shape, n, len(header)-begin)
	}
}

// TestNPYType: types have the names that NumPy gives them.
func TestNPYType(t *testing.T) {
	for want, typ := range map[string]codec.Type{
		"'|b1'":                            {Kind: codec.Bool, Size: 1},
		"'|i1'":                            {Kind: codec.Int, Size: 1},
		"'<u2'":                            {Kind: codec.Uint, Size: 2},
		"'<c8'":                            {Kind: codec.Complex, Size: 8},
		"'|S1'":                            {Kind: codec.FixedBytes, Size: 1},
		"'<U2'":                            {Kind: codec.FixedUTF32, Size: 8},
		"'<M8[ns]'":                        {Kind: codec.DateTime, Size: 8, Unit: "ns"},
		"'<m8[10s]'":                       {Kind: codec.TimeDelta, Size: 8, Unit: "s", Ticks: 10},
		`[('it\'s', '<f4'), ('b', '|V3')]`: {Kind: codec.Struct, Size: 7, Fields: []codec.Field{{Name: "it's", Type: codec.Type{Kind: codec.Float, Size: 4}}, {Name: "b", Type: codec.Type{Kind: codec.Raw, Size: 3}}}},
		`[('\"a\"', '|u1')]`:               {Kind: codec.Struct, Size: 1, Fields: []codec.Field{{Name: `"a"`, Type: codec.Type{Kind: codec.Uint, Size: 1}}}},
	} {
		if got, err := npyType(typ); err != nil || got != want {
			t.Errorf("%v: %s (%v), not %s", typ, got, err, want)
		}
	}
}

// TestText: elements of all types are formatted.
func TestText(t *testing.T) {
	word := func(f float32) []byte { return binary.LittleEndian.AppendUint32(nil, math.Float32bits(f)) }
	for _, c := range []struct {
		typ  codec.Type
		e    []byte
		want string
	}{
		{codec.Type{Kind: codec.Bool, Size: 1}, []byte{1}, "true"},
		{codec.Type{Kind: codec.Int, Size: 1}, []byte{0xff}, "-1"},
		{codec.Type{Kind: codec.Uint, Size: 8}, bytes.Repeat([]byte{0xff}, 8), "18446744073709551615"},
		{codec.Type{Kind: codec.Float, Size: 4}, word(0.1), "0.1"},
		{codec.Type{Kind: codec.Float, Size: 4}, word(1e20), "1e+20"},
		{codec.Type{Kind: codec.Float, Size: 4}, word(12345678), "12345678"},
		{codec.Type{Kind: codec.Complex, Size: 8}, append(word(1), word(-2)...), "1-2i"},
		{codec.Type{Kind: codec.FixedBytes, Size: 4}, []byte("ab\x00\x00"), "ab"},
		{codec.Type{Kind: codec.FixedUTF32, Size: 8}, []byte{0xc6, 0, 0, 0, 0, 0, 0, 0}, "Æ"},
		{codec.Type{Kind: codec.String}, []byte("text"), "text"},
		{codec.Type{Kind: codec.Raw, Size: 2}, []byte{1, 0xfe}, "01fe"},
		{codec.Type{Kind: codec.Struct, Size: 3, Fields: []codec.Field{{Name: "a", Type: codec.Type{Kind: codec.Uint, Size: 2}}, {Name: "b", Type: codec.Type{Kind: codec.Bool, Size: 1}}}}, []byte{5, 0, 0}, "{a: 5, b: false}"},
	} {
		d := &Decoder{typ: c.typ, packing: cf.Packing{Type: c.typ}, scale: 1}
		if got, err := d.Text(c.e); err != nil || got != c.want {
			t.Errorf("%v %x: %q (%v), not %q", c.typ, c.e, got, err, c.want)
		}
	}
}

// TestCSV: a table has labels of all dimensions, stored or decoded values, and empty cells for missing values.
func TestCSV(t *testing.T) {
	st := built(t, threeMonths(t, "360_day"))
	s := selected(t, st, "sst", []string{"time=3:5", "lat=1", "lon=:2"}, nil)
	for decode, want := range map[bool]string{
		false: "time,lat,lon,sst\n2010-02-01 12:00:00,0,0,3004\n2010-02-01 12:00:00,0,90,\n2010-02-02 12:00:00,0,0,3104\n2010-02-02 12:00:00,0,90,\n",
		true:  "time,lat,lon,sst\n2010-02-01 12:00:00,0,0,303.19\n2010-02-01 12:00:00,0,90,\n2010-02-02 12:00:00,0,0,304.19\n2010-02-02 12:00:00,0,90,\n",
	} {
		var out bytes.Buffer
		if err := WriteCSV(t.Context(), &out, st, s, decoderOf(t, s, decode)); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("decoded %v:\n%s", decode, out.String())
		}
	}
	if got := string(quoted([]byte(`a "b", c`))); got != `"a ""b"", c"` {
		t.Errorf("quoted as %s", got)
	}
}

// TestBoundsAlone: bounds are decoded with the units of their times, even if only the bounds are selected.
func TestBoundsAlone(t *testing.T) {
	files := threeMonths(t, "standard")
	for i := range files {
		v := &files[i].Vars
		at := (*v)[0]
		at.Name, at.Attributes = "seen", []classic.Attribute{{Name: "units", Value: "days since 2010-01-02"}, {Name: "bounds", Value: "edges"}}
		edges := (*v)[1]
		edges.Name = "edges"
		*v = append(*v, at, edges)
	}
	st := built(t, files)
	s := selected(t, st, "edges", []string{"time=3"}, nil)
	var out bytes.Buffer
	if err := WriteCSV(t.Context(), &out, st, s, decoderOf(t, s, true)); err != nil {
		t.Fatal(err)
	}
	if want := "time,nv,edges\n2010-01-31 12:00:00,0,2010-02-01\n2010-01-31 12:00:00,1,2010-02-02\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	f := writtenNetCDF(t, s, func(name string, s *Selection) error {
		out, err := os.Create(name)
		if err != nil {
			return err
		}
		return errors.Join(WriteNetCDF(t.Context(), out, st, s), out.Close())
	})
	if !slices.ContainsFunc(f.Header().Vars, func(v netcdf3.Var) bool { return v.Name == "seen" }) {
		t.Error("the file does not contain the times of the bounds")
	}
}

// TestPNG: a picture is 760 pixels wide, has several colours, and is grey where values are missing.
func TestPNG(t *testing.T) {
	st := built(t, threeMonths(t, "standard"))
	for _, c := range []struct {
		name    string
		isel    []string
		bad     string
		grey    bool
		atLeast int // the least number of colours
	}{
		{name: "field", isel: []string{"time=0"}, grey: true, atLeast: 10},
		{name: "line", isel: []string{"lat=0", "lon=0"}, atLeast: 3},
		{name: "an axis with one index is omitted", isel: []string{"time=0:1"}, grey: true, atLeast: 10},
		{name: "three axes", bad: "time (12), lat (3), lon (4)"},
		{name: "one value", isel: []string{"time=0", "lat=0", "lon=0"}, bad: "/sst"},
		{name: "empty selection", isel: []string{"time=0:0"}, bad: "/sst"},
	} {
		s := selected(t, st, "sst", c.isel, nil)
		var out bytes.Buffer
		err := WritePNG(t.Context(), &out, st, s, decoderOf(t, s, true))
		if c.bad != "" {
			if err == nil || !strings.Contains(err.Error(), c.bad) {
				t.Errorf("%s: error %v, want %q", c.name, err, c.bad)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(&out)
		if err != nil {
			t.Fatal(err)
		}
		colours := map[[3]uint32]int{}
		for y := range img.Bounds().Dy() {
			for x := range img.Bounds().Dx() {
				r, g, b, _ := img.At(x, y).RGBA()
				colours[[3]uint32{r >> 8, g >> 8, b >> 8}]++
			}
		}
		missing := colours[[3]uint32{0xb4, 0xb4, 0xb4}]
		if img.Bounds().Dx() != 760 || len(colours) < c.atLeast || (missing > 1000) != c.grey {
			t.Errorf("%s: size %v, %d colours, %d grey pixels", c.name, img.Bounds(), len(colours), missing)
		}
	}
}

// TestPlotLabels: a plot has the position and the units in its title and axis labels.
func TestPlotLabels(t *testing.T) {
	st := built(t, threeMonths(t, "standard"))
	s := selected(t, st, "sst", []string{"time=4"}, nil)
	p, err := Plot(t.Context(), st, s, decoderOf(t, s, true))
	if err != nil {
		t.Fatal(err)
	}
	if p.Title != "sst, time = 2010-02-01 12:00:00" || p.Unit != "surface temperature [K]" || p.X.Label != "lon [degrees_east]" || p.Y.Label != "lat [degrees_north]" {
		t.Errorf("title %q, unit %q, x %q, y %q", p.Title, p.Unit, p.X.Label, p.Y.Label)
	}
	if !math.IsNaN(p.Values[5]) || p.Values[0] != 3100*0.01+273.15 || p.X.At[3] != 270 {
		t.Errorf("values %v at %v", p.Values, p.X.At)
	}
	s = selected(t, st, "sst", []string{"lat=0", "lon=0"}, nil)
	if p, err = Plot(t.Context(), st, s, decoderOf(t, s, true)); err != nil || p.X.Name(p.X.At[1]) != "2010-01-29 12:00" {
		t.Errorf("%+v (%v)", p, err)
	}
}

// TestSelectAll: a term narrows the arrays with its dimension. One that none has is an error.
func TestSelectAll(t *testing.T) {
	st := built(t, threeMonths(t, "noleap"))
	arrays := severalOf(t, st, "sst", "area", "time")
	selections, err := SelectAll(t.Context(), st, arrays, []string{"time=4"}, []string{"lat=0:11"})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{2 * 4, 2 * 4, 1} {
		if n := selections[i].Count(); n != want {
			t.Errorf("%s: %d elements, want %d", arrays[i].Path(), n, want)
		}
	}
	var e *DimensionError
	if _, err := SelectAll(t.Context(), st, arrays, []string{"depth=4"}, nil); !errors.As(err, &e) || e.Array != "/sst" {
		t.Errorf("got %v", err)
	}
}

// TestNetCDF: a written file has the region, its coordinates and their bounds. varve's own reader reads it.
func TestNetCDF(t *testing.T) {
	st := built(t, threeMonths(t, "noleap"))
	selection := selected(t, st, "sst", []string{"time=4", "lon=1:4:2"}, nil)
	var done, total int64
	selection.Progress = func(n, of int64) { done, total = n, of }
	f := writtenNetCDF(t, selection, func(name string, s *Selection) error {
		out, err := os.Create(name)
		if err != nil {
			return err
		}
		if err := WriteNetCDF(t.Context(), out, st, s); err != nil {
			return err
		}
		return out.Close()
	})
	if done != 6 || total != 6 {
		t.Errorf("progress is %d of %d elements, want 6 of 6", done, total)
	}
	want := map[string][]float64{
		"time": {31.5}, "time_bnds": {31, 32}, "lat": {float64(float32(10.1)), 0, -float64(float32(10.1))}, "lon": {90, 270},
		"area": {2, 4, 6, 8, 10, 12}, "sst": {3101, 3103, -999, 3107, 3109, 3111}, "flags": {1, 2, 4},
	}
	for i := range f.Header().Vars {
		v := &f.Header().Vars[i]
		b, err := f.Read(t.Context(), v, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		numbers := make([]float64, len(want[v.Name]))
		kinds := map[uint32]codec.Type{3: {Kind: codec.Int, Size: 2}, 4: {Kind: codec.Int, Size: 4}, 5: {Kind: codec.Float, Size: 4}, 6: {Kind: codec.Float, Size: 8}}
		if typ := kinds[v.TypeCode]; len(b) == len(numbers)*typ.Size {
			loadFloats(numbers, b, typ)
		}
		for k := range numbers {
			if numbers[k] != want[v.Name][k] {
				t.Errorf("%s: %v, not %v", v.Name, numbers, want[v.Name])
				break
			}
		}
		delete(want, v.Name)
		for _, a := range v.Attributes {
			if v.Name == "sst" && a.Name == "coordinates" && string(bytes.Join(a.Texts, nil)) != "area flags time" {
				t.Errorf("sst has the coordinates %q, want area flags time", a.Texts)
			}
		}
	}
	for name := range want {
		t.Errorf("the file has no variable %s", name)
	}
}

func writtenNetCDF(t *testing.T, s *Selection, write func(string, *Selection) error) *netcdf3.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.nc")
	if err := write(name, s); err != nil {
		t.Fatal(err)
	}
	src, err := source.Open(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	})
	f, err := netcdf3.OpenFile(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestNetCDFGroups: arrays of different groups with equal names are refused by their paths, because the classic model has no groups.
func TestNetCDFGroups(t *testing.T) {
	dir := t.TempDir()
	typ, err := zarrjson.DataTypeOf(codec.Type{Kind: codec.Int, Size: 4})
	if err != nil {
		t.Fatal(err)
	}
	schema := &zarrjson.Array{Shape: []int64{3}, DataType: typ, ChunkGrid: zarrjson.RegularGrid(3), DimensionNames: zarrjson.Names("n"), Codecs: codec.IndexCodecs()[:1]}
	for _, group := range []string{"", "a", "b"} {
		folder := filepath.Join(dir, "in.zarr", group)
		err := errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(filepath.Join(folder, "zarr.json"), []byte(`{"attributes":{},"zarr_format":3,"node_type":"group"}`), 0o644))
		if err == nil && group != "" {
			_, err = zarrstore.Create(t.Context(), filepath.Join(folder, "v"), schema, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	st := opened(t, filepath.Join(dir, "out"), &ingest.Options{Sources: ingest.Sources{Names: []string{filepath.Join(dir, "in.zarr")}}})
	selections, err := SelectAll(t.Context(), st, severalOf(t, st, "a/v", "b/v"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = WriteNetCDF(t.Context(), io.Discard, st, selections...)
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "/a/v") || !strings.Contains(err.Error(), "/b/v") {
		t.Errorf("got %v", err)
	}
}
