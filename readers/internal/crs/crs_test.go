package crs

import (
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// attributes returns the attributes of a grid mapping by name.
func attributes(s *System) map[string]any {
	m := map[string]any{}
	for _, a := range s.GridMapping() {
		m[a.Name] = a.Value
	}
	return m
}

// checkAttributes compares some attributes of a grid mapping. Numbers may differ by rounding.
func checkAttributes(t *testing.T, label string, s *System, want map[string]any) {
	t.Helper()
	got := attributes(s)
	for name, value := range want {
		a, isNumber := value.(float64)
		b, _ := got[name].(float64)
		if isNumber && math.Abs(a-b) > 1e-9*max(1, math.Abs(a)) || !isNumber && !reflect.DeepEqual(got[name], value) {
			t.Errorf("%s: %s is %v, want %v", label, name, got[name], value)
		}
	}
}

// TestEPSG checks systems of the EPSG dataset. The attributes are those that pyproj 3.8.0 gives.
func TestEPSG(t *testing.T) {
	for _, c := range []struct {
		code int
		kind Kind
		name string
		want map[string]any
	}{
		{4326, Geographic, "WGS 84", map[string]any{"grid_mapping_name": "latitude_longitude", "semi_major_axis": 6378137.0, "inverse_flattening": 298.257223563,
			"horizontal_datum_name": "World Geodetic System 1984"}},
		{32633, Projected, "WGS 84 / UTM zone 33N", map[string]any{"grid_mapping_name": "transverse_mercator", "longitude_of_central_meridian": 15.0,
			"scale_factor_at_central_meridian": 0.9996, "false_easting": 500000.0, "semi_minor_axis": 6356752.314245179}},
		{2263, Projected, "NAD83 / New York Long Island (ftUS)", map[string]any{"grid_mapping_name": "lambert_conformal_conic", "false_easting": 984250.0,
			"standard_parallel": []float64{41.03333333333333, 40.666666666666664}}},
		{3413, Projected, "WGS 84 / NSIDC Sea Ice Polar Stereographic North", map[string]any{"grid_mapping_name": "polar_stereographic", "standard_parallel": 70.0,
			"straight_vertical_longitude_from_pole": -45.0}},
		{2056, Projected, "CH1903+ / LV95", map[string]any{"grid_mapping_name": "oblique_mercator", "latitude_of_projection_origin": 46.9524055555556,
			"azimuth_of_central_line": 90.0}},
		// Grads become degrees, and the meridian of Paris is 2°20′14″ east of Greenwich.
		{27572, Projected, "NTF (Paris) / Lambert zone II", map[string]any{"grid_mapping_name": "lambert_conformal_conic", "standard_parallel": 46.8,
			"longitude_of_prime_meridian": 2.33722917}},
		{9707, Compound, "WGS 84 + EGM96 height", map[string]any{"grid_mapping_name": "latitude_longitude", "geopotential_datum_name": "EGM96 geoid"}},
		{5773, Vertical, "EGM96 height", map[string]any{"geopotential_datum_name": "EGM96 geoid"}},
		{3857, Projected, "WGS 84 / Pseudo-Mercator", map[string]any{"grid_mapping_name": nil}},
		{4978, Geocentric, "WGS 84", nil},
	} {
		s := EPSG(c.code)
		if s == nil || s.Kind != c.kind || s.Name != c.name || s.Code != c.code {
			t.Errorf("%d: %+v", c.code, s)
			continue
		}
		checkAttributes(t, s.Name, s, c.want)
	}
	for _, code := range []int{0, -1, 1, 32767, math.MaxInt} {
		if s := EPSG(code); s != nil {
			t.Errorf("%d: %+v", code, s)
		}
	}
}

// TestEPSGIsComplete checks that the records of the dataset can be read and written.
func TestEPSGIsComplete(t *testing.T) {
	n := 0
	for _, section := range []string{"geodetic", "projected", "vertical", "compound"} {
		for line := range strings.Lines(table()[section][1:]) {
			number, _, _ := strings.Cut(line, "\t")
			code, err := strconv.Atoi(number)
			if err != nil {
				continue // the empty line at the end
			}
			if n++; section == "projected" && n%5 > 0 {
				continue // to save time
			}
			s := EPSG(code)
			wkt := s.WKT()
			p := &parser{text: wkt}
			p.word()
			p.accept("[")
			if _, err := p.element("", 0); err != nil || p.at != len(wkt) || !strings.HasSuffix(wkt, `,ID["EPSG",`+number+"]]") || strings.Contains(wkt, `[""`) {
				t.Errorf("%d: %s: %v", code, wkt, err)
			}
			if h := s.Horizontal(); h.Kind != Compound && len(h.Axes) == 0 {
				t.Errorf("%d has no axes", code)
			}
		}
	}
	if n < 7700 {
		t.Errorf("%d systems", n)
	}
}

func TestWKT(t *testing.T) {
	const want = `PROJCRS["WGS 84 / UPS North (E,N)",BASEGEOGCRS["WGS 84",DATUM["World Geodetic System 1984",ELLIPSOID["WGS 84",6378137,298.257223563,LENGTHUNIT["metre",1]]],` +
		`PRIMEM["Greenwich",0,ANGLEUNIT["degree",0.0174532925199433]],ID["EPSG",4326]],CONVERSION["Universal Polar Stereographic North",METHOD["Polar Stereographic (variant A)",ID["EPSG",9810]],` +
		`PARAMETER["Latitude of natural origin",90,ANGLEUNIT["degree",0.0174532925199433],ID["EPSG",8801]],PARAMETER["Longitude of natural origin",0,ANGLEUNIT["degree",0.0174532925199433],ID["EPSG",8802]],` +
		`PARAMETER["Scale factor at natural origin",0.994,SCALEUNIT["unity",1],ID["EPSG",8805]],PARAMETER["False easting",2000000,LENGTHUNIT["metre",1],ID["EPSG",8806]],` +
		`PARAMETER["False northing",2000000,LENGTHUNIT["metre",1],ID["EPSG",8807]]],CS[Cartesian,2],AXIS["easting (E)",south,MERIDIAN[90,ANGLEUNIT["degree",0.0174532925199433]],ORDER[1],LENGTHUNIT["metre",1]],` +
		`AXIS["northing (N)",south,MERIDIAN[180,ANGLEUNIT["degree",0.0174532925199433]],ORDER[2],LENGTHUNIT["metre",1]],ID["EPSG",5041]]`
	if got := EPSG(5041).WKT(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

const grs80 = `GEOGCS["GCS_North_American_1983",DATUM["D_North_American_1983",SPHEROID["GRS_1980",6378137.0,298.257222101]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]]`

func TestParseWKT1(t *testing.T) {
	const metre = `,UNIT["Meter",1.0]]`
	for _, c := range []struct {
		text string
		code int // of the geographic system
		want map[string]any
	}{
		{grs80, 4269, map[string]any{"grid_mapping_name": "latitude_longitude", "horizontal_datum_name": "North American Datum 1983"}},
		{`PROJCS["a",` + grs80 + `,PROJECTION["Lambert_Conformal_Conic"],PARAMETER["Standard_Parallel_1",41],PARAMETER["Standard_Parallel_2",40],PARAMETER["Central_Meridian",-77],UNIT["Foot_US",0.3048006096]]`, 4269,
			map[string]any{"grid_mapping_name": "lambert_conformal_conic", "standard_parallel": []float64{41, 40}, "longitude_of_central_meridian": -77.0}},
		{`PROJCS["a",` + grs80 + `,PROJECTION["Lambert_Conformal_Conic"],PARAMETER["Standard_Parallel_1",41],PARAMETER["Scale_Factor",0.9],PARAMETER["Latitude_Of_Origin",41]` + metre, 4269,
			map[string]any{"grid_mapping_name": "lambert_conformal_conic", "standard_parallel": 41.0}},
		{`PROJCS["a",` + grs80 + `,PROJECTION["Stereographic_North_Pole"],PARAMETER["Standard_Parallel_1",70],PARAMETER["Central_Meridian",-45]` + metre, 4269,
			map[string]any{"grid_mapping_name": "polar_stereographic", "standard_parallel": 70.0, "straight_vertical_longitude_from_pole": -45.0}},
		{`PROJCS["a",` + grs80 + `,PROJECTION["Stereographic"],PARAMETER["Latitude_Of_Origin",-90],PARAMETER["Scale_Factor",0.994]` + metre, 4269,
			map[string]any{"grid_mapping_name": "polar_stereographic", "latitude_of_projection_origin": -90.0, "scale_factor_at_projection_origin": 0.994}},
		{`PROJCS["a",` + grs80 + `,PROJECTION["Geostationary_Satellite"],PARAMETER["central_meridian",-75],PARAMETER["satellite_height",35786023]` + metre[:18] + `,EXTENSION["PROJ4","+proj=geos +sweep=x"]]`, 4269,
			map[string]any{"grid_mapping_name": "geostationary", "sweep_angle_axis": "x", "perspective_point_height": 35786023.0}},
		{`PROJCS["a",` + grs80 + `,PROJECTION["Geostationary_Satellite"],PARAMETER["Longitude_Of_Center",10],PARAMETER["Height",35785831],PARAMETER["Option",0]` + metre, 4269,
			map[string]any{"sweep_angle_axis": "y", "longitude_of_projection_origin": 10.0}},
		{`PROJCS["a",` + grs80 + `,PROJECTION["Behrmann"],PARAMETER["Standard_Parallel_1",30]` + metre, 4269, map[string]any{"grid_mapping_name": "lambert_cylindrical_equal_area", "standard_parallel": 30.0}},
		{`PROJCS["a",` + grs80 + `,PROJECTION["Mercator_Auxiliary_Sphere"]` + metre, 4269, map[string]any{"grid_mapping_name": nil}},
		// An ellipsoid that is not that of the datum, a shift, and a sphere.
		{`GEOGCS["a",DATUM["mine",SPHEROID["s",6371000,0],TOWGS84[1,2,3]],PRIMEM["Paris",2.5],UNIT["Grad",0.0157079632679489]]`, 0,
			map[string]any{"inverse_flattening": 0.0, "semi_minor_axis": 6371000.0, "towgs84": []float64{1, 2, 3, 0, 0, 0, 0}, "longitude_of_prime_meridian": 2.25}},
		{`GEOGCS["a",DATUM["D_WGS_1984",SPHEROID["mine",6370000,300]]]`, 0, map[string]any{"semi_major_axis": 6370000.0, "reference_ellipsoid_name": "mine"}},
	} {
		s, err := ParseWKT1(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if g := s.Geographic(); g.Code != c.code {
			t.Errorf("%s: based on %d, want %d", c.text, g.Code, c.code)
		}
		checkAttributes(t, c.text, s, c.want)
	}
}

func TestParseWKT1Refuses(t *testing.T) {
	for _, text := range []string{
		"", "A", "A[", `A["`, "A[1", "A[1,", `GEOGCS["a"]`, `PROJCS["a"]`, `PROJCS["a",` + grs80 + `]`, `PROJCS["a",` + grs80 + `,PROJECTION["Peirce"]]`,
		`PROJCS["a",PROJCS["b"]]`, `COMPD_CS["a",` + grs80 + `]`, `COMPD_CS["a",` + grs80 + "," + grs80 + `]`,
		strings.Repeat("A[", 100) + strings.Repeat("]", 100), "GEOGCS[" + strings.Repeat("1,", longestWKT) + "1]",
	} {
		if s, err := ParseWKT1(text); !errors.Is(err, ErrWKT) {
			t.Errorf("%.60s: %+v, %v", text, s, err)
		}
	}
}

// TestOfficial checks that ESRI's names lead to systems of the EPSG dataset only if the parameters are equal.
func TestOfficial(t *testing.T) {
	parallels := []float64{41.78333333333333, 40.61666666666667} // in the order of the EPSG dataset
	for _, c := range []struct {
		name    string
		changed float64
		code    int
	}{{"NAD_1983_HARN_StatePlane_Iowa_South_FIPS_1402", 0, 2795}, {"NAD_1983_HARN_StatePlane_Iowa_South_FIPS_1402", 1e-6, 0}, {"Iowa", 0, 0}} {
		values := map[int]float64{8821: 40, 8822: -93.5, 8823: parallels[1] + c.changed, 8824: parallels[0], 8826: 500000}
		from := func(code int) (float64, bool) { v, ok := values[code]; return v, ok }
		s := &System{Kind: Projected, Name: c.name, Base: EPSG(4152), Conversion: GeoTIFF(8, from, Degree, Metre)}
		s.Axes = EastNorth(s.Conversion, Metre)
		if got := s.Official().Code; got != c.code {
			t.Errorf("%s with a difference of %g: EPSG:%d, want %d", c.name, c.changed, got, c.code)
		}
	}
}

// FuzzParseWKT1 checks that any text is refused, or read as a system that can be written.
func FuzzParseWKT1(f *testing.F) {
	for _, text := range []string{
		grs80, `PROJCS["a""b",` + grs80 + `,PROJECTION["Albers"],PARAMETER["Standard_Parallel_1",1e400],UNIT["m",nan]]`, `GEOGCS["a",DATUM["b",SPHEROID["c",-1,inf]],UNIT["d",0]]`,
		`COMPD_CS["a",GEOGCS["b",AUTHORITY["EPSG","4326"]],VERT_CS["c",VERT_DATUM["d",2005,AUTHORITY["EPSG",5171]]]]`, `LOCAL_CS["a"]`, `PROJCS["a",` + grs80 + `,PROJECTION["Krovak"],PARAMETER["XY_Plane_Rotation",90]]`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseWKT1(text)
		if err != nil {
			if !errors.Is(err, ErrWKT) {
				t.Fatal(err)
			}
			return
		}
		checkFinite(t, s)
	})
}

// checkFinite checks that a system can be written and that its numbers are finite.
func checkFinite(t *testing.T, s *System) {
	t.Helper()
	if wkt := s.WKT(); strings.Contains(wkt, ",NaN") || strings.Contains(wkt, "Inf,") || strings.Contains(wkt, "Inf]") {
		t.Fatal(wkt)
	}
	for name, value := range attributes(s) {
		list, _ := value.([]float64)
		if f, ok := value.(float64); ok {
			list = []float64{f}
		}
		for _, f := range list {
			if math.IsNaN(f) || math.IsInf(f, 0) {
				t.Fatalf("%s is %g", name, f)
			}
		}
	}
}
