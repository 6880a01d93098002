package dap

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve/manifest/export/netcdf"
)

// TestLongTexts checks that attributes of DAP2 give the length of texts of more than 64 bytes, of which netCDF-C cuts the rest.
func TestLongTexts(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.nc")
	f := netcdf.File{Dimensions: []netcdf.Dimension{{Name: "x", Length: 2}, {Name: "short", Length: 64}, {Name: "long", Length: 100}},
		Variables: []netcdf.Variable{{Name: "s", Dimensions: []int{0, 1}, Type: netcdf.Char}, {Name: "l", Dimensions: []int{0, 2}, Type: netcdf.Char}}}
	writeTo(t, name, f, []variableOf{{data: strings.Repeat("s", 128)}, {data: strings.Repeat("l", 200)}})
	strs := writeZarr(t, map[string][]byte{"string l": nil})
	if err := os.Remove(strs + "/l/c/0"); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		name: "    l {\n        Int32 DODS.strlen 100;\n    }\n    s {\n    }\n",
		strs: "    l {\n        Int32 DODS.strlen 70;\n    }\n",
	} {
		d := open(t, "texts", file)
		gone, leave := context.WithCancel(t.Context())
		leave()
		if _, err := d.DAS(gone); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: a client that has gone: %v", file, err)
		}
		das, err := d.DAS(t.Context())
		if err != nil || !strings.Contains(das, want) {
			t.Errorf("%s: %v %s", file, err, das)
		}
	}
}
