package crs

import (
	"errors"
	"math"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"varve/fixtures/venv"
	"varve/zarrjson"
)

const (
	wgs  = `"semi_major_axis":6378137,"inverse_flattening":298.257223563`
	utm2 = `PROJCRS[\"UTM\",BASEGEOGCRS[\"WGS 84\",DATUM[\"WGS\",ELLIPSOID[\"WGS 84\",6378137,298.257223563]]],CONVERSION[\"UTM\",METHOD[\"Transverse Mercator\"]],` +
		`CS[Cartesian,2],AXIS[\"(E)\",east],AXIS[\"(N)\",north],LENGTHUNIT[\"metre\",1]`
	utm1        = `PROJCS[\"UTM\",GEOGCS[\"WGS 84\",DATUM[\"WGS_1984\",SPHEROID[\"WGS 84\",6378137,298.257223563]],UNIT[\"degree\",0.0174532925199433],AUTHORITY[\"EPSG\",\"4326\"]],PROJECTION[\"Transverse_Mercator\"],UNIT[\"metre\",1]`
	latLon      = `{"grid_mapping_name":"latitude_longitude",`
	rotatedPole = `{"grid_mapping_name":"rotated_latitude_longitude","grid_north_pole_latitude":39.25,"grid_north_pole_longitude":-162`
	wgs1        = `GEOGCS[\"WGS 84\",DATUM[\"WGS_1984\",SPHEROID[\"WGS 84\",6378137,298.257223563]],UNIT[\"degree\",0.0174532925199433],AUTHORITY[\"EPSG\",\"4326\"]]`
	esri        = `GEOGCS[\"GCS_North_American_1927\",DATUM[\"D_North_American_1927\",SPHEROID[\"Clarke_1866\",6378206.4,294.9786982]],PRIMEM[\"Greenwich\",0.0],UNIT[\"Degree\",0.0174532925199433]]`
	equalArea   = `{"grid_mapping_name":"lambert_azimuthal_equal_area","latitude_of_projection_origin":5,"longitude_of_projection_origin":20,` + wgs
)

// TestParse checks which system the attributes of a grid mapping describe. Package zarr compares what CF's parameters become
// with GDAL.
func TestParse(t *testing.T) {
	for _, c := range []struct {
		what, attributes, units string
		code                    string // or
		wkt2                    string // a part of the text
		kind                    Kind
		scale                   float64 // of coordinates with these units
	}{
		{"WKT 2 with a code", `{"crs_wkt":"` + utm2 + `,ID[\"EPSG\",32633]]"}`, "m", "EPSG:32633", "", Projected, 1},
		{"WKT 1 with a code", `{"spatial_ref":"` + utm1 + `,AUTHORITY[\"EPSG\",\"32633\"]]"}`, "km", "EPSG:32633", "", Projected, 1000},
		{"WKT 2 without a code", `{"crs_wkt":"` + utm2 + `]"}`, "m", "", `PROJCRS["UTM"`, Projected, 1},
		{"WKT 2 in feet", `{"crs_wkt":"` + strings.Replace(utm2, `LENGTHUNIT[\"metre\",1]`, `LENGTHUNIT[\"foot\",0.3048]`, 1) + `]"}`, "ft", "", "PROJCRS", Projected, 1},
		{"WKT 1 without a code, and parameters", equalArea + `,"crs_wkt":"` + utm1 + `]"}`, "m", "", `METHOD["Lambert Azimuthal Equal Area",ID["EPSG",9820]]`, Projected, 1},
		{"a code of another authority", `{"crs_wkt":"` + utm2 + `,ID[\"IAU_2015\",30100]]"}`, "m", "", "PROJCRS", Projected, 1},
		{"a compound system", `{"crs_wkt":"COMPOUNDCRS[\"both\",` + utm2 + `],VERTCRS[\"height\"]]"}`, "m", "", "COMPOUNDCRS", Projected, 1},
		{"a bound system", `{"crs_wkt":"BOUNDCRS[SOURCECRS[` + utm2 + `]],TARGETCRS[GEOGCRS[\"WGS 84\"]]]"}`, "m", "", "BOUNDCRS", Projected, 1},
		{"a text as code", `{"epsg_code":"EPSG:3031"}`, "m", "EPSG:3031", "", Projected, 1},
		{"a number as code", `{"epsg_code":3031,"grid_mapping_name":"polar_stereographic"}`, "", "EPSG:3031", "", Projected, 1},
		{"a code in feet", `{"epsg_code":2263}`, "US_survey_foot", "EPSG:2263", "", Projected, 1},
		{"longitudes and latitudes", `{"grid_mapping_name":"latitude_longitude"}`, "degrees_east", "EPSG:4326", "", Geographic, 1},
		{"with the axes of WGS 84", `{"grid_mapping_name":"latitude_longitude",` + wgs + `}`, "degrees_east", "EPSG:4326", "", Geographic, 1},
		{"on a sphere", `{"grid_mapping_name":"latitude_longitude","earth_radius":6371229}`, "degrees_east", "", `ELLIPSOID["unknown",6371229,0,`, Geographic, 1},
		{"by the minor axis", `{"grid_mapping_name":"latitude_longitude","semi_major_axis":200,"semi_minor_axis":199}`, "", "", `,200,200,`, Geographic, 1},
		{"a prime meridian", `{"grid_mapping_name":"latitude_longitude","longitude_of_prime_meridian":2.5,` + wgs + `}`, "", "", `PRIMEM["unknown",2.5,`, Geographic, 1},
		{"a named datum", equalArea[:len(equalArea)-len(wgs)] + `"horizontal_datum_name":"WGS_1984"}`, "m", "", `DATUM["World Geodetic System 1984",ELLIPSOID["WGS 84",6378137,298.257223563,`, Projected, 1},
		{"a datum that is named for ESRI", `{"grid_mapping_name":"latitude_longitude","horizontal_datum_name":"D_North_American_1927"}`, "degrees_east", "EPSG:4267", "", Geographic, 1},
		{"a system that is named", `{"grid_mapping_name":"latitude_longitude","geographic_crs_name":"ETRS89"}`, "degrees_east", "EPSG:4258", "", Geographic, 1},
		{"an ensemble of datums", `{"grid_mapping_name":"latitude_longitude","horizontal_datum_name":"World Geodetic System 1984 ensemble","geographic_crs_name":"WGS 84",` + wgs + `}`, "degrees_east", "EPSG:4326", "", Geographic, 1},
		{"a datum with rounded axes", `{"grid_mapping_name":"latitude_longitude","horizontal_datum_name":"NAD83","semi_major_axis":6378137,"inverse_flattening":298.257}`, "degrees_east", "EPSG:4269", "", Geographic, 1},
		{"a datum from another meridian", `{"grid_mapping_name":"latitude_longitude","horizontal_datum_name":"NAD27","longitude_of_prime_meridian":2.5}`, "degrees_east", "",
			`DATUM["North American Datum 1927",ELLIPSOID["Clarke 1866",6378206.4,294.9786982138982,LENGTHUNIT["metre",1]]],PRIMEM["unknown",2.5,`, Geographic, 1},
		{"an ellipsoid that is named", `{"grid_mapping_name":"latitude_longitude","reference_ellipsoid_name":"Bessel 1841"}`, "degrees_east", "",
			`DATUM["Unknown based on Bessel 1841 ellipsoid",ELLIPSOID["Bessel 1841",6377397.155,299.1528128,`, Geographic, 1},
		{"the ellipsoid of WGS 84", `{"grid_mapping_name":"latitude_longitude","reference_ellipsoid_name":"WGS_1984"}`, "degrees_east", "EPSG:4326", "", Geographic, 1},
		{"another datum with axes", `{"grid_mapping_name":"latitude_longitude","horizontal_datum_name":"Mars 2000","semi_major_axis":3396190,"inverse_flattening":169.8944472236118}`, "degrees_east", "",
			`DATUM["Mars 2000",ELLIPSOID["unknown",3396190,169.8944472236118,`, Geographic, 1},
		{"another system on a named ellipsoid", `{"grid_mapping_name":"latitude_longitude","geographic_crs_name":"ours","reference_ellipsoid_name":"GRS 1980"}`, "degrees_east", "",
			`DATUM["ours",ELLIPSOID["GRS 1980",6378137,298.257222101,`, Geographic, 1},
		{"a named ellipsoid with axes of another that is near", `{"grid_mapping_name":"latitude_longitude","reference_ellipsoid_name":"GRS 1980",` + wgs + `}`, "degrees_east", "",
			`ELLIPSOID["GRS 1980",6378137,298.257222101,`, Geographic, 1},
		{"names that say nothing", `{"grid_mapping_name":"latitude_longitude","horizontal_datum_name":"unknown","geographic_crs_name":"unknown","reference_ellipsoid_name":"unknown"}`, "degrees_east", "EPSG:4326", "", Geographic, 1},
		{"a geographic code without a name", `{"epsg_code":4326}`, "degrees_east", "EPSG:4326", "", Geographic, 1},
		{"a code and the same parameters", `{"epsg_code":"EPSG:4267","grid_mapping_name":"latitude_longitude","semi_major_axis":6378206.4,"semi_minor_axis":6356583.8}`, "degrees_east", "EPSG:4267", "", Geographic, 1},
		{"a code and a free text", `{"epsg_code":4326,"grid_mapping_name":"latitude_longitude","geographic_crs_name":"ours"}`, "degrees_east", "EPSG:4326", "", Geographic, 1},
		{"another geographic code", `{"epsg_code":4171,"grid_mapping_name":"latitude_longitude"}`, "degrees_east", "EPSG:4171", "", Geographic, 1},
		{"a rotated pole with a code", rotatedPole + `,"epsg_code":4326}`, "degrees", "", `"Pole rotation (netCDF CF convention)"`, Rotated, 1},
		{"a rotated pole with the text of its longitudes", rotatedPole + `,"crs_wkt":"` + wgs1 + `"}`, "degrees", "", `"Pole rotation (netCDF CF convention)"`, Rotated, 1},
		{"a projection with the code of its longitudes", equalArea + `,"epsg_code":4326}`, "m", "", `METHOD["Lambert Azimuthal Equal Area",ID["EPSG",9820]]`, Projected, 1},
		{"a projection with the text of its longitudes", equalArea + `,"spatial_ref":"` + wgs1 + `"}`, "m", "", `METHOD["Lambert Azimuthal Equal Area",ID["EPSG",9820]]`, Projected, 1},
		{"ESRI's text without a code", `{"crs_wkt":"` + esri + `"}`, "degrees_east", "EPSG:4267", "", Geographic, 1},
		{"no code, but parameters", `{"epsg_code":"none","grid_mapping_name":"latitude_longitude",` + wgs + `}`, "degrees_east", "EPSG:4326", "", Geographic, 1},
		{"a shift by nothing", equalArea + `,"towgs84":"0, 0, 0"}`, "m", "", "PROJCRS", Projected, 1},
		{"a false easting in kilometres", equalArea + `,"false_easting":500}`, "km", "", `PARAMETER["False easting",500000,`, Projected, 1000},
		{"a parallel at the pole", `{"grid_mapping_name":"polar_stereographic","straight_vertical_longitude_from_pole":0,"standard_parallel":90,` + wgs + `}`, "m", "",
			`METHOD["Polar Stereographic (variant A)",ID["EPSG",9810]],PARAMETER["Latitude of natural origin",90,`, Projected, 1},
		{"numbers as texts", `{"grid_mapping_name":"lambert_conformal_conic","standard_parallel":"30, 60","latitude_of_projection_origin":"40","longitude_of_central_meridian":0,` + wgs + `}`, "m", "",
			`PARAMETER["Latitude of 2nd standard parallel",60,`, Projected, 1},
		{"a satellite in radians", `{"grid_mapping_name":"geostationary","perspective_point_height":36e6,"longitude_of_projection_origin":0,"sweep_angle_axis":"y",` + wgs + `}`, "rad", "",
			`METHOD["Geostationary Satellite (Sweep Y)"]`, Projected, 36e6},
		{"a satellite in degrees", `{"grid_mapping_name":"geostationary","perspective_point_height":36e6,"longitude_of_projection_origin":0,"fixed_angle_axis":"y",` + wgs + `}`, "degrees", "",
			`(Sweep X)`, Projected, 36e6 * math.Pi / 180},
		{"a rotated pole", `{"grid_mapping_name":"rotated_latitude_longitude","grid_north_pole_latitude":39.25,"grid_north_pole_longitude":-162}`, "degrees", "", `"Pole rotation (netCDF CF convention)"`, Rotated, 1},
	} {
		t.Run(c.what, func(t *testing.T) {
			a, err := zarrjson.ParseAttributes([]byte(c.attributes))
			if err != nil {
				t.Fatal(err)
			}
			got, err := Parse(a, c.units)
			if err != nil {
				t.Fatal(err)
			}
			if got.Code != c.code || !strings.Contains(got.WKT2, c.wkt2) || (got.Code == "") != (got.WKT2 != "") || got.Kind != c.kind {
				t.Errorf("%+v", got)
			}
			if scale, err := got.Scale(c.units); err != nil || math.Abs(scale-c.scale) > 1e-9*c.scale {
				t.Errorf("scale %g, %v", scale, err)
			}
			if got.WKT2 == "" {
				return
			}
			again, err := ParseWKT(got.WKT2)
			if err != nil || again.WKT2 != got.WKT2 || again.Kind != got.Kind || again.Text != got.Text || again.IsNorthFirst != got.IsNorthFirst {
				t.Errorf("%v: %+v", err, again)
			}
		})
	}
}

// TestText checks that a system that is known by its code has no text of another system. EPSG:2263 is in US survey feet on NAD83,
// EPSG:26715 is in metres on NAD27, and EPSG:4267 has latitudes and longitudes on NAD27.
func TestText(t *testing.T) {
	tmerc := `"grid_mapping_name":"transverse_mercator","latitude_of_projection_origin":0,"longitude_of_central_meridian":-93,"scale_factor_at_central_meridian":0.9996,` + wgs
	for _, c := range []struct{ attributes, units, text string }{
		{`{"epsg_code":2263,` + tmerc + `}`, "US_survey_foot", ""},
		{`{"epsg_code":26715,` + tmerc + `}`, "m", "EPSG:26715"},
		{`{"epsg_code":2393}`, "m", ""},
		{`{"epsg_code":4267,"grid_mapping_name":"latitude_longitude","semi_major_axis":6378206.4,"semi_minor_axis":6356583.8}`, "degrees_east", nad27.crs().Text},
		{`{"spatial_ref":"` + utm1 + `,AUTHORITY[\"EPSG\",\"32633\"]]",` + tmerc + `}`, "m", "EPSG:32633"},
		{`{"spatial_ref":"` + strings.Replace(utm1, `UNIT[\"metre\",1`, `UNIT[\"foot\",0.3048`, 1) + `,AUTHORITY[\"EPSG\",\"32633\"]]",` + tmerc + `}`, "foot", ""},
		{`{"epsg_code":4326,"grid_mapping_name":"latitude_longitude"}`, "degrees_east", WGS84().Text},
	} {
		a, err := zarrjson.ParseAttributes([]byte(c.attributes))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Parse(a, c.units); err != nil || got.Text != c.text || got.IsNorthFirst != (got.Kind == Geographic) {
			t.Errorf("%.100s: %+v, %v", c.attributes, got, err)
		}
	}
}

// TestInteropDatums compares datums and their systems with GDAL's EPSG data.
func TestInteropDatums(t *testing.T) {
	const script = `import sys; from rasterio.crs import CRS
for code in sys.argv[1:]: print(CRS.from_epsg(int(code)).to_wkt(version="WKT2_2019"))`
	args := []string{"-c", script}
	for _, d := range datums {
		args = append(args, strconv.Itoa(d.code))
	}
	out, err := exec.Command(venv.Python(t, "rasterio"), args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		root, err := (&parser{text: text}).node(0)
		if err != nil {
			t.Fatal(err)
		}
		theirs := root.child("DATUM")
		if theirs == nil {
			theirs = root.child("ENSEMBLE")
		}
		shape := theirs.child("ELLIPSOID")
		d, c := datums[i], datums[i].crs()
		if datumOf(theirs.values[0]) != d || datumOf(root.values[0]) != d || c.Code != root.code() || c.IsNorthFirst != root.isNorthFirst() || c.Kind != Geographic {
			t.Errorf("%+v is %s", d, text)
		}
		major, err1 := strconv.ParseFloat(shape.values[1], 64)
		flattening, err2 := strconv.ParseFloat(shape.values[2], 64)
		if known, ok := ellipsoidOf(shape.values[0]); err1 != nil || err2 != nil || !ok || known != d.ellipsoid || major != known.major || math.Abs(flattening-known.flattening) > 1e-9 {
			t.Errorf("%+v is on %v", d, shape.values)
		}
		if again, err := ParseWKT(c.Text); err != nil || again.Code != c.Code || again.Text != c.Text || !again.IsNorthFirst {
			t.Errorf("%s: %+v, %v", c.Text, again, err)
		}
	}
}

// TestInteropEastFirst compares the codes whose axes are known with GDAL's EPSG data.
func TestInteropEastFirst(t *testing.T) {
	const script = `import sys; from rasterio.crs import CRS
for code in sys.argv[1:]: print(CRS.from_epsg(int(code)).to_wkt(version="WKT2_2019"))`
	args := []string{"-c", script}
	for _, r := range eastFirst {
		for code := r[0]; code <= r[1]; code++ {
			args = append(args, strconv.Itoa(code))
		}
	}
	out, err := exec.Command(venv.Python(t, "rasterio"), args...).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for i, text := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		theirs, err := ParseWKT(text)
		if err != nil || theirs.Kind != Projected || theirs.IsNorthFirst || theirs.Unit != 1 {
			t.Errorf("%s: %+v, %v: %s", args[i+2], theirs, err, text)
		}
		a, err := zarrjson.ParseAttributes([]byte(`{"epsg_code":"EPSG:` + args[i+2] + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		if ours, err := Parse(a, "m"); err != nil || ours.Text != "EPSG:"+args[i+2] || ours.Unit != 1 || ours.IsNorthFirst {
			t.Errorf("%s: %+v, %v", args[i+2], ours, err)
		}
	}
}

// TestNorthFirst checks the order of axes.
func TestNorthFirst(t *testing.T) {
	for axes, want := range map[string]bool{
		`AXIS["northing (Y)",north],AXIS["easting (X)",east]`:                             true,
		`AXIS["(E)",east],AXIS["(N)",north]`:                                              false,
		`AXIS["easting (X)",north,MERIDIAN[90]],AXIS["northing (Y)",north,MERIDIAN[0]]`:   false,
		`AXIS["northing (Y)",south,MERIDIAN[180]],AXIS["easting (X)",south,MERIDIAN[90]]`: true,
		`AXIS["(N)",south],AXIS["(E)",south]`:                                             true,
		`AXIS["x",north],AXIS["y",east]`:                                                  true,
	} {
		c, err := ParseWKT(`PROJCRS["x",CS[Cartesian,2],` + axes + `,LENGTHUNIT["metre",1]]`)
		if err != nil || c.IsNorthFirst != want {
			t.Errorf("%s: %+v, %v", axes, c, err)
		}
	}
}

// TestParseRefuses checks that grid mappings without an exact meaning are refused, with the reason.
func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ attributes, units, why string }{
		{`{}`, "m", "neither crs_wkt"},
		{`{"crs_wkt":"` + utm1 + `]"}`, "m", "WKT 1 without a code"},
		{`{"crs_wkt":"` + utm1 + `]","spatial_ref":"` + utm1 + `]","grid_mapping_name":"oblique_mercator",` + wgs + `}`, "m", "WKT 1 without a code"},
		{`{"crs_wkt":"LOCAL_CS[\"x\"]"}`, "m", "LOCAL_CS"},
		{`{"crs_wkt":"GEOGCRS[\"x\",CS[ellipsoidal,2],ANGLEUNIT[\"grad\",0.0157]]"}`, "m", "no coordinates in degrees"},
		{`{"crs_wkt":"PROJCRS[\"x\"]"}`, "m", "no unit of length"},
		{`{"crs_wkt":"PROJCRS[\"x\""}`, "m", "want , or ] at byte 11"},
		{`{"crs_wkt":"PROJCRS[\"x]"}`, "m", `want "`},
		{`{"crs_wkt":"[]"}`, "m", "want a keyword"},
		{`{"crs_wkt":"A[1]]"}`, "m", "want nothing more"},
		{`{"crs_wkt":"` + strings.Repeat("A[", 100) + `"}`, "m", "levels"},
		{`{"crs_wkt":"` + strings.Repeat("A", 100000) + `"}`, "m", "bytes"},
		{`{"grid_mapping_name":"oblique_mercator",` + wgs + `}`, "m", "the projection oblique_mercator"},
		{`{"grid_mapping_name":"sinusoidal","longitude_of_central_meridian":0}`, "m", "no figure of the earth"},
		{`{"grid_mapping_name":"sinusoidal",` + wgs + `}`, "m", "longitude_of_projection_origin or longitude_of_central_meridian"},
		{`{"grid_mapping_name":"sinusoidal","longitude_of_central_meridian":0,"semi_major_axis":-1,"inverse_flattening":300}`, "m", "semi-major axis of -1"},
		{`{"grid_mapping_name":"sinusoidal","longitude_of_central_meridian":0,"semi_major_axis":6e6,"inverse_flattening":0.5}`, "m", "flattening of 0.5"},
		{latLon + `"horizontal_datum_name":"Mars 2000"}`, "", `horizontal_datum_name "Mars 2000" is not known`},
		{latLon + `"geographic_crs_name":"Mars 2000"}`, "", `geographic_crs_name "Mars 2000" is not known`},
		{latLon + `"reference_ellipsoid_name":"Mars 2000"}`, "", `reference_ellipsoid_name "Mars 2000" is not known`},
		{latLon + `"horizontal_datum_name":"NAD27","geographic_crs_name":"WGS 84"}`, "", "different datums, NAD27 and WGS 84"},
		{latLon + `"horizontal_datum_name":"Mars 2000","geographic_crs_name":"WGS 84"}`, "", `"Mars 2000" is not known`},
		{latLon + `"horizontal_datum_name":"NAD27","reference_ellipsoid_name":"WGS 84"}`, "", "its datum is NAD27"},
		{latLon + `"horizontal_datum_name":"NAD27",` + wgs + `}`, "", "its datum is NAD27, but its ellipsoid is another"},
		{latLon + `"reference_ellipsoid_name":"GRS 1980","earth_radius":6371229}`, "", "but its axes are others"},
		{latLon + `"semi_major_axis":6371229}`, "", "not complete"},
		{latLon + `"inverse_flattening":298.3}`, "", "not complete"},
		{latLon + `"semi_major_axis":6378137,"earth_radius":6371229}`, "", "contradict each other"},
		{latLon + `"semi_major_axis":6378137,"semi_minor_axis":6356752,"inverse_flattening":0}`, "", "contradict each other"},
		{latLon + `"earth_radius":6371229,"inverse_flattening":298.3}`, "", "contradict each other"},
		{latLon + `"prime_meridian_name":"Paris"}`, "", `prime_meridian_name is "Paris"`},
		{`{"grid_mapping_name":"rotated_latitude_longitude","grid_north_pole_latitude":39.25,"grid_north_pole_longitude":-162,"horizontal_datum_name":"Mars 2000"}`, "degrees", `"Mars 2000" is not known`},
		{latLon + `"epsg_code":4267,` + wgs + `}`, "", "its epsg_code is that of NAD27"},
		{latLon + `"epsg_code":4267,"horizontal_datum_name":"WGS84"}`, "", "its epsg_code is that of NAD27"},
		{latLon + `"epsg_code":4267,"longitude_of_prime_meridian":2.5}`, "", "its epsg_code is that of NAD27"},
		{latLon + `"epsg_code":"EPSG:"}`, "", `epsg_code: "EPSG:" is not a code`},
		{`{"epsg_code":0}`, "m", "epsg_code: 0 is not a code"},
		{latLon + `"crs_wkt":"` + strings.Replace(esri, "6378206.4", "6378137", 1) + `"}`, "", "WKT 1 without a code"},
		{latLon + `"crs_wkt":"` + strings.Replace(esri, "0.0]", "2.5]", 1) + `"}`, "", "WKT 1 without a code"},
		{latLon + `"crs_wkt":"` + strings.Replace(esri, "294.9786982]", "294.9786982],TOWGS84[1,0,0]", 1) + `"}`, "", "WKT 1 without a code"},
		{latLon + `"crs_wkt":"` + utm1 + `,AUTHORITY[\"EPSG\",\"32633\"]]"}`, "", "not a system of the kind latitude_longitude"},
		{equalArea + `,"false_easting":"500000 m"}`, "m", `false_easting is "500000 m", not a number`},
		{equalArea + `,"false_easting":[1,2]}`, "m", `false_easting is [1,2], not a number`},
		{latLon + `"semi_major_axis":"6371 km"}`, "", `semi_major_axis is "6371 km", not a number`},
		{equalArea + `,"towgs84":"some"}`, "m", `towgs84 is "some", not a number`},
		{equalArea + `}`, "", "no units"},
		{equalArea + `,"false_easting":1}`, "rad", "coordinates that are no lengths"},
		{equalArea + `,"towgs84":[0,0,1]}`, "m", "towgs84"},
		{`{"grid_mapping_name":"polar_stereographic","straight_vertical_longitude_from_pole":0,"standard_parallel":70,"latitude_of_projection_origin":-90,` + wgs + `}`, "m", "different hemispheres"},
		{`{"grid_mapping_name":"polar_stereographic","straight_vertical_longitude_from_pole":0,"latitude_of_projection_origin":60,"standard_parallel":70,` + wgs + `}`, "m", "not a pole"},
		{`{"grid_mapping_name":"polar_stereographic","straight_vertical_longitude_from_pole":0,` + wgs + `}`, "m", "neither standard_parallel"},
		{`{"grid_mapping_name":"mercator","longitude_of_projection_origin":0,"standard_parallel":10,"scale_factor_at_projection_origin":0.9,` + wgs + `}`, "m", "both standard_parallel"},
		{`{"grid_mapping_name":"mercator","longitude_of_projection_origin":0,"latitude_of_projection_origin":10,"scale_factor_at_projection_origin":1,` + wgs + `}`, "m", "latitude_of_projection_origin is 10"},
		{`{"grid_mapping_name":"polar_stereographic","straight_vertical_longitude_from_pole":0,"standard_parallel":100,` + wgs + `}`, "m", "standard_parallel is 100"},
		{`{"grid_mapping_name":"stereographic","latitude_of_projection_origin":52,"longitude_of_projection_origin":5,` + wgs + `}`, "m", "no scale_factor_at_projection_origin"},
		{`{"grid_mapping_name":"stereographic","latitude_of_projection_origin":90,"longitude_of_projection_origin":10,"scale_factor_at_projection_origin":1,"standard_parallel":60,` + wgs + `}`, "m", "standard_parallel"},
		{`{"grid_mapping_name":"lambert_cylindrical_equal_area","longitude_of_central_meridian":0,"standard_parallel":30,"scale_factor_at_projection_origin":0.9,` + wgs + `}`, "m", "both standard_parallel"},
		{`{"grid_mapping_name":"sinusoidal","longitude_of_central_meridian":0,"longitude_of_projection_origin":10,` + wgs + `}`, "m", "are different"},
		{`{"grid_mapping_name":"albers_conical_equal_area","latitude_of_projection_origin":0,"longitude_of_central_meridian":0,"standard_parallel":[-30,30],` + wgs + `}`, "m", "opposite latitudes"},
		{`{"grid_mapping_name":"geostationary","longitude_of_projection_origin":0,"perspective_point_height":36e6,` + wgs + `}`, "rad", "sweep_angle_axis"},
	} {
		a, err := zarrjson.ParseAttributes([]byte(c.attributes))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Parse(a, c.units); err == nil || !strings.Contains(err.Error(), c.why) || !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%.100s: %+v, %v; want %s", c.attributes, got, err, c.why)
		} else if strings.Contains(err.Error(), "\n") || strings.Count(err.Error(), c.why) != 1 {
			t.Errorf("%.100s: not one line that says it once: %v", c.attributes, err)
		}
	}
}

// TestScaleRefuses checks units that do not belong to a system.
func TestScaleRefuses(t *testing.T) {
	plane := CRS{WKT2: "x", Kind: Projected, Unit: 1}
	for _, c := range []struct {
		CRS
		units string
	}{{*WGS84(), "m"}, {plane, "rad"}, {plane, "furlong"}, {CRS{Code: "EPSG:1", Kind: Projected, Height: 36e6}, "rad"}} {
		if scale, err := c.Scale(c.units); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%+v %s: %g, %v", c.CRS, c.units, scale, err)
		}
	}
}

// FuzzParseWKT checks that any text is read or refused, and that what is accepted has one description.
func FuzzParseWKT(f *testing.F) {
	for _, text := range []string{utm1 + "]", utm2 + "]", `GEOGCRS["a""b",CS[ellipsoidal,2],ANGLEUNIT["degree",0.0174532925199433],ID["EPSG",4326]]`, "A(1,B[2])", "A["} {
		f.Add(strings.ReplaceAll(text, `\"`, `"`))
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseWKT(text)
		if err != nil {
			if !errors.Is(err, errors.ErrUnsupported) {
				t.Fatal(err)
			}
			return
		}
		if (c.Code == "") == (c.WKT2 == "") || c.Kind == Projected && !(c.Unit > 0) {
			t.Fatalf("%+v", c)
		}
	})
}
