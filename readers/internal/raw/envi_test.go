package raw

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
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
