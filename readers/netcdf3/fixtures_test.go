package netcdf3

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"varve/readers"
	"varve/readers/readertest"
	"varve/readers/source"
)

const fixtures = "../../fixtures/netcdf3"

// expected holds netcdf-c's description of a file, as generate.py writes it.
type expected struct {
	Format     string
	Attributes map[string]any
	Dimensions map[string][2]any // length, whether it is unlimited
	Variables  map[string]expectedVariable
}

type expectedVariable struct {
	DType      string
	Dims       []string
	Shape      []uint64
	Attributes map[string]any
	Values     string
}

func TestFixtures(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(fixtures, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]expected
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(fixtures, "*.nc"))
	if err != nil || len(files) != len(all) {
		t.Fatalf("%d files, %d expected (%v)", len(files), len(all), err)
	}
	for name, want := range all {
		t.Run(name, func(t *testing.T) { testFixture(t, name, want) })
	}
}

func testFixture(t *testing.T, name string, want expected) {
	ctx := context.Background()
	src, err := source.Open(ctx, filepath.Join(fixtures, name+".nc"))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	data, err := Format{}.Open(ctx, src)
	if err != nil {
		t.Fatal(err)
	}
	if len(data.Problems) > 0 {
		t.Errorf("problems: %v", data.Problems)
	}
	got := expected{
		Format: map[string]string{
			"netCDF-3 classic": "NETCDF3_CLASSIC", "netCDF-3 64-bit offset": "NETCDF3_64BIT_OFFSET", "netCDF-3 64-bit data": "NETCDF3_64BIT_DATA",
		}[data.Format],
		Attributes: plainAttributes(t, data.Root.Attributes, ""),
		Dimensions: map[string][2]any{},
		Variables:  map[string]expectedVariable{},
	}
	for _, d := range data.Root.Dimensions {
		got.Dimensions[d.Name] = [2]any{float64(d.Length), d.Unlimited}
	}
	for _, v := range data.Root.Variables {
		got.Variables[v.Name] = plainVariable(t, v)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func plainVariable(t *testing.T, v *readers.Variable) expectedVariable {
	out := expectedVariable{DType: plainType(v.Type), Dims: []string{}, Shape: append([]uint64{}, v.Shape...)}
	for _, d := range v.Dims {
		out.Dims = append(out.Dims, d.Name)
	}
	skip := ""
	if v.Type.Class == readers.String {
		skip = "_FillValue" // netCDF4-python gives it as bytes
	}
	out.Attributes = plainAttributes(t, v.Attributes, skip)
	value, err := v.ReadAll(context.Background(), 1<<20)
	if err != nil {
		t.Errorf("%s: %v", v.Path, err)
	}
	sum := sha256.Sum256(value.Data)
	out.Values = hex.EncodeToString(sum[:])
	if !reflect.DeepEqual(value.Shape, v.Shape) && len(v.Shape) > 0 {
		t.Errorf("%s: values have the shape %v, the variable %v", v.Path, value.Shape, v.Shape)
	}
	return out
}

func plainType(t *readers.Type) string {
	name := strings.TrimLeft(t.String(), "<>|")
	name, _, _ = strings.Cut(name, "{")
	return name
}

// plainAttributes converts attributes to the values that encoding/json decodes.
func plainAttributes(t *testing.T, list []readers.Attribute, skip string) map[string]any {
	out := map[string]any{}
	for _, a := range list {
		switch {
		case a.Name == skip:
		case a.Type.Class == readers.String:
			out[a.Name] = string(a.Texts[0])
		default:
			out[a.Name] = append([]any{plainType(a.Type)}, numbers(t, a.Value)...)
		}
	}
	return out
}

func numbers(t *testing.T, v readers.Value) []any {
	var out []any
	size := v.Type.Size
	if uint64(len(v.Data)) != v.Shape[0]*uint64(size) {
		t.Errorf("%d bytes for the shape %v of %v", len(v.Data), v.Shape, v.Type)
	}
	for b := v.Data; len(b) >= size; b = b[size:] {
		little := *v.Type
		little.Order = readers.LittleEndian
		bits := little.Uint64(b[:size])
		switch {
		case v.Type.Class == readers.Float && size == 4:
			out = append(out, float64(math.Float32frombits(uint32(bits))))
		case v.Type.Class == readers.Float:
			out = append(out, math.Float64frombits(bits))
		case v.Type.Signed:
			out = append(out, float64(int64(bits)))
		default:
			out = append(out, float64(bits))
		}
	}
	return out
}

func TestConformance(t *testing.T) {
	var samples []readertest.Sample
	// A shorter file with streaming records is a valid file with fewer records, so it is not listed
	// here.
	for _, name := range []string{"classic", "data64", "one_record_variable_i1", "no_records", "names", "nothing"} {
		data, err := os.ReadFile(filepath.Join(fixtures, name+".nc"))
		if err != nil {
			t.Fatal(err)
		}
		samples = append(samples, readertest.Sample{Name: name, Data: data})
	}
	readertest.Run(t, Info(), samples...)
}

func TestCutStream(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join(fixtures, "streaming.nc"))
	if err != nil {
		t.Fatal(err)
	}
	const records, recordSize = 4, 12 // the last four bytes of a record are b's
	start := len(whole) - records*recordSize
	for n := start; n <= len(whole); n++ {
		data, err := Format{}.Open(context.Background(), open(whole[:n]))
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprint((n - start) / recordSize)
		if got := fmt.Sprint(data.Root.Dimensions[0].Length); got != want || len(data.Problems) > 0 {
			t.Errorf("%d bytes: %s records, want %s; problems %v", n, got, want, data.Problems)
		}
	}
}
