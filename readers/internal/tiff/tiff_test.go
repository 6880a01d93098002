package tiff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"varve/readers"
	"varve/readers/readertest"
	"varve/readers/source"
)

const fixtures = "../../../fixtures/tiff"

// fact is what GDAL and tifffile read from a file; fixtures/tiff/generate.py has the rules.
type fact struct {
	DType     string    `json:"dtype"`
	Shape     []uint64  `json:"shape"`
	SHA256    string    `json:"sha256"`
	Transform []float64 `json:"transform"`
	EPSG      int       `json:"epsg"`
	Pages     int       `json:"pages"`
}

func expected(t *testing.T) (facts map[string]fact) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(fixtures, "expected.json"))
	if err == nil {
		err = json.Unmarshal(raw, &facts)
	}
	if err != nil || len(facts) < 16 {
		t.Fatal(len(facts), err)
	}
	return facts
}

func open(t *testing.T, name string) *source.Source {
	t.Helper()
	src, err := source.Open(t.Context(), filepath.Join(fixtures, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	})
	return src
}

// TestGDAL compares the first directory of each file with what GDAL reads.
func TestGDAL(t *testing.T) {
	for name, want := range expected(t) {
		doc := map[string]any{}
		if err := Describe(t.Context(), open(t, name), &readers.DescribeOptions{Values: true}, doc); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		ifds := doc["tiff"].(facts)["ifds"].([]facts)
		values := ifds[0]["values"].(facts)
		if values["dtype"] != want.DType || !slices.Equal(values["shape"].([]uint64), want.Shape) || values["sha256"] != want.SHA256 {
			t.Errorf("%s: %v, GDAL reads %+v", name, values, want)
		}
		if len(ifds) < want.Pages {
			t.Errorf("%s: %d directories, tifffile has %d pages", name, len(ifds), want.Pages)
		}
		geo, _ := ifds[0]["geo"].(facts)
		if want.EPSG == 0 {
			continue
		}
		transform, _ := geo["transform"].([]float64)
		near := len(transform) == 6
		for k := range transform {
			near = near && math.Abs(transform[k]-want.Transform[k]) < 1e-9
		}
		if !near || geo["crs"].(facts)["epsg"] != want.EPSG {
			t.Errorf("%s: %v, GDAL has %+v", name, geo, want)
		}
	}
}

// TestVariables checks the variables of files and their chunks.
func TestVariables(t *testing.T) {
	for name, want := range map[string]string{
		"strips_lzw.tif":       "/band_data <i2 [y=37 x=53] chunked grid; /x <f8 [x=53] inline; /y <f8 [y=37] inline; /spatial_ref <i4 [] inline; ",
		"tiles_deflate.tif":    "/band_data <f4 [y=37 x=53] chunked 32x16; /x <f8 [x=53] inline; /y <f8 [y=37] inline; /spatial_ref <i4 [] inline; ",
		"tiles_zstd_bands.tif": "/band_data <u2 [y=37 x=53 band=3] chunked 32x16x3; /band <i4 [band=3] inline; /x <f8 [x=53] inline; /y <f8 [y=37] inline; /spatial_ref <i4 [] inline; ",
		"planes_packbits.tif":  "/band_data |u1 [band=2 y=37 x=53] chunked grid; /band <i4 [band=2] inline; ",
		"complex.tif":          "/band_data complex<<f4> [y=37 x=53] contiguous; ",
		"overviews.tif": "/band_data |u1 [y=64 x=96] chunked 32x32; /x <f8 [x=96] inline; /y <f8 [y=64] inline; /spatial_ref <i4 [] inline; " +
			"/overview_1/band_data |u1 [y=32 x=48] chunked 128x128; /overview_1/x <f8 [x=48] inline; /overview_1/y <f8 [y=32] inline; /overview_1/spatial_ref <i4 [] inline; ",
		"pages.tif":   "/band_data |u1 [page=3 y=20 x=30] chunked 1x20x30; ",
		"imagej.tif":  "/band_data <u2 [time=2 z=3 y=8 x=9] chunked 1x1x8x9; ",
		"ome.ome.tif": "/band_data <u2 [time=2 channel=3 y=8 x=9] chunked 1x1x8x9; ",
	} {
		data, err := reader{}.Open(t.Context(), open(t, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := ""
		data.Root.Walk(func(g *readers.Group) bool {
			for _, v := range g.Variables {
				dims := make([]string, 0, len(v.Dims))
				for _, d := range v.Dims {
					dims = append(dims, fmt.Sprint(d.Name, "=", d.Length))
				}
				got += fmt.Sprint(v.Path, " ", v.Type, " ", dims, " ", v.Storage.Layout)
				for i, n := range v.Storage.ChunkShape {
					got += fmt.Sprint([]string{" ", "x"}[min(i, 1)], n)
				}
				if v.Storage.Grid != nil {
					got += " grid"
				}
				got += "; "
			}
			return true
		})
		if got != want || len(data.Problems) > 0 {
			t.Errorf("%s: %s, %v, want %s", name, got, data.Problems, want)
		}
	}
}

// TestPages compares all values of stacks: page after page.
func TestPages(t *testing.T) {
	for name, count := range map[string]int{"imagej.tif": 432, "ome.ome.tif": 432} {
		data, err := reader{}.Open(t.Context(), open(t, name))
		if err != nil {
			t.Fatal(err)
		}
		value, err := data.Root.Variables[0].ReadAll(t.Context(), 1<<20)
		want := make([]byte, 0, 2*count)
		for i := range count {
			want = append(want, byte(i), byte(i>>8))
		}
		if err != nil || !bytes.Equal(value.Data, want) {
			t.Errorf("%s: %v, %v", name, value.Data, err)
		}
	}
}

// TestAttributes checks scale, units, missing values and the reference system.
func TestAttributes(t *testing.T) {
	data, err := reader{}.Open(t.Context(), open(t, "scaled_point.tif"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, v := range data.Root.Variables {
		for _, a := range append(v.Attributes, data.Root.Attributes...) {
			if len(a.Texts) > 0 {
				got[v.Name+":"+a.Name] = string(a.Texts[0])
			} else if a.Type.Class == readers.Float && a.Type.Size == 8 {
				got[v.Name+":"+a.Name] = fmt.Sprint(a.Type.Float64(a.Data))
			}
		}
	}
	for name, want := range map[string]string{
		"band_data:scale_factor": "0.1", "band_data:add_offset": "-3", "band_data:units": "m", "band_data:grid_mapping": "spatial_ref", "band_data:SOURCE": "made",
		"x:units": "degrees_east", "y:standard_name": "latitude", "spatial_ref:grid_mapping_name": "latitude_longitude", "spatial_ref:semi_major_axis": "6.378137e+06",
		"spatial_ref:AREA_OR_POINT": "Point",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	fill := func(name string) []byte {
		data, err := reader{}.Open(t.Context(), open(t, name))
		if err != nil {
			t.Fatal(err)
		}
		return data.Root.Variables[0].Fill.Value
	}
	if got := fill("strips_lzw.tif"); !bytes.Equal(got, []byte{0x19, 0xfc}) {
		t.Errorf("the fill value is %x, want -999", got)
	}
	if got := fill("scaled_point.tif"); got != nil {
		t.Errorf("the fill value is %x, want none", got)
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"/a/T32TQM_20200105T101321_B04_10m.tif":                          "B04",
		"s3://b/LC08_L2SP_193027_20200116_20200824_02_T1_SR_B4.TIF":      "SR_B4",
		"https://x/LC08_L2SP_193027_20200116_02_T1_QA_PIXEL.TIF?sig=abc": "QA_PIXEL",
		"HLS.L30.T32TQM.2020005T101321.v2.0.B8A.tif":                     "B8A",
		"chirps-v2.0.2020.01.tif":                                        pixels,
		"subset.tif":                                                     pixels,
	} {
		if got := variableName(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestConformance(t *testing.T) {
	samples := make([]readertest.Sample, 0, 4)
	for _, name := range []string{"mask_bits.tif", "webp.tif", "pages.tif", "strips_lzw.tif"} {
		data, err := os.ReadFile(filepath.Join(fixtures, name))
		if err != nil {
			t.Fatal(err)
		}
		samples = append(samples, readertest.Sample{Name: name, Data: data})
	}
	readertest.Run(t, Info(), samples...)
}

// FuzzOpen opens any bytes, and reads all values of what it finds.
func FuzzOpen(f *testing.F) {
	names, _ := filepath.Glob(filepath.Join(fixtures, "*.tif"))
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dataset, err := reader{}.Open(t.Context(), source.New("fuzz", &readertest.Memory{Data: data}))
		if err != nil {
			return
		}
		dataset.Root.Walk(func(g *readers.Group) bool {
			for _, v := range g.Variables {
				_, _ = v.ReadAll(t.Context(), 1<<20)
			}
			return true
		})
	})
}
