package dap

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve/manifest/export/netcdf"
)

// writeZarr writes a Zarr store with arrays of one chunk of three elements, by the names of their types, after which a name of
// the array may follow.
func writeZarr(t testing.TB, arrays map[string][]byte) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "a.zarr")
	write := func(name string, data []byte) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("zarr.json", []byte(`{"zarr_format":3,"node_type":"group","attributes":{"title":"types"}}`))
	for typ, data := range arrays {
		typ, name, isNamed := strings.Cut(typ, " ")
		if !isNamed {
			name = "v_" + typ
		}
		fill, codec := "0", `{"name":"bytes","configuration":{"endian":"little"}}`
		switch {
		case strings.HasPrefix(typ, "complex"):
			fill = "[0.0,0.0]"
		case typ == "bool":
			fill = "false"
		case typ == "string":
			fill, codec = `"`+strings.Repeat("t", 70)+`"`, `"vlen-utf8"`
		}
		write(name+"/zarr.json", fmt.Appendf(nil, `{"zarr_format":3,"node_type":"array","shape":[3],"data_type":%q,"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[3]}},
			"chunk_key_encoding":{"name":"default"},"fill_value":%s,"codecs":[%s],"attributes":{"_FillValue":%s},"dimension_names":["x"]}`, typ, fill, codec, fill))
		write(name+"/c/0", data)
	}
	return dir
}

// TestOmitted checks that an array without a type in DAP is left out of all answers, and that the attributes say so.
func TestOmitted(t *testing.T) {
	d := open(t, "types", writeZarr(t, map[string][]byte{
		"complex64": make([]byte, 24), "float16": bytesOf(t, []uint16{0x3c00, 0xc000, 0x7e00}), "bool": {0, 1, 1}, "uint64": bytesOf(t, []uint64{1, 2, 1 << 63}),
	}))
	const why = "/v_complex64 is omitted: DAP has no type for complex64"
	if got := d.Omitted(); len(got) != 1 || got[0] != why {
		t.Errorf("%q", got)
	}
	dds, err := d.DDS(t.Context(), "")
	if err != nil || strings.Contains(dds, "complex") || !strings.Contains(dds, "Float32 v_float16[x = 3];") || !strings.Contains(dds, "Byte v_bool[") || !strings.Contains(dds, "Float64 v_uint64[") {
		t.Errorf("%v %s", err, dds)
	}
	das, err := d.DAS(t.Context())
	if err != nil || !strings.Contains(das, `String varve_omitted "`+why+`";`) {
		t.Errorf("%v %s", err, das)
	}
	if !strings.Contains(das, "v_float16 {\n        Float32 _FillValue 0;\n") || !strings.Contains(das, "v_uint64 {\n        Float64 _FillValue 0;\n") {
		t.Errorf("the types of fill values are not those of the arrays: %s", das)
	}
	dmr, err := d.DMR("", false)
	if err != nil || strings.Count(dmr, "complex64") != 2 || !strings.Contains(dmr, "<Value>"+why) || !strings.Contains(dmr, `<Float32 name="v_float16">`) {
		t.Errorf("%v %s", err, dmr)
	}
	a, err := d.ASCII(t.Context(), "v_float16,v_bool,v_uint64", noLimit)
	_, text, _ := strings.Cut(string(answerOf(t, a, err)), "---\n")
	if want := "v_bool[3]\n0, 1, 1\n\nv_float16[3]\n1, -2, NaN\n\nv_uint64[3]\n1, 2, 9223372036854775808\n\n"; text != want {
		t.Errorf("got %q, want %q", text, want)
	}
	four, err := d.Data(t.Context(), "/v_float16", true, noLimit)
	if got, want := variablesOf(t, answerOf(t, four, err), 12)[0], bytesOf(t, []uint32{0x3f800000, 0xc0000000, 0x7fc00000}); string(got) != string(want) {
		t.Errorf("float16 as Float32: % x", got)
	}
	b, err := d.DODS(t.Context(), "v_bool", noLimit)
	if got := answerOf(t, b, err); !strings.HasSuffix(string(got), "\nData:\n\x00\x00\x00\x03\x00\x00\x00\x03\x00\x01\x01\x00") {
		t.Errorf("bytes end with % x", got[len(got)-12:])
	}
}

// TestOmittedInDAP2 checks that DAP2 omits an array with a value that none of its types holds, so that clients, which fetch small
// arrays when they open a dataset, can read the rest; and that what has no map for each dimension, or one twice, is an array.
func TestOmittedInDAP2(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.nc")
	writeFile(t, name, 2, []variableOf{
		{netcdf.Variable{Name: "time", Dimensions: []int{0}, Type: netcdf.Int64, Attributes: []netcdf.Attribute{netcdf.Text("units", "nanoseconds since 2000-01-01")}}, []int64{1 << 60, 1<<60 + 1}},
		{netcdf.Variable{Name: "lat", Dimensions: []int{1}, Type: netcdf.Float}, []float32{50, 40}},
		{netcdf.Variable{Name: "t2m", Dimensions: []int{0, 1}, Type: netcdf.Short}, []int16{1, 2, 3, 4}},
		{netcdf.Variable{Name: "covariance", Dimensions: []int{1, 1}, Type: netcdf.Short}, []int16{5, 6, 7, 8}},
	})
	d := open(t, "a", name)
	var log []string
	d.onOmit = func(why string) { log = append(log, why) }
	const why = "time is omitted in DAP2: /time has the value 1152921504606846977, which no type of DAP2 holds exactly; use DAP4"
	const dds = "Dataset {\n    Int16 covariance[lat = 2][lat = 2];\n    Float32 lat[lat = 2];\n    Int16 t2m[time = 2][lat = 2];\n} a;\n"
	if got, err := d.DDS(t.Context(), ""); err != nil || got != dds {
		t.Errorf("%v %s", err, got)
	}
	if got := d.Omitted(); len(got) != 1 || got[0] != why || len(log) != 1 || log[0] != why {
		t.Errorf("%q, and the log %q", got, log)
	}
	das, err := d.DAS(t.Context())
	if err != nil || !strings.Contains(das, `String varve_omitted "`+why+`";`) || strings.Contains(das, "time {") {
		t.Errorf("%v %s", err, das)
	}
	a, err := d.ASCII(t.Context(), "", noLimit)
	_, text, _ := strings.Cut(string(answerOf(t, a, err)), "---\n")
	if want := "covariance[2][2]\n[0], 5, 6\n[1], 7, 8\n\nlat[2]\n50, 40\n\nt2m[2][2]\n[0], 1, 2\n[1], 3, 4\n\n"; text != want {
		t.Errorf("got %q, want %q", text, want)
	}
	var refused *ConstraintError
	if _, err := d.DODS(t.Context(), "t2m.lat", noLimit); !errors.As(err, &refused) {
		t.Errorf("a member of an array: %v", err)
	}
	if _, err := d.DODS(t.Context(), "time", noLimit); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("the array by name: %v", err)
	}
	dmr, err := d.DMR("", false)
	if err != nil || strings.Contains(dmr, "varve_omitted") || !strings.Contains(dmr, `<Int64 name="time">`) {
		t.Errorf("%v %s", err, dmr)
	}
	four, err := d.Data(t.Context(), "/time", true, noLimit)
	if got, want := variablesOf(t, answerOf(t, four, err), 16)[0], bytesOf(t, []int64{1 << 60, 1<<60 + 1}); string(got) != string(want) {
		t.Errorf("in DAP4: % x", got)
	}
}

// TestNoElements checks that DAP2 omits arrays without elements, beside which netCDF-C fails to read others, and that DAP4 has them.
func TestNoElements(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.nc")
	writeFile(t, name, 0, []variableOf{
		{netcdf.Variable{Name: "time", Dimensions: []int{0}, Type: netcdf.Int64}, []int64{}},
		{netcdf.Variable{Name: "lat", Dimensions: []int{1}, Type: netcdf.Float}, []float32{50, 40}},
		{netcdf.Variable{Name: "t2m", Dimensions: []int{0, 1}, Type: netcdf.Short}, []int16{}},
	})
	d := open(t, "a", name)
	if got, err := d.DDS(t.Context(), ""); err != nil || got != "Dataset {\n    Float32 lat[lat = 2];\n} a;\n" {
		t.Errorf("%v %s", err, got)
	}
	if got, want := strings.Join(d.Omitted(), "; "), "t2m is omitted in DAP2: it has no elements; time is omitted in DAP2: it has no elements"; got != want {
		t.Errorf("%s", got)
	}
	a, err := d.Data(t.Context(), "/lat;/t2m[0:1:9223372036854775806][0:1:1];/time", true, noLimit)
	values := variablesOf(t, answerOf(t, a, err), 8, 0, 0)
	if string(values[0]) != string(bytesOf(t, []float32{50, 40})) {
		t.Errorf("% x", values)
	}
	dmr, err := d.DMR("/t2m[0:1:5][]", false)
	if err != nil || !strings.Contains(dmr, `<Dimension name="time" size="0"/>`) || strings.Count(dmr, "<Dim name=") != 2 {
		t.Errorf("%v %s", err, dmr)
	}
}
