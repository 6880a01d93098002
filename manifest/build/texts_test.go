package build

import (
	"context"
	"path/filepath"
	"testing"

	"varve/zarrjson"
)

// TestAttributesOfHDF5: a list of one text stays one where HDF5 has it, but for those that CF
// knows, and is a text where netCDF has it; classes and names are hidden of dimension scales only.
func TestAttributesOfHDF5(t *testing.T) {
	for name, want := range map[string]map[string]string{
		"conventions.h5": {"/table column-order": `["truth"]`, "/table title": `"one"`, "/table of": `"/truth"`,
			"/table CLASS": `"TABLE"`, "/truth CLASS": `"EARRAY"`, "/truth NAME": `"of its own"`,
			"/paths columns": `["a"]`, "/paths units": `"m"`, "/truth ordered": `true`, "/nothing encoding-type": `"null"`},
		"netcdf4_texts.nc": {"/ one": `"a"`, "/ two": `["a","b"]`, "/v one": `"b"`},
	} {
		made, err := Build(context.Background(), filepath.Join(t.TempDir(), "out.varve"),
			&Options{Sources: Sources{Names: []string{"../../fixtures/hdf5/" + name}}})
		if err != nil {
			t.Fatal(err)
		}
		nodes := map[string]zarrjson.Attributes{}
		for _, g := range made.Snapshot.Groups {
			nodes[g.Path] = g.Attributes
		}
		for _, a := range made.Snapshot.Arrays {
			nodes[a.Path] = a.Face.Attributes
		}
		got := map[string]string{}
		for path, attributes := range nodes {
			for attribute, raw := range attributes.All() {
				got[path+" "+attribute] = string(raw)
			}
		}
		for attribute, says := range want {
			if got[attribute] != says {
				t.Errorf("%s: %s is %s, want %s", name, attribute, got[attribute], says)
			}
		}
	}
}
