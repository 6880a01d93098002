package hdf5

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"varve/readers"
)

// TestNetCDFGrowing reads variables that are shorter than their unlimited dimensions. The values
// are those that netcdf-c writes into its buffer; bytes that it leaves unchanged are not compared.
func TestNetCDFGrowing(t *testing.T) {
	_, tree := openFixture(t, "netcdf4_growing.nc")
	view, err := tree.NetCDF(t.Context())
	if err != nil || view.Refused != nil {
		t.Fatal(err, view.Refused)
	}
	const fill = -32767
	values := map[string][]int16{
		"long":   {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
		"narrow": {0, 1, 2, 3, 4, 5, fill, fill},
		"low":    {0, 1, 2, 3, -1, -1},
		"none":   {fill, fill, fill, fill, fill, fill, fill, fill, fill, fill, fill, fill},
	}
	if len(view.Root.Vars) != len(values) {
		t.Fatalf("%d variables, want %d", len(view.Root.Vars), len(values))
	}
	for _, v := range view.Root.Vars {
		got, err := v.Values(t.Context(), 1<<10)
		if err != nil {
			t.Fatal(err)
		}
		want, err := binary.Append(nil, binary.LittleEndian, values[v.Name])
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 24 || !bytes.HasPrefix(got, want) {
			t.Errorf("%s: got %x, want 24 bytes that begin with %x", v.Name, got, want)
		}
	}
}

// TestNetCDFHiddenDimension reads a variable whose dimension is hidden by a later one with the same
// name in its group. netCDF4-python shows the later one.
func TestNetCDFHiddenDimension(t *testing.T) {
	f, tree := openFixture(t, "netcdf4_growing.nc")
	view, err := tree.NetCDF(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	v := view.Root.Groups[0].Vars[0]
	if got := v.Dims[0]; got.Path != "/g/x" || got.Length != 2 {
		t.Errorf("shown: %s of %d, want /g/x of 2", got.Path, got.Length)
	}
	data, err := f.Dataset(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := data.Root.Groups[0].Variables[0].Dims[0]; got.Path != "/x" || got.Length != 3 {
		t.Errorf("in the dataset: %s of %d, want /x of 3", got.Path, got.Length)
	}
}

func TestCheckText(t *testing.T) {
	if err := checkText([]string{"", "plain", "été"}); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{
		"a\xffb":         "byte 0xff in position 1: invalid start byte",
		"\x80":           "byte 0x80 in position 0: invalid start byte",
		"ab\xc3":         "byte 0xc3 in position 2: unexpected end of data",
		"\xe6\x97":       "bytes in position 0-1: unexpected end of data",
		"\xe6\x97x":      "bytes in position 0-1: invalid continuation byte",
		"\xf0\x9f\x98 x": "bytes in position 0-2: invalid continuation byte",
		"\xe6x":          "byte 0xe6 in position 0: invalid continuation byte",
	} {
		err := checkText([]string{"plain", name})
		if err == nil || err.Error() != "'utf-8' codec can't decode "+want {
			t.Errorf("%q: got %v, want %s", name, err, want)
		}
	}
}

// TestConvertNaN: libhdf5 keeps the sign of a NaN and sets all other bits.
func TestConvertNaN(t *testing.T) {
	bfloat := &readers.Type{Class: readers.Float, Size: 2, Precision: 16, Float: readers.FloatBits{
		Sign: 15, ExponentPos: 7, ExponentSize: 8, MantissaSize: 7, ExponentBias: 127,
	}}
	for stored, want := range map[uint16]uint32{0x7fc5: 0x7fffffff, 0xff93: 0xffffffff, 0x7f80: 0x7f800000, 0x3fc0: 0x3fc00000} {
		b := binary.LittleEndian.AppendUint16(nil, stored)
		got := appendNative(nil, bfloat, &netcdfType{size: 4}, b)
		if binary.LittleEndian.Uint32(got) != want {
			t.Errorf("%#x: got %x, want %#x", stored, got, want)
		}
	}
}

// TestGuessedDimensions: if the list of dimension scales cannot be read, netcdf-c finds dimensions
// by their lengths. The reader does the same and reports a problem, because dimensions of equal
// length can be confused.
func TestGuessedDimensions(t *testing.T) {
	f, err := changed(t, "references_lists.h5", func(b []byte) []byte { return bytes.Replace(b, []byte("GCOL"), []byte("XCOL"), 1) })
	if err != nil {
		t.Fatal(err)
	}
	d, err := f.Dataset(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Problems) == 0 || d.Problems[0].Path != "/x" || !errors.Is(d.Problems[0].Err, readers.ErrCorrupt) {
		t.Errorf("problems %v", d.Problems)
	}
}

// TestFillOfTexts: the fill value of strings is a string without the count that precedes it in
// Canonical.
func TestFillOfTexts(t *testing.T) {
	f, _ := openFixture(t, "netcdf4_coordinates.nc")
	data, err := f.Dataset(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/station": "unnamed", "/none": ""} {
		if got := data.Variable(path).Fill; got.State != readers.FillUser || string(got.Value) != want {
			t.Errorf("%s: fill %v %q, want %q", path, got.State, got.Value, want)
		}
	}
}
