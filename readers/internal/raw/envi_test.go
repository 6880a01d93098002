package raw

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"varve/readers"
)

// openENVI opens a header of 4 lines of 5 pixels of 16 bits, with more fields.
func openENVI(t *testing.T, more string) *readers.Dataset {
	t.Helper()
	folder := t.TempDir()
	header := "ENVI\nsamples = 5\nlines = 4\nbands = 1\nheader offset = 0\ninterleave = bsq\n" + more + "\n"
	for name, data := range map[string][]byte{"a.hdr": []byte(header), "a.dat": {39: 0, 1: 7}} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	data, err := openFile(t, filepath.Join(folder, "a.hdr"))
	if err != nil {
		t.Fatal(more, err)
	}
	return data
}

func variable(d *readers.Dataset, name string) *readers.Variable {
	for _, v := range d.Root.Variables {
		if v.Path == "/"+name {
			return v
		}
	}
	return nil
}

// firstTwo returns the first values of a coordinate.
func firstTwo(t *testing.T, v *readers.Variable) (out [2]float64) {
	t.Helper()
	value, err := v.ReadAll(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	for i := range out {
		out[i] = math.Float64frombits(binary.LittleEndian.Uint64(value.Data[8*i:]))
	}
	return out
}

// TestSouthUp checks images whose first line is in the south, which GDAL writes with a rotation of 180. The numbers are those of GDAL.
func TestSouthUp(t *testing.T) {
	for _, turn := range []string{"180", "-180.0"} {
		d := openENVI(t, "data type = 2\nmap info = {UTM, 2, 3, 500000, 5200000, 10, 20, 32, North, WGS-84, units=Meters, rotation="+turn+"}")
		x, y := variable(d, "x"), variable(d, "y")
		if x == nil || y == nil {
			t.Fatalf("rotation=%s: no coordinates", turn)
		}
		if a, b := firstTwo(t, x), firstTwo(t, y); a != [2]float64{499995, 500005} || b != [2]float64{5200050, 5200070} {
			t.Errorf("rotation=%s: x %v, y %v", turn, a, b)
		}
	}
}

// TestAfterBrace checks that a value ends with its closing brace, as in GDAL, so that the fields after it are read.
func TestAfterBrace(t *testing.T) {
	d := openENVI(t, "description = {\nabc} ; a comment\nbyte order = 1\ndata type = 2")
	value, err := variable(d, "band_data").ReadAll(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	if got := binary.LittleEndian.Uint16(value.Data); got != 7 {
		t.Errorf("the first pixel is %d, want 7 of a big-endian file", got)
	}
}

// TestOtherUnits checks that there are no coordinates in a unit that no attribute says. The map info stays.
func TestOtherUnits(t *testing.T) {
	for info, want := range map[string]bool{
		"Geographic Lat/Lon, 1, 1, 10, 50, 0.1, 0.1, WGS-84, units=Seconds":                 true,
		"UTM, 1, 1, 500000, 5200000, 10, 20, 32, North, WGS-84, units=Feet":                 true,
		"Geographic Lat/Lon, 1, 1, 10, 50, 0.1, 0.1, WGS-84, units=Degrees":                 false,
		"Arbitrary, 1, 1, 10, 50, 0.1, 0.1":                                                 false,
		"UTM, 1, 1, 500000, 5200000, 10, 20, 32, North, WGS-84, units=Meters, rotation=180": false,
	} {
		d := openENVI(t, "data type = 2\nmap info = {"+info+"}")
		hasNone := variable(d, "x") == nil && variable(d, "y") == nil
		isKept := slices.ContainsFunc(d.Root.Attributes, func(a readers.Attribute) bool { return a.Name == "map_info" })
		if hasNone != want || want && !isKept {
			t.Errorf("%s: no coordinates %v, map_info %v", info, hasNone, isKept)
		}
	}
}

// TestHugeIgnored checks that a value that float32 does not have is no infinity.
func TestHugeIgnored(t *testing.T) {
	folder := t.TempDir()
	header := "ENVI\nsamples = 5\nlines = 2\nbands = 1\ndata type = 4\ndata ignore value = 1e50\n"
	// A folder with the name of the header is no data file.
	if err := errors.Join(os.WriteFile(filepath.Join(folder, "a.hdr"), []byte(header), 0o600), os.WriteFile(filepath.Join(folder, "a.dat"), make([]byte, 40), 0o600), os.Mkdir(filepath.Join(folder, "a"), 0o700)); err != nil {
		t.Fatal(err)
	}
	d, err := openFile(t, filepath.Join(folder, "a.hdr"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, a := range variable(d, "band_data").Attributes {
		names = append(names, a.Name)
	}
	if slices.Contains(names, "_FillValue") || !slices.Contains(names, "nodata") {
		t.Errorf("attributes %v", names)
	}
}
