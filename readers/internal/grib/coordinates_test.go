package grib_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"varve/readers"
	"varve/readers/internal/grib"
)

// sigmaLayer returns a message of a layer between two sigma levels, in hundredths.
func sigmaLayer(s [8][]byte, top, bottom byte) []byte {
	product := bytes.Clone(s[4])
	copy(product[22:], []byte{104, 2, 0, 0, 0, top, 104, 2, 0, 0, 0, bottom})
	return message2(s[1], s[3], product, s[5], s[6], s[7])
}

// TestLayersWithOneTop reads the layers of relative humidity of GFS: of the layers that begin at 0.44, the thinner belongs to the first
// variable, and no variable is empty at any layer.
func TestLayersWithOneTop(t *testing.T) {
	s := sections2(t, "levels.grib")
	file := slices.Concat(sigmaLayer(s, 33, 100), sigmaLayer(s, 44, 72), sigmaLayer(s, 44, 100), sigmaLayer(s, 72, 94))
	data, err := grib.Format{}.Open(t.Context(), memory("layers", file))
	if err != nil || len(data.Problems) > 0 {
		t.Fatal(err, data.Problems)
	}
	for name, want := range map[string][]float64{"/sigmaLayer_bnds": {0.33, 1, 0.44, 0.72, 0.72, 0.94}, "/sigmaLayer_2_bnds": {0.44, 1}} {
		if bounds, _ := floats(t, data, name); !slices.EqualFunc(bounds, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
			t.Errorf("%s %v, want %v", name, bounds, want)
		}
	}
	for name, want := range map[string]uint64{"/t": 3, "/t_2": 1} {
		values, shape := floats(t, data, name)
		if shape[1] != want || slices.ContainsFunc(values, math.IsNaN) {
			t.Errorf("%s has the shape %d, want %d layers, all with values", name, shape, want)
		}
	}
}

// gaussian returns the one message of reduced.grib with some octets of its grid definition replaced.
func gaussian(t *testing.T, replace map[int]uint32) []byte {
	s := sections2(t, "reduced.grib")
	grid := bytes.Clone(s[3])
	for octet, n := range replace {
		binary.BigEndian.PutUint32(grid[octet-1:], n)
	}
	return message2(s[1], grid, s[4], s[5], s[6], s[7])
}

// TestWholeRows reads the points of a reduced Gaussian grid whose last longitude is before the end of its longest row, as ARPEGE writes
// it: all rows are whole.
func TestWholeRows(t *testing.T) {
	const lastLongitude = 60 // octet
	usual, err := grib.Format{}.Open(t.Context(), memory("usual", gaussian(t, nil)))
	if err != nil {
		t.Fatal(err)
	}
	arpege, err := grib.Format{}.Open(t.Context(), memory("arpege", gaussian(t, map[int]uint32{lastLongitude: 340_000_000})))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/latitude", "/longitude"} {
		want, _ := floats(t, usual, name)
		if got, _ := floats(t, arpege, name); !slices.Equal(got, want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

// TestCoordinatesThatCannotBeComputed checks that such coordinates are problems when a file is opened, and the values can be read.
func TestCoordinatesThatCannotBeComputed(t *testing.T) {
	stretched := sections2(t, "reduced.grib")
	grid := bytes.Clone(stretched[3])
	grid[13] = 43
	grid = slices.Concat(grid[:72], make([]byte, 24), grid[72:]) // the pole of stretching, and the rotation
	binary.BigEndian.PutUint32(grid, uint32(len(grid)))
	for name, c := range map[string]struct {
		file []byte
		want error
	}{
		"stretched": {message2(stretched[1], grid, stretched[4], stretched[5], stretched[6], stretched[7]), errors.ErrUnsupported},
		"no N":      {gaussian(t, map[int]uint32{68: 0}), readers.ErrCorrupt},
	} {
		data, err := grib.Format{}.Open(t.Context(), memory(name, c.file))
		if err != nil {
			t.Fatal(err)
		}
		if len(data.Problems) != 2 || data.Problems[0].Path != "/latitude" || data.Problems[1].Path != "/longitude" || !errors.Is(data.Problems[0].Err, c.want) {
			t.Errorf("%s: problems %v, want /latitude and /longitude", name, data.Problems)
		}
		for _, v := range data.Root.Variables {
			floats(t, data, v.Path)
		}
	}
}

// TestMemberZero reads a field of edition 1 whose local section states member 0 of no ensemble: as in cfgrib, number is a scalar coordinate.
func TestMemberZero(t *testing.T) {
	for name, want := range map[string]bool{"levels.grib": false, "levels1.grib": true} {
		data, err := grib.Format{}.Open(t.Context(), sample(t, name))
		if err != nil {
			t.Fatal(err)
		}
		v := data.Variable("/number")
		if (v != nil) != want || v != nil && len(v.Shape) > 0 {
			t.Errorf("%s: number is %v, want it: %v", name, v, want)
		}
	}
}
