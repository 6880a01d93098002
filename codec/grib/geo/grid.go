// Package geo computes the coordinates of the points of GRIB's grids.
//
// Parse reads a grid definition (section 2 of edition 1, section 3 of edition 2). Coordinates returns the latitude and longitude of
// each point, in the order of the values:
//
//	g, err := geo.Parse(2, section)
//	lat, lon := make([]float64, g.Points), make([]float64, g.Points)
//	err = g.Coordinates(lat, lon)
//
// A section of a hundred bytes can claim any number of points. Parse allocates nothing for them. Compare Points with a limit before
// you allocate coordinates.
//
// Angles are computed as in ecCodes, so that coordinates agree to six decimals. Where ecCodes is wrong, this package follows the
// WMO's manual: the first value is at the first grid point, whatever the scanning mode is, and if every second row is scanned
// backwards, its coordinates are in that order too.
//
// Many products are converted, as in float64(x*y) + z. Without the conversion, the compiler may compute product and sum with one
// rounding (a fused multiply-add) on arm64 and other processors, and coordinates would differ between machines in the last bit.
package geo

import (
	"errors"
	"fmt"
	"math"

	"varve/codec/grib/keys"
	"varve/codec/internal/corrupt"
)

// The flags of scanning modes, code table 3.4.
const (
	iNegative     = 0x80
	jPositive     = 0x40
	jConsecutive  = 0x20
	alternateRows = 0x10
)

// maxRows bounds the rows and columns that are stored one by one.
const maxRows = 1 << 22

// Grid is a parsed grid definition.
type Grid struct {
	Edition  int
	Template int    // 3.x of edition 2, the data representation type of edition 1
	Type     string // gridType of ecCodes
	keys.Values

	Points int   // number of points, as the definition claims
	Ni, Nj int   // points along i and along j, -1 if they are missing
	Rows   []int // points of each row of a reduced grid (pl)
	Scan   byte  // scanning mode
	Scans  bool  // whether the definition has a scanning mode

	divisor float64 // of angles
	basic   float64 // unit of angles before division, the basic angle
}

// templates1 are the grids of edition 1: ecCodes' type, and the template of edition 2 for the same grid.
var templates1 = map[int]struct {
	name     string
	template int
}{
	0: {"regular_ll", 0}, 1: {"mercator", 10}, 3: {"lambert", 30}, 4: {"regular_gg", 40}, 5: {"polar_stereographic", 20},
	8: {"albers", 31}, 10: {"rotated_ll", 1}, 13: {"lambert", 30}, 14: {"rotated_gg", 41}, 20: {"stretched_ll", 2}, 24: {"stretched_gg", 42},
	30: {"stretched_rotated_ll", 3}, 34: {"stretched_rotated_gg", 43}, 50: {"sh", 50}, 60: {"rotated_sh", 51}, 70: {"stretched_sh", 52},
	80: {"stretched_rotated_sh", 53}, 90: {"space_view", 90},
}

// templates2 are ecCodes' types of the grids of edition 2.
var templates2 = map[int]string{
	0: "regular_ll", 1: "rotated_ll", 2: "stretched_ll", 3: "stretched_rotated_ll", 4: "varres_ll", 5: "varres_rotated_ll",
	10: "mercator", 12: "transverse_mercator", 13: "mercator_lam", 20: "polar_stereographic", 23: "polar_stereographic_lam",
	30: "lambert", 31: "albers", 33: "lambert_lam", 40: "regular_gg", 41: "rotated_gg", 42: "stretched_gg", 43: "stretched_rotated_gg",
	50: "sh", 51: "rotated_sh", 52: "stretched_sh", 53: "stretched_rotated_sh", 61: "mercator_bf", 62: "polar_stereographic_bf", 63: "lambert_bf",
	90: "space_view", 100: "triangular_grid", 101: "unstructured_grid", 110: "equatorial_azimuthal_equidistant", 120: "azimuth_range",
	130: "irregular_latlon", 140: "lambert_azimuthal_equal_area", 150: "healpix", 1000: "cross_section", 1100: "Hovmoller", 1200: "time_section",
}

// reduced are the types of grids whose rows differ in length, by the type with rows of equal length.
var reduced = map[string]string{
	"regular_ll": "reduced_ll", "regular_gg": "reduced_gg", "rotated_gg": "reduced_rotated_gg", "stretched_gg": "reduced_stretched_gg",
	"stretched_rotated_gg": "reduced_stretched_rotated_gg",
}

// Parse reads a grid definition: a whole section 2 of edition 1, or 3 of edition 2.
func Parse(edition int, section []byte) (*Grid, error) {
	g := &Grid{Edition: edition, Ni: -1, Nj: -1, divisor: 1e6, basic: 1}
	read := g.parse2
	if edition == 1 {
		read = g.parse1
	}
	if err := read(section); err != nil {
		return nil, err
	}
	return g, nil
}

// The offsets of the layouts of templates. Lengths and numbers are before them.
const (
	template1At = 6
	template2At = 14
)

func (g *Grid) parse2(s []byte) error {
	if len(s) < template2At {
		return corrupt.Errorf("grid definition: %d bytes, at least %d are expected", len(s), template2At)
	}
	points := keys.Unsigned(s[6:10])
	g.Points, g.Template = int(points), int(keys.Unsigned(s[12:14]))
	name := fmt.Sprintf("3.%d", g.Template)
	if g.Template == 32769 {
		name = "kwbc/template.3.32769"
	}
	g.Values = keys.Read(name, s, template2At)
	g.Type = templates2[g.Template]
	if g.Template == 32769 {
		g.Type = "ncep_32769"
	}
	if basic, _ := g.Int("basicAngleOfTheInitialProductionDomain"); basic != 0 && !g.Missing("basicAngleOfTheInitialProductionDomain") {
		g.basic = float64(basic)
	}
	if n, _ := g.Int("subdivisionsOfBasicAngle"); n != 0 && !g.Missing("subdivisionsOfBasicAngle") {
		g.divisor = float64(n)
	}
	g.common()
	if width := int(s[10]); width > 0 {
		if err := g.readRows(s, g.End(), width); err != nil {
			return err
		}
		if to := reduced[g.Type]; to != "" && width == 2 && g.Missing("Ni") && !g.given("i") {
			g.Type = to
		} else {
			g.Type = "unknown_PLPresent"
		}
	}
	if g.Type == "" {
		g.Type = "unknown"
	}
	return nil
}

func (g *Grid) parse1(s []byte) error {
	if len(s) < template1At {
		return corrupt.Errorf("grid definition: %d bytes, at least %d are expected", len(s), template1At)
	}
	g.divisor = 1000
	kind := int(s[5])
	t, known := templates1[kind]
	g.Template, g.Type = kind, t.name
	if !known {
		g.Type = "unknown"
		return nil
	}
	g.Values = keys.Read(fmt.Sprintf("1.3.%d", kind), s, template1At)
	g.common()
	if g.Nj > 0 {
		// The lengths of the rows are after the vertical coordinates, if the section is long enough.
		at := g.VerticalAt(s)
		if at+4*int(s[3]) <= len(s) {
			at += 4 * int(s[3])
		}
		if len(s) > at && len(s)-at >= 2*g.Nj && (g.Ni < 0 || s[4] != 255) {
			if err := g.readRows(s, at, 2); err != nil {
				return err
			}
			if to := reduced[g.Type]; to != "" && g.Missing("Ni") {
				g.Type = to
			}
		}
	}
	switch {
	case g.Spectral():
		g.Points = g.coefficients()
	case g.Rows != nil && g.Type == "reduced_ll":
		g.Points = g.total()
	case g.Rows != nil:
		g.Points = g.PartPoints()
	case g.Ni > 0 && g.Nj > 0:
		g.Points = g.Ni * g.Nj
	}
	return nil
}

// VerticalAt returns the offset of the vertical coordinates in a section 2 of edition 1. It is also the offset of the lengths of
// rows if there are no vertical coordinates.
func (g *Grid) VerticalAt(s []byte) int {
	if at := int(s[4]); at != 255 && at > 0 {
		return max(at-1, g.End())
	}
	return max(32, g.End())
}

// common reads the numbers of points and the scanning mode, if the definition has them.
func (g *Grid) common() {
	if n, ok := g.either("Ni", "Nx", "numberOfPointsAlongXAxis"); ok {
		g.Ni = n
	}
	if n, ok := g.either("Nj", "Ny", "numberOfPointsAlongYAxis"); ok {
		g.Nj = n
	}
	if mode, ok := g.Int("scanningMode"); ok {
		g.Scan, g.Scans = byte(mode), true
		if g.Edition == 1 {
			g.Scan &^= alternateRows // edition 1 has no such flag
		}
	}
}

func (g *Grid) either(names ...string) (int, bool) {
	for _, name := range names {
		if n, ok := g.Int(name); ok && !g.Missing(name) && n >= 0 {
			return int(n), true
		}
	}
	return 0, false
}

func (g *Grid) readRows(s []byte, at, width int) error {
	if g.Nj < 0 || g.Nj > maxRows || width > 4 || at > len(s) || g.Nj*width > len(s)-at {
		return corrupt.Errorf("grid definition: the lengths of %d rows at octet %d do not fit in a section of %d bytes", g.Nj, at+1, len(s))
	}
	g.Rows = make([]int, g.Nj)
	for j := range g.Rows {
		g.Rows[j] = int(keys.Unsigned(s[at+j*width:][:width]))
	}
	return nil
}

// Spectral reports whether values are coefficients of spherical harmonics.
func (g *Grid) Spectral() bool { return g.J() >= 0 }

// J is the first of the three numbers of a triangular truncation, or -1.
func (g *Grid) J() int { return g.number("J") }

func (g *Grid) number(name string) int {
	if n, ok := g.Int(name); ok {
		return int(n)
	}
	return -1
}

// Truncation returns the numbers of a truncation, as grib.Field has them: J, K and M of spherical harmonics; N, M and the type of
// bi-Fourier coefficients; zeros for grids of points.
func (g *Grid) Truncation() [3]int {
	switch {
	case g.Spectral():
		return [3]int{g.J(), g.number("K"), g.number("M")}
	case g.Has("biFourierTruncationType"):
		return [3]int{g.number("biFourierResolutionParameterN"), g.number("biFourierResolutionParameterM"), g.number("biFourierTruncationType")}
	}
	return [3]int{}
}

func (g *Grid) coefficients() int { return (g.J() + 1) * (g.J() + 2) }

// Degrees returns an angle of the definition, and false if it is missing.
func (g *Grid) Degrees(name string) (float64, bool) {
	n, ok := g.Int(name)
	if !ok || g.Missing(name) {
		return 0, false
	}
	return float64(n) / g.divisor * g.basic, true
}

// angle is Degrees for an angle that every grid of the type has. It is 0 if it is missing.
func (g *Grid) angle(name string) float64 {
	a, _ := g.Degrees(name)
	return a
}

// given reports whether the flags say that an increment is given. Edition 1 has one flag for both.
func (g *Grid) given(axis string) bool {
	flags, ok := g.Int("resolutionAndComponentFlags")
	switch {
	case !ok:
		return true
	case g.Edition == 1:
		return flags&0x80 != 0
	case axis == "i":
		return flags&0x20 != 0
	}
	return flags&0x10 != 0
}

// Increment returns the distance between points along axis "i" or "j" in degrees, if the definition has it.
func (g *Grid) Increment(axis string) (float64, bool) {
	d, ok := g.Degrees(axis + "DirectionIncrement")
	if !ok || !g.given(axis) {
		return 0, false
	}
	return d, true
}

// Spacing returns Increment. Without an increment, it computes the spacing of parallels and meridians of edition 1 from the first and
// the last one.
func (g *Grid) Spacing(axis string) (float64, bool) {
	d, ok := g.Increment(axis)
	if ok || g.Edition != 1 || g.given(axis) || !g.Has(axis+"DirectionIncrement") || !g.Has("jDirectionIncrement") {
		return d, ok
	}
	first, last, n, back := g.angle("latitudeOfFirstGridPoint"), g.angle("latitudeOfLastGridPoint"), g.Nj, g.Scan&jPositive == 0
	if axis == "i" {
		first, last, n, back = g.angle("longitudeOfFirstGridPoint"), g.angle("longitudeOfLastGridPoint"), g.Ni, g.Scan&iNegative != 0
	}
	if n < 2 {
		return 0, false
	}
	if back {
		first, last = last, first
	}
	if last <= first {
		last += 360
	}
	return (last - first) / float64(n-1), true
}

// errShape returns the error for a grid whose rows and columns do not have Points points.
func (g *Grid) errShape() error {
	return corrupt.Errorf("grid %s: %d × %d points, but %d points in all", g.Type, g.Ni, g.Nj, g.Points)
}

// Regular reports whether the grid has Nj rows of Ni points, so that values have two dimensions.
func (g *Grid) Regular() bool {
	return g.Rows == nil && g.Ni > 0 && g.Nj > 0 && g.Points%g.Ni == 0 && g.Points/g.Ni == g.Nj && !g.Spectral() && g.Scans
}

// Columns returns the number of values before the next row begins, in scanning order. It is 0 if the grid is not regular.
func (g *Grid) Columns() int {
	if !g.Regular() {
		return 0
	}
	if g.Scan&jConsecutive != 0 {
		return g.Nj
	}
	return g.Ni
}

// Alternates reports whether every second row is scanned backwards.
func (g *Grid) Alternates() bool { return g.Scan&alternateRows != 0 }

// ByColumns reports whether consecutive points are along j.
func (g *Grid) ByColumns() bool { return g.Scan&jConsecutive != 0 }

// each calls point for each point in the order of the values, with its position along i and j.
func (g *Grid) each(point func(n, i, j int)) {
	fast, slow := g.Ni, g.Nj
	if g.ByColumns() {
		fast, slow = slow, fast
	}
	n := 0
	for b := range slow {
		for a := range fast {
			if g.Alternates() && b%2 == 1 {
				a = fast - 1 - a
			}
			if g.ByColumns() {
				point(n, b, a)
			} else {
				point(n, a, b)
			}
			n++
		}
	}
}

// Coordinates fills lat and lon with the coordinates of all points in the order of the values. Longitudes are in [0, 360). Both slices
// must have length Points.
func (g *Grid) Coordinates(lat, lon []float64) error {
	if len(lat) != g.Points || len(lon) != g.Points {
		return fmt.Errorf("lat and lon have %d and %d elements, and the grid has %d points", len(lat), len(lon), g.Points)
	}
	fill, err := g.filler()
	if err != nil {
		return err
	}
	fill(lat, lon)
	for n, x := range lon {
		lon[n] = Normal(x)
	}
	return nil
}

// CheckCoordinates returns the error that Coordinates would return. It computes the coordinates of rows and columns, but of no points.
func (g *Grid) CheckCoordinates() error {
	_, err := g.filler()
	return err
}

func (g *Grid) filler() (filler, error) {
	prepare := g.prepare()
	if prepare == nil {
		return nil, fmt.Errorf("coordinates of the grid %s (template 3.%d): %w", g.Type, g.Template, errors.ErrUnsupported)
	}
	return prepare()
}

// HasCoordinates reports whether Coordinates supports the type of the grid.
func (g *Grid) HasCoordinates() bool { return g.prepare() != nil }

// DefinesCoordinates reports whether the definition says where the points are. That of an unstructured grid names a file, and coefficients
// have no places.
func (g *Grid) DefinesCoordinates() bool {
	return g.Type != "unstructured_grid" && g.Truncation() == [3]int{}
}

// filler fills lat and lon with the coordinates of all points.
type filler func(lat, lon []float64)

// prepare returns the method that checks the definition and returns the filler of a type of grid, or nil if the type is not supported.
func (g *Grid) prepare() func() (filler, error) {
	switch g.Type {
	case "regular_ll", "rotated_ll", "regular_gg", "rotated_gg":
		return g.regular
	case "reduced_ll":
		return g.reducedLatLon
	case "reduced_gg", "reduced_rotated_gg":
		return g.reducedGaussian
	case "lambert", "polar_stereographic", "mercator", "lambert_azimuthal_equal_area", "albers", "transverse_mercator":
		return g.projected
	case "space_view":
		return g.spaceView
	case "healpix":
		return g.healpix
	}
	// ecCodes has no type for these reduced grids, whose row lengths do not have two octets.
	switch {
	case g.Type == "unknown_PLPresent" && g.Template == 0 && g.Ni < 0:
		return g.reducedLatLon
	case g.Type == "unknown_PLPresent" && g.Template == 40 && g.Ni < 0:
		return g.reducedGaussian
	}
	return nil
}

// Normal returns a longitude in [0, 360).
func Normal(x float64) float64 {
	if x = math.Mod(x, 360); x < 0 {
		x += 360
	}
	if x >= 360 {
		x = 0
	}
	return x
}

const (
	degree = math.Pi / 180
	radian = 180 / math.Pi
)

// Equivalent returns the template of edition 2 for the same grid. Like ecCodes, it returns 20 for a Mercator projection of edition 1.
func (g *Grid) Equivalent() int {
	switch {
	case g.Edition == 2:
		return g.Template
	case g.Type == "mercator":
		return 20
	}
	return templates1[g.Template].template
}

// Metres returns a length in metres: the first of several keys that the definition has.
func (g *Grid) Metres(names ...string) (float64, bool) {
	for _, name := range names {
		if n, ok := g.Int(name); ok && !g.Missing(name) {
			if g.Edition == 1 {
				return float64(n), true
			}
			return float64(n) / 1000, true
		}
	}
	return 0, false
}
