package dap

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		fill := "0"
		switch {
		case strings.HasPrefix(typ, "complex"):
			fill = "[0.0,0.0]"
		case typ == "bool":
			fill = "false"
		}
		write(name+"/zarr.json", fmt.Appendf(nil, `{"zarr_format":3,"node_type":"array","shape":[3],"data_type":%q,"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[3]}},
			"chunk_key_encoding":{"name":"default"},"fill_value":%s,"codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"attributes":{"_FillValue":%s},"dimension_names":["x"]}`, typ, fill, fill))
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
