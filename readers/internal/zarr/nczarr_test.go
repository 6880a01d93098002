package zarr

import (
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve/readers"
)

// shuffled is a .zarray of netCDF-C without its closing brace.
const shuffled = `{"zarr_format":2,"shape":[5,4],"dtype":"<f4","chunks":[2,3],"fill_value":9.96921e+36,"order":"C",
	"compressor":{"id":"zlib","level":4},"filters":[{"id":"shuffle","elementsize":0}]`

// ncArray returns an array whose chunks netCDF-C wrote, with the given documents.
func ncArray(t *testing.T, zarray, zattrs string) *readers.Variable {
	t.Helper()
	files := map[string]string{".zgroup": `{"zarr_format":2}`, "v/.zarray": zarray, "v/.zattrs": zattrs}
	chunks, err := filepath.Glob(filepath.Join(fixtureDir, "nczarr", "shuffled", "[0-9]*"))
	if err != nil || len(chunks) != 6 {
		t.Fatalf("%d chunks: %v", len(chunks), err)
	}
	for _, name := range chunks {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files["v/"+filepath.Base(name)] = string(content)
	}
	d := mustOpen(t, files)
	if len(d.Root.Variables) != 1 {
		t.Fatalf("%d variables", len(d.Root.Variables))
	}
	return d.Root.Variables[0]
}

// TestNCZarr: netCDF-C's own attributes are not shown, and name dimensions if nothing else does.
func TestNCZarr(t *testing.T) {
	for name, c := range map[string]struct{ array, attrs string }{
		"4.10, for xarray": {shuffled + "}", `{"units":"K","_ARRAY_DIMENSIONS":["t","x"],"_nczarr_array":{"dimension_references":["/q","/r"]},"_nczarr_attr":{"types":{}}}`},
		"4.10":             {shuffled + "}", `{"units":"K","_nczarr_array":{"dimension_references":["/t","/g/x"],"storage":"chunked"}}`},
		"before 4.10":      {shuffled + `,"_NCZARR_ARRAY":{"dimrefs":["/t","/x"],"storage":"chunked"}}`, `{"units":"K","_NCZARR_ATTR":{"types":{"units":"<U1"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			v := ncArray(t, c.array, c.attrs)
			if v.Dims[0].Name != "t" || v.Dims[1].Name != "x" {
				t.Errorf("dimensions %v and %v", v.Dims[0], v.Dims[1])
			}
			var names []string
			for _, a := range v.Attributes {
				names = append(names, a.Name)
			}
			if got := strings.Join(names, " "); got != "units _FillValue" {
				t.Errorf("attributes %s", got)
			}
			got, err := v.ReadAll(t.Context(), 1<<20)
			if want := expected(t)["nczarr"]["/shuffled"].Values; err != nil || hex.EncodeToString(got.Data) != want {
				t.Errorf("values %x, not %s: %v", got.Data, want, err)
			}
		})
	}
}

// TestShuffleElementSizeZero: an elementsize of 0 means no shuffle for numcodecs, but the size of
// the elements for netCDF-C. Without a mark of netCDF-C the meaning is unknown.
func TestShuffleElementSizeZero(t *testing.T) {
	v := ncArray(t, shuffled+"}", `{"units":"K"}`)
	if err := v.Storage.Undecodable; !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("decodable: %v", err)
	}
}

// TestNCZarrContradictions: contradictory attributes of netCDF-C are reported as damage.
func TestNCZarrContradictions(t *testing.T) {
	d := mustOpen(t, map[string]string{".zgroup": `{"zarr_format":2}`, "v/.zarray": shuffled + "}", "v/.zattrs": `{"_nczarr_array":{"dimension_references":7}}`})
	if len(d.Problems) != 1 || !errors.Is(d.Problems[0].Err, readers.ErrCorrupt) {
		t.Errorf("problems %v", d.Problems)
	}
}
