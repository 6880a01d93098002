package tiff

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/readers"
	"varve/readers/internal/crs"
	"varve/readers/source"
)

// made returns the first directory of a little-endian file with these tags: []uint16, []float64 or string.
func made(t *testing.T, tags map[uint16]any) *directory {
	t.Helper()
	le := binary.LittleEndian
	var numbers []uint16
	for tag := range tags {
		numbers = append(numbers, tag)
	}
	slices.Sort(numbers)
	b := le.AppendUint16([]byte("II*\x00\x08\x00\x00\x00"), uint16(len(numbers)))
	tail := make([]byte, 0)
	at := 8 + 2 + 12*len(numbers) + 4
	for _, tag := range numbers {
		var typ fieldType
		var value []byte
		switch v := tags[tag].(type) {
		case []uint16:
			typ = shortField
			for _, n := range v {
				value = le.AppendUint16(value, n)
			}
		case []float64:
			typ = doubleField
			for _, f := range v {
				value = le.AppendUint64(value, math.Float64bits(f))
			}
		case string:
			typ, value = asciiField, []byte(v)
		}
		value = append(value, make([]byte, max(0, 5-len(value)))...) // so that no value is in its entry
		b = le.AppendUint16(le.AppendUint16(b, tag), uint16(typ))
		b = le.AppendUint32(le.AppendUint32(b, uint32(uint64(len(value))/typ.size())), uint32(at+len(tail)))
		tail = append(tail, value...)
	}
	b = append(le.AppendUint32(b, 0), tail...)
	name := filepath.Join(t.TempDir(), "made.tif")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	src, err := source.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	f, first, err := openFile(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	list, err := f.directories(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	return list[0]
}

// point are GeoKeys that say that pixels are points.
var point = []uint16{1, 1, 0, 1, rasterTypeKey, 0, 1, pixelIsPoint}

func TestTransform(t *testing.T) {
	scale, tie := []float64{10, 20, 0}, []float64{0, 0, 0, 1000, 2000, 0}
	matrix := []float64{2, 1, 0, 100, 3, -4, 0, 200, 0, 0, 0, 0, 0, 0, 0, 1}
	for _, c := range []struct {
		name string
		tags map[uint16]any
		want []float64
	}{
		{"scale and tie point", map[uint16]any{modelPixelScale: scale, modelTiepoint: tie}, []float64{1000, 10, 0, 2000, 0, -20}},
		{"tie point inside", map[uint16]any{modelPixelScale: scale, modelTiepoint: []float64{3, 4, 0, 1000, 2000, 0}}, []float64{970, 10, 0, 2080, 0, -20}},
		{"pixel is point", map[uint16]any{modelPixelScale: scale, modelTiepoint: tie, geoKeyDirectory: point}, []float64{995, 10, 0, 2010, 0, -20}},
		{"negative height", map[uint16]any{modelPixelScale: []float64{10, -20, 0}, modelTiepoint: tie}, []float64{1000, 10, 0, 2000, 0, -20}},
		{"matrix", map[uint16]any{modelTransform: matrix}, []float64{100, 2, 1, 200, 3, -4}},
		{"matrix, pixel is point", map[uint16]any{modelTransform: matrix, geoKeyDirectory: point}, []float64{98.5, 2, 1, 200.5, 3, -4}},
		{"scale before matrix", map[uint16]any{modelPixelScale: scale, modelTiepoint: tie, modelTransform: matrix}, []float64{1000, 10, 0, 2000, 0, -20}},
		{"no tie point", map[uint16]any{modelPixelScale: scale}, nil},
		{"scale 0", map[uint16]any{modelPixelScale: []float64{0, 0, 0}, modelTiepoint: tie[:0]}, nil},
		{"not a number", map[uint16]any{modelPixelScale: []float64{math.NaN(), 1, 0}, modelTiepoint: tie}, nil},
		{"infinite", map[uint16]any{modelPixelScale: []float64{1, math.Inf(1), 0}, modelTiepoint: tie}, nil},
		{"short matrix", map[uint16]any{modelTransform: matrix[:15]}, nil},
		{"identity", map[uint16]any{modelTransform: []float64{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}}, nil},
	} {
		p, err := made(t, c.tags).place(t.Context())
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []float64
		if p != nil && p.transform != nil {
			got = p.transform[:]
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if p == nil || got == nil {
			continue
		}
		x, y, ok := p.centres()
		switch {
		case ok == p.isRotated():
			t.Errorf("%s: centres of a rotated transform", c.name)
		case ok && (x.at(2) != got[0]+2.5*got[1] || y.at(3) != got[3]+3.5*got[5]):
			t.Errorf("%s: centres %v, %v", c.name, x, y)
		}
		if s := p.scaled(2, 3); s.transform[0] != got[0] || s.transform[1] != 2*got[1] || s.transform[2] != 3*got[2] || s.transform[5] != 3*got[5] {
			t.Errorf("%s: overview has %v", c.name, *s.transform)
		}
	}
}

func TestControlPoints(t *testing.T) {
	ties := []float64{1, 2, 0, 10, 20, 30, 3, 4, 0, 50, 60, 70}
	for _, c := range []struct {
		tags map[uint16]any
		want [][5]float64
	}{
		{map[uint16]any{modelTiepoint: ties}, [][5]float64{{2, 1, 10, 20, 30}, {4, 3, 50, 60, 70}}},
		{map[uint16]any{modelTiepoint: ties, geoKeyDirectory: point}, [][5]float64{{2.5, 1.5, 10, 20, 30}, {4.5, 3.5, 50, 60, 70}}},
		{map[uint16]any{modelTiepoint: ties[:11]}, [][5]float64{{2, 1, 10, 20, 30}}},
		{map[uint16]any{modelTiepoint: ties, modelPixelScale: []float64{1, 1, 0}}, nil},
	} {
		p, err := made(t, c.tags).place(t.Context())
		if err != nil || !slices.Equal(p.gcps, c.want) {
			t.Errorf("%+v, %v; want %v", p, err, c.want)
		}
	}
	if _, err := made(t, map[uint16]any{modelTiepoint: make([]float64, 6*(maxGCPs+1))}).place(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}

func TestRPC(t *testing.T) {
	list := make([]float64, 92)
	for i := range list {
		list[i] = float64(i)
	}
	p, err := made(t, map[uint16]any{rpcCoefficients: list}).place(t.Context())
	if err != nil || p.rpc.lineOffset != 2 || p.rpc.heightScale != 11 || p.rpc.lineNumerator[0] != 12 || p.rpc.sampleDenom[19] != 91 {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := made(t, map[uint16]any{rpcCoefficients: list[:91]}).place(t.Context()); !errors.Is(err, readers.ErrCorrupt) {
		t.Error(err)
	}
	if p, err := made(t, map[uint16]any{imageWidth: []uint16{1}}).place(t.Context()); p != nil || err != nil {
		t.Errorf("%+v, %v", p, err)
	}
}

// keysOf returns GeoKeys of version 1.0 with these values: int, float64, []float64 or string.
func keysOf(values map[uint16]any) *geoKeys {
	k := &geoKeys{values: map[uint16]any{}}
	for key, v := range values {
		if n, ok := v.(int); ok {
			v = uint16(n)
		}
		k.values[key] = v
	}
	return k
}

// TestSystem checks the systems of GeoKeys. The rules are GDAL's, but angles of grid mappings are in degrees, also those in grads.
func TestSystem(t *testing.T) {
	const gcs = "GCS Name = mine|Datum = my datum|Ellipsoid = my ellipsoid|Primem = Greenwich"
	const utm = `ESRI PE String = PROJCS["mine",GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137.0,298.257223563]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],` +
		`PROJECTION["Transverse_Mercator"],PARAMETER["Central_Meridian",9.0],UNIT["Meter",1.0]]`
	for _, c := range []struct {
		name string
		keys map[uint16]any
		kind crs.Kind
		code int
		want map[string]any
	}{
		{"projected code", map[uint16]any{1024: 1, 3072: 32633}, crs.Projected, 32633, map[string]any{"longitude_of_central_meridian": 15.0}},
		{"no model type", map[uint16]any{3072: 32633}, crs.Projected, 32633, nil},
		{"code and PE string", map[uint16]any{1024: 32767, 3072: 32633, 3073: utm}, crs.Projected, 32633, nil},
		{"PE string", map[uint16]any{1024: 32767, 3073: utm}, crs.Projected, 0, map[string]any{"grid_mapping_name": "transverse_mercator", "longitude_of_central_meridian": 9.0}},
		{"damaged PE string", map[uint16]any{1024: 32767, 3073: utm[:60]}, crs.Engineering, 0, nil},
		{"code in another unit", map[uint16]any{1024: 1, 3072: 32633, 3076: 9002}, crs.Projected, 0, map[string]any{"false_easting": 500000 / 0.3048}},
		{"geographic code", map[uint16]any{1024: 2, 2048: 4269}, crs.Geographic, 4269, map[string]any{"inverse_flattening": 298.257222101}},
		{"3D code in the vertical key", map[uint16]any{1024: 2, 2048: 4326, 4096: 4979}, crs.Geographic, 4979, nil},
		{"heights of version 1.0", map[uint16]any{1024: 1, 3072: 32633, 4096: 5773}, crs.Projected, 32633, nil},
		{"own datum", map[uint16]any{1024: 2, 2048: 32767, 2049: gcs, 2050: 32767, 2057: 6371000.0, 2058: 6371000.0}, crs.Geographic, 0,
			map[string]any{"geographic_crs_name": "mine", "horizontal_datum_name": "my datum", "reference_ellipsoid_name": "my ellipsoid", "semi_major_axis": 6371000.0, "inverse_flattening": 0.0}},
		{"ellipsoid by code", map[uint16]any{1024: 2, 2056: 7004}, crs.Geographic, 0, map[string]any{"reference_ellipsoid_name": "Bessel 1841", "semi_major_axis": 6377397.155}},
		{"datum by code, other axes", map[uint16]any{1024: 2, 2050: 6269, 2057: 6378000.0, 2059: 300.0}, crs.Geographic, 0, map[string]any{"horizontal_datum_name": "North American Datum 1983", "semi_major_axis": 6378000.0}},
		{"nothing but the model", map[uint16]any{1024: 2}, crs.Geographic, 0, map[string]any{"semi_major_axis": 6378137.0}},
		{"shift of an own datum", map[uint16]any{1024: 2, 2049: gcs, 2057: 6377563.396, 2059: 299.3249646, 2062: []float64{446, -125, 542}}, crs.Geographic, 0, map[string]any{"towgs84": []float64{446, -125, 542, 0, 0, 0, 0}}},
		{"shift of a known datum", map[uint16]any{1024: 2, 2048: 4277, 2062: []float64{446, -125, 542}}, crs.Geographic, 4277, map[string]any{"towgs84": nil}},
		{"conversion by code in feet", map[uint16]any{1024: 1, 2048: 4326, 3074: 16033, 3076: 9003}, crs.Projected, 0, map[string]any{"false_easting": 500000 / 0.30480060960121924}},
		{"Albers", map[uint16]any{1024: 1, 2048: 4326, 3075: 11, 3078: 29.5, 3079: 45.5, 3080: -96.0, 3081: 23.0}, crs.Projected, 0,
			map[string]any{"grid_mapping_name": "albers_conical_equal_area", "standard_parallel": []float64{29.5, 45.5}, "longitude_of_central_meridian": -96.0, "latitude_of_projection_origin": 23.0}},
		{"Mercator with a parallel", map[uint16]any{1024: 1, 2048: 4326, 3075: 7, 3078: 20.0, 3080: 5.0}, crs.Projected, 0, map[string]any{"grid_mapping_name": "mercator", "standard_parallel": 20.0}},
		{"polar stereographic", map[uint16]any{1024: 1, 2048: 4326, 3075: 15, 3081: -71.0, 3095: 10.0}, crs.Projected, 0, map[string]any{"grid_mapping_name": "polar_stereographic", "standard_parallel": -71.0, "straight_vertical_longitude_from_pole": 10.0}},
		{"polar stereographic at the pole", map[uint16]any{1024: 1, 2048: 4326, 3075: 15, 3081: 90.0, 3092: 0.994}, crs.Projected, 0, map[string]any{"latitude_of_projection_origin": 90.0, "scale_factor_at_projection_origin": 0.994}},
		{"equidistant on a sphere", map[uint16]any{1024: 1, 2057: 3396190.0, 2058: 3396190.0, 3075: 17, 3088: 180.0}, crs.Projected, 0, map[string]any{"grid_mapping_name": nil}},
		{"grads", map[uint16]any{1024: 1, 2048: 4807, 3075: 9, 3080: 0.0, 3081: 52.0, 3092: 0.9998}, crs.Projected, 0, map[string]any{"standard_parallel": 46.8}},
		{"web mercator by name", map[uint16]any{1024: 1, 2048: 4326, 3073: "WGS_1984_Web_Mercator", 3075: 7, 3092: 1.0}, crs.Projected, 0, map[string]any{"grid_mapping_name": nil}},
		{"ESRI's name of a code", map[uint16]any{1024: 1, 1026: "PCS Name = WGS_1984_UTM_Zone_33N", 2048: 4326, 3074: 16033}, crs.Projected, 32633, nil},
		{"no projection", map[uint16]any{1024: 1, 3073: "mine"}, crs.Engineering, 0, nil},
		{"no model", map[uint16]any{1025: 1, 1026: "mine"}, crs.Engineering, 0, nil},
		{"numbers that are none", map[uint16]any{1024: 1, 2048: 4326, 2057: math.NaN(), 2059: math.Inf(1), 3075: 1, 3080: math.NaN(), 3081: 1e300, 3076: 32767, 3077: -1.0}, crs.Projected, 0,
			map[string]any{"semi_major_axis": 6378137.0, "longitude_of_central_meridian": 0.0, "latitude_of_projection_origin": 0.0}},
		{"types that are wrong", map[uint16]any{1024: 1.0, 3072: "32633", 2048: []float64{4326}, 1026: 5}, crs.Engineering, 0, nil},
	} {
		s := keysOf(c.keys).system()
		if s.Kind != c.kind || s.Code != c.code {
			t.Errorf("%s: kind %d, code %d; want %d, %d: %s", c.name, s.Kind, s.Code, c.kind, c.code, s.WKT())
		}
		checkMapping(t, c.name, s, c.want)
	}
}

// checkMapping compares some attributes of a grid mapping. Numbers may differ by rounding.
func checkMapping(t *testing.T, name string, s *crs.System, want map[string]any) {
	t.Helper()
	got := map[string]any{}
	for _, a := range s.GridMapping() {
		got[a.Name] = a.Value
	}
	numbers := func(v any) []float64 {
		if f, ok := v.(float64); ok {
			return []float64{f}
		}
		list, _ := v.([]float64)
		return list
	}
	for key, w := range want {
		a, b := numbers(w), numbers(got[key])
		near := slices.EqualFunc(a, b, func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a)) })
		if !near || a == nil && w != got[key] {
			t.Errorf("%s: %s is %v, want %v", name, key, got[key], w)
		}
	}
}

func TestHeights(t *testing.T) {
	for _, c := range []struct {
		keys                       map[uint16]any
		code, horizontal, vertical int
		datum                      string
	}{
		{map[uint16]any{1024: 2, 2048: 4326, 4096: 5773}, 9707, 4326, 5773, "EGM96 geoid"},
		{map[uint16]any{1024: 1, 3072: 32633, 4096: 5773}, 0, 32633, 5773, "EGM96 geoid"},
		{map[uint16]any{1024: 1, 3072: 32633, 4096: 32767, 4097: "mine", 4098: 5171, 4099: 9002}, 0, 32633, 0, "EGM96 geoid"},
		{map[uint16]any{1024: 1, 3072: 32633, 4099: 9001}, 0, 32633, 0, "unknown"},
	} {
		k := keysOf(c.keys)
		k.minor = 1
		s := k.system()
		if s.Kind != crs.Compound || s.Code != c.code || s.Parts[0].Code != c.horizontal || s.Parts[1].Code != c.vertical || s.Parts[1].Datum.Name != c.datum {
			t.Errorf("%v: %s", c.keys, s.WKT())
		}
	}
}

// TestGeoKeysRefuseDamage checks that damaged GeoKeys are left out, and the others read.
func TestGeoKeysRefuseDamage(t *testing.T) {
	doubles, text := []float64{1.5, 2.5}, []byte("first|second|\x00third")
	for _, c := range []struct {
		name string
		list []uint64
		want map[uint16]any
	}{
		{"all kinds", []uint64{1, 1, 0, 4, 1024, 0, 1, 7, 2057, 34736, 1, 1, 2062, 34736, 2, 0, 1026, 34737, 6, 0}, map[uint16]any{1024: uint16(7), 2057: 2.5, 2062: doubles, 1026: "first"}},
		{"text with a NUL", []uint64{1, 1, 0, 1, 1026, 34737, 19, 6}, map[uint16]any{1026: "second"}},
		{"more keys than there are", []uint64{1, 1, 0, 65535, 1024, 0, 1, 7}, map[uint16]any{1024: uint16(7)}},
		{"fewer keys", []uint64{1, 1, 0, 0, 1024, 0, 1, 7}, nil},
		{"part of a key", []uint64{1, 1, 0, 2, 1024, 0, 1, 7, 1025, 0}, map[uint16]any{1024: uint16(7)}},
		{"doubles outside", []uint64{1, 1, 0, 3, 1, 34736, 1, 2, 2, 34736, 3, 0, 3, 34736, math.MaxUint64, 1}, nil},
		{"no doubles", []uint64{1, 1, 0, 1, 1, 34736, 0, 0}, nil},
		{"text outside", []uint64{1, 1, 0, 3, 1, 34737, 5, 100, 2, 34737, math.MaxUint64, 13, 3, 34737, 1, math.MaxUint64}, map[uint16]any{1: "", 2: "", 3: ""}},
		{"the directory itself", []uint64{1, 1, 0, 1, 1024, 34735, 1, 0}, nil},
		{"a key twice", []uint64{1, 1, 0, 2, 1024, 0, 1, 7, 1024, 0, 1, 8}, map[uint16]any{1024: uint16(8)}},
	} {
		got := parseGeoKeys(c.list, doubles, text).values
		same := len(got) == len(c.want)
		for key, w := range c.want {
			list, isList := w.([]float64)
			other, _ := got[key].([]float64)
			same = same && (isList && slices.Equal(list, other) || !isList && w == got[key])
		}
		if !same {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	for name, tags := range map[string]map[uint16]any{
		"short":     {geoKeyDirectory: []uint16{1, 1, 0}},
		"not whole": {geoKeyDirectory: []float64{1, 1, 0, 0}},
		"text":      {geoKeyDirectory: point, geoDoubleParams: "1.5 2.5"},
	} {
		if _, err := made(t, tags).place(t.Context()); !errors.Is(err, readers.ErrCorrupt) || !strings.Contains(err.Error(), "IFD 0") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzGeoKeys checks that any GeoKeys describe a system that can be written, with finite numbers.
func FuzzGeoKeys(f *testing.F) {
	le := binary.LittleEndian
	for _, list := range [][]uint16{
		{1, 1, 0, 1, 3072, 0, 1, 32633}, {1, 1, 1, 3, 1024, 0, 1, 2, 2048, 0, 1, 4326, 4096, 0, 1, 5773},
		{1, 1, 0, 5, 1024, 0, 1, 1, 3075, 0, 1, 15, 3081, 34736, 1, 0, 2057, 34736, 1, 1, 2049, 34737, 20, 0}, {1, 1, 0, 2, 1024, 0, 1, 1, 2062, 34736, 7, 0},
	} {
		var b []byte
		for _, n := range list {
			b = le.AppendUint16(b, n)
		}
		f.Add(b, le.AppendUint64(le.AppendUint64(nil, math.Float64bits(-71)), math.Float64bits(math.Inf(1))), []byte("GCS Name = a|Datum = b|ESRI PE String = GEOGCS[]"))
	}
	f.Fuzz(func(t *testing.T, directory, doubles, text []byte) {
		list, _ := integers(le, shortField, directory)
		if len(list) < 4 {
			return
		}
		var numbers []float64
		for ; len(doubles) >= 8; doubles = doubles[8:] {
			numbers = append(numbers, math.Float64frombits(le.Uint64(doubles)))
		}
		s := parseGeoKeys(list, numbers, text).system()
		if wkt := s.WKT(); strings.Contains(wkt, ",NaN") || strings.Contains(wkt, "Inf,") {
			t.Fatal(wkt)
		}
		for _, a := range s.GridMapping() {
			if v, ok := a.Value.(float64); ok && (math.IsNaN(v) || math.IsInf(v, 0)) {
				t.Fatalf("%s is %g", a.Name, v)
			}
		}
	})
}
