// Package georef finds where the cells of arrays are: their columns and rows along equally spaced coordinates, and the
// coordinate reference system of these.
//
// An array is on a grid if two of its dimensions have coordinates that CF identifies: longitude and latitude, or x and y of a
// projection or of a rotated pole. Coordinates of two dimensions, as of curvilinear grids, describe no grid. Along each of the
// two dimensions the positions must be equally spaced:
//
//	position(i) = first + i × step,  step = (last − first) ÷ (n − 1)
//
// where no position may differ by more than 0.5 % of the step, and in addition by one unit in the last place of coordinates
// that are stored as float32, or by one stored unit of packed coordinates; but never by more than 10 % of the step. So
// coordinates that were rounded are accepted, and Gaussian latitudes are not, which differ by 1.6 % near the poles.
//
// A position is the centre of its cell, unless bounds (CF 1.11, section 7.1) say that it is another point. If there are no
// coordinates, a GeoTransform of GDAL in the grid mapping has the positions of corners.
package georef

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"varve/manifest/internal/cf"
	"varve/manifest/internal/crs"
	"varve/manifest/store"
	"varve/zarrjson"
)

// Grid is where the cells of an array are. A cell is at a row, along Y, and a column, along X.
type Grid struct {
	X, Y Axis
	CRS  *crs.CRS // nil if it is not known
	// Unknown says why CRS is nil.
	Unknown error
	// IsAssumed says that CRS is crs.WGS84() because there are longitudes and latitudes without a grid mapping.
	IsAssumed bool
}

// Axis is one of the two dimensions.
type Axis struct {
	Axis   int // of the array
	Dim    string
	Length int64
	Edge   float64 // where the first cell begins, in the units of the system
	Step   float64 // the width of a cell; negative if positions decrease
}

// End returns where the last cell ends.
func (a *Axis) End() float64 { return snap(a.Edge+float64(a.Step*float64(a.Length)), a.Step) }

// Transform returns the affine transform from columns and rows to coordinates, in the order of rasterio: x = a×column + b×row + c,
// y = d×column + e×row + f.
func (g *Grid) Transform() [6]float64 {
	return [6]float64{g.X.Step, 0, g.X.Edge, 0, g.Y.Step, g.Y.Edge}
}

// Bounds returns the west, south, east and north ends of the cells.
func (g *Grid) Bounds() [4]float64 {
	x, y := g.X.End(), g.Y.End()
	return [4]float64{min(g.X.Edge, x), min(g.Y.Edge, y), max(g.X.Edge, x), max(g.Y.Edge, y)}
}

// Finder finds the grids of the arrays of a store. It reads each coordinate once.
type Finder struct {
	at    cf.Hierarchy[*store.Array]
	lines map[string]line
}

// line has the positions of a coordinate as cells of equal width, or the reason why they are not.
type line struct {
	first, step float64 // the edge of the first cell and the width of cells, in the units of the coordinate
	why         error   // why cells are not of equal width
}

// NewFinder returns a finder for a store.
func NewFinder(st *store.Store) *Finder {
	at := func(path string) (*store.Array, bool) {
		a, err := st.Array(path)
		return a, err == nil
	}
	return &Finder{at: at, lines: map[string]line{}}
}

// ErrNoGrid is returned for an array that has no dimensions of a grid.
var ErrNoGrid = errors.New("the array is not on a grid")

// Of returns the grid of an array. The error is ErrNoGrid, or an errors.ErrUnsupported that says why the cells have no affine
// transform, or one of reading a coordinate.
func (f *Finder) Of(ctx context.Context, a *store.Array) (*Grid, error) {
	p, err := f.Place(a)
	if err != nil {
		return nil, err
	}
	g := &p.Grid
	if p.x == nil {
		mapping, _ := a.Attributes().Get("grid_mapping")
		return g, f.fromGDAL(a, g, mapping)
	}
	for i, c := range []*store.Array{p.x, p.y} {
		l, err := f.line(ctx, c)
		if err != nil {
			return nil, err
		}
		if l.why != nil {
			return nil, l.why
		}
		axis := [2]*Axis{&g.X, &g.Y}[i]
		axis.Edge, axis.Step = l.first*p.Scales[i], l.step*p.Scales[i]
	}
	return g, nil
}

// Place is the dimensions of a grid and its system, without the positions of cells.
type Place struct {
	Grid
	// Scales are the factors by which coordinates along x and y are multiplied to be in the units of the system.
	Scales [2]float64

	x, y *store.Array // nil if there are no coordinates
}

// Place returns the dimensions and the system of the grid of an array. It reads no coordinate. The error is ErrNoGrid, or an
// errors.ErrUnsupported.
func (f *Finder) Place(a *store.Array) (*Place, error) {
	mapping, isNamed := a.Attributes().Get("grid_mapping")
	x, y, isGeographic := f.dims(a, isNamed)
	if x < 0 || y < 0 {
		if f.isCurvilinear(a) {
			return nil, crs.Unsupported("its latitudes and longitudes have two dimensions, so its cells have no affine transform")
		}
		if isNamed {
			return nil, crs.Unsupported("it has a grid_mapping, but no dimensions that CF identifies as x and y")
		}
		return nil, ErrNoGrid
	}
	p := &Place{Grid: Grid{X: axisOf(a, x), Y: axisOf(a, y)}, Scales: [2]float64{1, 1}}
	cx, hasX := f.at.Coordinate(a, p.X.Dim)
	cy, hasY := f.at.Coordinate(a, p.Y.Dim)
	switch {
	case !hasX && !hasY:
		p.Unknown = crs.Unsupported("its dimensions %s and %s have no coordinates", p.Y.Dim, p.X.Dim)
		return p, nil
	case !hasX || !hasY:
		return nil, crs.Unsupported("only one of its dimensions %s and %s has a coordinate", p.Y.Dim, p.X.Dim)
	}
	p.x, p.y = cx, cy
	if isGeographic && !isNamed {
		p.CRS, p.IsAssumed = crs.WGS84(), true
	} else {
		p.CRS, p.Unknown = f.system(a, cx, cy, isGeographic, mapping)
	}
	if p.CRS == nil {
		return p, nil
	}
	var err error
	for i, c := range []*store.Array{cx, cy} {
		if p.Scales[i], err = p.CRS.Scale(cf.TextIn(c.Attributes(), cf.UnitsName)); err != nil {
			p.CRS, p.Unknown, p.Scales = nil, fmt.Errorf("%s: %w", c.Path(), err), [2]float64{1, 1}
			break
		}
	}
	return p, nil
}

func axisOf(a *store.Array, axis int) Axis {
	return Axis{Axis: axis, Dim: a.Schema().Dim(axis), Length: a.Schema().Shape[axis]}
}

// plainNames are names of dimensions that are x or y in an array with a grid mapping, if no attribute of a coordinate says so.
var plainNames = map[string]cf.Role{
	"x": cf.XRole, "y": cf.YRole, "easting": cf.XRole, "northing": cf.YRole, "rlon": cf.XRole, "rlat": cf.YRole,
	"lon": cf.LongitudeRole, "lat": cf.LatitudeRole, "longitude": cf.LongitudeRole, "latitude": cf.LatitudeRole,
}

// dims returns the axes of x and y, or -1, and whether they are longitudes and latitudes.
func (f *Finder) dims(a *store.Array, isNamed bool) (x, y int, isGeographic bool) {
	x, y = -1, -1
	roles := make([]cf.Role, len(a.Schema().Shape))
	for axis := range roles {
		dim := a.Schema().Dim(axis)
		if c, ok := f.at.Coordinate(a, dim); ok && c != a {
			roles[axis] = cf.RoleOf(c.Path(), c.Schema())
		}
		if roles[axis] == cf.OtherRole && isNamed {
			roles[axis] = plainNames[strings.ToLower(dim)]
		}
	}
	for _, pair := range [][2]cf.Role{{cf.LongitudeRole, cf.LatitudeRole}, {cf.XRole, cf.YRole}} {
		if x, y = only(roles, pair[0]), only(roles, pair[1]); x >= 0 && y >= 0 {
			return x, y, pair[0] == cf.LongitudeRole
		}
	}
	return -1, -1, false
}

// only returns the index of the only role that is equal, or -1.
func only(roles []cf.Role, role cf.Role) int {
	i := slices.Index(roles, role)
	if i >= 0 && slices.Contains(roles[i+1:], role) {
		return -1
	}
	return i
}

// isCurvilinear reports whether an array names coordinates of two dimensions that are longitudes or latitudes.
func (f *Finder) isCurvilinear(a *store.Array) bool {
	for _, name := range strings.Fields(cf.TextIn(a.Attributes(), "coordinates")) {
		c, ok := f.at.Nearest(a, name)
		if ok && len(c.Schema().Shape) == 2 {
			if role := cf.RoleOf(c.Path(), c.Schema()); role == cf.LongitudeRole || role == cf.LatitudeRole {
				return true
			}
		}
	}
	return false
}

// system returns the system of the coordinates x and y of an array, or why it is not known.
func (f *Finder) system(a, x, y *store.Array, isGeographic bool, mapping []byte) (*crs.CRS, error) {
	text, _ := cf.TextOf(mapping)
	if strings.TrimSpace(text) == "" {
		return nil, crs.Unsupported("it has no grid_mapping")
	}
	v, err := f.mapping(a, x, y, text)
	if err != nil {
		return nil, err
	}
	units := cf.TextIn(x.Attributes(), cf.UnitsName)
	c, err := crs.Parse(v.Attributes(), units)
	if err != nil {
		return nil, fmt.Errorf("the grid mapping %s: %w", v.Path(), err)
	}
	isRotated := cf.TextIn(x.Attributes(), "standard_name") == "grid_longitude"
	switch {
	case isGeographic && c.Kind != crs.Geographic:
		return nil, crs.Unsupported("the grid mapping %s is not of its longitudes and latitudes", v.Path())
	case isRotated && c.Kind != crs.Rotated:
		return nil, crs.Unsupported("%s is relative to a rotated pole, and the grid mapping %s has none", x.Path(), v.Path())
	}
	if other := cf.TextIn(y.Attributes(), cf.UnitsName); c.Kind == crs.Projected && other != units {
		return nil, crs.Unsupported("%s has the units %.40q, and %s has %.40q", x.Path(), units, y.Path(), other)
	}
	return c, nil
}

// mapping returns the grid mapping of x and y. The attribute names one for all coordinates, or several with the coordinates of
// each: "crsOSGB: x y crsWGS84: lat lon" (CF 1.11, section 5.6).
func (f *Finder) mapping(a, x, y *store.Array, text string) (*store.Array, error) {
	words := strings.Fields(text)
	name := words[0]
	if strings.HasSuffix(name, ":") {
		name = ""
		for i, word := range words {
			if !strings.HasSuffix(word, ":") {
				continue
			}
			of := words[i+1:]
			if end := slices.IndexFunc(of, func(w string) bool { return strings.HasSuffix(w, ":") }); end >= 0 {
				of = of[:end]
			}
			if !slices.Contains(of, path.Base(x.Path())) || !slices.Contains(of, path.Base(y.Path())) {
				continue
			}
			if name != "" {
				return nil, crs.Unsupported("its grid_mapping names two systems of %s and %s", path.Base(x.Path()), path.Base(y.Path()))
			}
			name = strings.TrimSuffix(word, ":")
		}
		if name == "" {
			return nil, crs.Unsupported("its grid_mapping names no system of %s and %s", path.Base(x.Path()), path.Base(y.Path()))
		}
	} else if len(words) > 1 {
		return nil, crs.Unsupported("its grid_mapping %.60q names several variables", text)
	}
	if v, ok := f.at.Nearest(a, strings.TrimPrefix(name, "/")); ok {
		return v, nil
	}
	return nil, crs.Unsupported("its grid mapping %.60q is not in the dataset", name)
}

// fromGDAL sets a grid without coordinates from the GeoTransform of GDAL and rioxarray.
func (f *Finder) fromGDAL(a *store.Array, g *Grid, mapping []byte) error {
	noCoordinates := crs.Unsupported("its dimensions %s and %s have no coordinates, and its grid mapping no GeoTransform", g.Y.Dim, g.X.Dim)
	text, _ := cf.TextOf(mapping)
	words := strings.Fields(text)
	if len(words) != 1 {
		return noCoordinates
	}
	v, ok := f.at.Nearest(a, words[0])
	if !ok {
		return noCoordinates
	}
	numbers, err := geoTransform(v.Attributes())
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", v.Path(), err)
	case numbers == nil:
		return noCoordinates
	case numbers[2] != 0 || numbers[4] != 0:
		// GDAL stores the rows of such files in another order than its GeoTransform says.
		return crs.Unsupported("the GeoTransform of %s is rotated", v.Path())
	case numbers[1] == 0 || numbers[5] == 0:
		return crs.Unsupported("the GeoTransform of %s has cells without width", v.Path())
	}
	g.X.Edge, g.X.Step, g.Y.Edge, g.Y.Step = numbers[0], numbers[1], numbers[3], numbers[5]
	if g.CRS, g.Unknown = crs.Parse(v.Attributes(), "m"); g.Unknown != nil {
		g.Unknown = fmt.Errorf("the grid mapping %s: %w", v.Path(), g.Unknown)
	}
	return nil
}

// geoTransform returns the six numbers of a GeoTransform, or nil if there is none.
func geoTransform(attributes zarrjson.Attributes) ([]float64, error) {
	text := cf.TextIn(attributes, "GeoTransform")
	if text == "" {
		return nil, nil
	}
	var numbers []float64
	for _, word := range strings.Fields(text) {
		f, err := strconv.ParseFloat(word, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, crs.Unsupported("GeoTransform is %.80q, not six numbers", text)
		}
		numbers = append(numbers, f)
	}
	if len(numbers) != 6 {
		return nil, crs.Unsupported("GeoTransform is %.80q, not six numbers", text)
	}
	return numbers, nil
}
