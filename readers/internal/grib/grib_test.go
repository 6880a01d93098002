package grib_test

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	decode "varve/codec/grib"
	"varve/readers"
	"varve/readers/internal/grib"
	"varve/readers/readertest"
	"varve/readers/source"
)

const samples = "../../../fixtures/grib"

func sample(t testing.TB, name string) *source.Source {
	t.Helper()
	src, err := source.Open(t.Context(), filepath.Join(samples, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return src
}

// TestConformance holds the reader against samples of one message: in one of several, a damaged first message leaves a file of GRIB.
func TestConformance(t *testing.T) {
	var list []readertest.Sample
	for _, name := range []string{"columns.grib", "alternate.grib", "rotated.grib", "reduced1.grib"} {
		b, err := os.ReadFile(filepath.Join(samples, name))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, readertest.Sample{Name: name, Data: b})
	}
	readertest.Run(t, grib.Info(), list...)
}

// fact is what ecCodes reads of a field.
type fact struct {
	ShortName, StepRange string
	Level                float64
	Points               []struct {
		At       int
		Value    *float64
		Lat, Lon float64
	}
}

// TestAsEcCodes compares names, values and coordinates of each field with what ecCodes says. Of rows that go to and fro ecCodes gives
// coordinates in straight rows, so that these are compared in the first row only.
func TestAsEcCodes(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(samples, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var facts map[string][]fact
	if err := json.Unmarshal(raw, &facts); err != nil {
		t.Fatal(err)
	}
	if len(facts) < 11 {
		t.Fatalf("%d files", len(facts))
	}
	for name, fields := range facts {
		f, err := grib.OpenFile(t.Context(), sample(t, name))
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Fields) != len(fields) || len(f.Problems) > 0 {
			t.Fatalf("%s: %d fields, want %d; problems %v", name, len(f.Fields), len(fields), f.Problems)
		}
		for i, want := range fields {
			checkField(t, name, f, f.Fields[i], want)
		}
	}
}

func checkField(t *testing.T, name string, f *grib.File, field *grib.Field, want fact) {
	t.Helper()
	level, _ := field.Level()
	step, _ := field.Step()
	if got := field.Names().ShortName; got != want.ShortName || step.Range() != want.StepRange || level.Value != want.Level {
		t.Errorf("%s: %s at %g, step %s; want %s at %g, step %s", name, got, level.Value, step.Range(), want.ShortName, want.Level, want.StepRange)
	}
	packed, grid, err := f.Read(t.Context(), field)
	if err != nil {
		t.Fatal(err)
	}
	values, lat, lon := make([]float64, grid.Points), make([]float64, grid.Points), make([]float64, grid.Points)
	if err := decode.Decode(values, packed); err != nil {
		t.Fatal(err)
	}
	if err := grid.Coordinates(lat, lon); err != nil {
		t.Fatal(err)
	}
	for _, p := range want.Points {
		if v := values[p.At]; p.Value == nil != math.IsNaN(v) || p.Value != nil && v != *p.Value {
			t.Errorf("%s %s: value %d is %v, want %v", name, want.ShortName, p.At, v, p.Value)
		}
		if grid.Alternates() && p.At > 0 {
			continue
		}
		if math.Abs(lat[p.At]-p.Lat) > 2e-6 || math.Abs(math.Remainder(lon[p.At]-p.Lon, 360)) > 2e-6 {
			t.Errorf("%s: point %d is at %g, %g; want %g, %g", name, p.At, lat[p.At], lon[p.At], p.Lat, p.Lon)
		}
	}
}

func floats(t *testing.T, data *readers.Dataset, path string) ([]float64, []uint64) {
	t.Helper()
	v := data.Variable(path)
	if v == nil {
		t.Fatalf("no %s", path)
	}
	value, err := v.ReadAll(t.Context(), 1<<24)
	if err != nil {
		t.Fatal(err)
	}
	var out []float64
	for b := value.Data; len(b) > 0; b = b[v.Type.Size:] {
		switch {
		case v.Type.Size == 4:
			out = append(out, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
		case v.Type.Class == readers.Float:
			out = append(out, math.Float64frombits(binary.LittleEndian.Uint64(b)))
		default:
			out = append(out, float64(int64(binary.LittleEndian.Uint64(b))))
		}
	}
	return out, value.Shape
}

// TestCubes: fields become variables along steps and levels, and the one that is missing is NaN.
func TestCubes(t *testing.T) {
	for _, name := range []string{"levels.grib", "levels1.grib"} {
		data, err := grib.Format{}.Open(t.Context(), sample(t, name))
		if err != nil || len(data.Problems) > 0 {
			t.Fatal(err, data.Problems)
		}
		u, shape := floats(t, data, "/u")
		if want := []uint64{1, 2, 3, 3, 4}; !equal(shape, want) {
			t.Fatalf("%s: shape %v, want %v", name, shape, want)
		}
		for field := range 6 {
			hole := field == 4 // step 6, 850 hPa
			if math.IsNaN(u[12*field]) != hole {
				t.Errorf("%s: field %d begins with %v", name, field, u[12*field])
			}
		}
		if levels, _ := floats(t, data, "/isobaricInhPa"); !equal(levels, []float64{1000, 850, 500}) {
			t.Errorf("%s: levels %v", name, levels)
		}
		if steps, _ := floats(t, data, "/step"); !equal(steps, []float64{0, 6}) {
			t.Errorf("%s: steps %v", name, steps)
		}
		if valid, _ := floats(t, data, "/valid_time"); !equal(valid, []float64{1704067200, 1704067200 + 6*3600}) {
			t.Errorf("%s: valid times %v", name, valid)
		}
	}
}

// TestScanning: points by columns and rows that go to and fro come out as rows that go all one way.
func TestScanning(t *testing.T) {
	data, err := grib.Format{}.Open(t.Context(), sample(t, "columns.grib"))
	if err != nil {
		t.Fatal(err)
	}
	got, shape := floats(t, data, "/t")
	if !equal(shape, []uint64{1, 1, 3, 4}) {
		t.Fatalf("shape %v", shape)
	}
	for k := range 12 {
		want := float64(float32(math.Round((math.Sin(float64(k)/3)*10+280)*100) / 100))
		if v := got[k%3*4+k/3]; math.Abs(v-want) > 0.01 {
			t.Errorf("value %d of the message is %v, want %v", k, v, want)
		}
	}
	if data, err = (grib.Format{}).Open(t.Context(), sample(t, "alternate.grib")); err != nil {
		t.Fatal(err)
	}
	got, _ = floats(t, data, "/t2m")
	lon, _ := floats(t, data, "/longitude")
	for row := range 4 {
		for i := range 5 {
			k := 5*row + i
			if row%2 == 1 {
				k = 5*row + 4 - i
			}
			if want := math.Sin(float64(k)/3)*10 + 280; math.Abs(got[5*row+i]-want) > 0.01 {
				t.Errorf("row %d, point %d: %v, want %v", row, i, got[5*row+i], want)
			}
			if i > 0 && lon[5*row+i] <= lon[5*row+i-1] {
				t.Errorf("row %d: longitudes do not rise", row)
			}
		}
	}
}

func equal[T comparable](a, b []T) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
