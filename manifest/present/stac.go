package present

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"strings"
	"time"

	"varve/manifest/internal/cf"
	"varve/manifest/store"
)

// STACOptions are the options of WriteSTAC.
type STACOptions struct {
	ID   string // of the item or collection
	Href string // the address at which the dataset is read as Zarr
	// Others are addresses of other forms of the dataset.
	Others []STACAsset
	// Collection writes a collection instead of an item. A dataset without times needs it.
	Collection bool
}

// STACAsset is one form of a dataset.
type STACAsset struct {
	Form STACForm
	Href string
}

// STACForm is a form in which a dataset is read.
type STACForm string

// The forms.
const (
	STACZarr     STACForm = "zarr"     // Zarr 3, with chunks of any lengths
	STACRegular  STACForm = "regular"  // Zarr 3, with equal chunks
	STACZarr2    STACForm = "zarr2"    // Zarr 2
	STACKerchunk STACForm = "kerchunk" // references of kerchunk in JSON
	STACIcechunk STACForm = "icechunk" // an Icechunk repository
	STACNetCDF   STACForm = "netcdf"   // one netCDF-4 file
)

// asset returns the asset of a form: its media type and role, and how xarray opens it, as clients such as xpystac expect.
func (a STACAsset) asset() map[string]any {
	kind := struct {
		title, media, engine string
		roles                []string
		zarr                 int
	}{roles: []string{"data"}}
	switch a.Form {
	case STACZarr, STACRegular:
		kind.title, kind.media, kind.engine, kind.zarr = "Zarr", "application/vnd.zarr", "zarr", 3
		if a.Form == STACRegular {
			kind.title = "Zarr with equal chunks"
		}
	case STACZarr2:
		kind.title, kind.media, kind.engine, kind.zarr = "Zarr 2", "application/vnd.zarr", "zarr", 2
	case STACKerchunk:
		kind.title, kind.media, kind.engine, kind.roles = "References of kerchunk", "application/json", "kerchunk", []string{"references"}
	case STACIcechunk:
		kind.title, kind.media, kind.roles = "Icechunk repository", "application/vnd.zarr+icechunk", []string{"data", "references"}
	case STACNetCDF:
		kind.title, kind.media, kind.engine = "netCDF-4 file", "application/x-netcdf", "h5netcdf"
	}
	out := map[string]any{"href": a.Href, "type": kind.media, "roles": kind.roles, "title": kind.title}
	if kind.engine != "" {
		out["xarray:open_kwargs"] = map[string]any{"engine": kind.engine}
	}
	if kind.zarr != 0 {
		out["zarr:zarr_format"], out["zarr:node_type"] = kind.zarr, "group"
	}
	return out
}

// STACForms are all forms.
func STACForms() []STACForm {
	return []STACForm{STACZarr, STACRegular, STACZarr2, STACKerchunk, STACIcechunk, STACNetCDF}
}

// The extensions that describe how assets are opened.
const (
	xarrayAssets = "https://stac-extensions.github.io/xarray-assets/v1.0.0/schema.json"
	zarrAssets   = "https://stac-extensions.github.io/zarr/v1.1.0/schema.json"
)

// datacube is the extension that describes dimensions and variables.
const datacube = "https://stac-extensions.github.io/datacube/v2.2.0/schema.json"

// stacDimension is a dimension of the datacube extension.
type stacDimension struct {
	Type            string `json:"type"`
	Axis            string `json:"axis,omitempty"`
	Description     string `json:"description,omitempty"`
	Extent          []any  `json:"extent,omitempty"`
	Unit            string `json:"unit,omitempty"`
	ReferenceSystem any    `json:"reference_system,omitempty"`
}

// stacVariable is a variable of the datacube extension.
type stacVariable struct {
	Dimensions  []string `json:"dimensions"`
	Type        string   `json:"type"`
	Description string   `json:"description,omitempty"`
	Unit        string   `json:"unit,omitempty"`
}

// cube is what the documents say of a dataset.
type cube struct {
	Dimensions               map[string]stacDimension
	Variables                map[string]stacVariable
	west, east, south, north float64 // NaN if they are not known
	begin, end               string  // the first and the last time, or empty
}

// WriteSTAC writes an item or a collection of STAC with the datacube extension. It reads all coordinates, for the extents.
func WriteSTAC(ctx context.Context, w io.Writer, st *store.Store, opts *STACOptions) error {
	nan := math.NaN()
	c := &cube{Dimensions: map[string]stacDimension{}, Variables: map[string]stacVariable{}, west: nan, east: nan, south: nan, north: nan}
	for _, a := range st.Arrays() {
		if err := c.add(ctx, a); err != nil {
			return err
		}
	}
	var doc map[string]any
	var err error
	if opts.Collection {
		doc = c.collection()
	} else {
		doc, err = c.item()
	}
	if err != nil {
		return err
	}
	doc["stac_version"], doc["stac_extensions"], doc["id"], doc["links"] = "1.1.0", []string{datacube, xarrayAssets, zarrAssets}, opts.ID, []any{}
	assets := map[string]any{"data": STACAsset{STACZarr, opts.Href}.asset()}
	for _, a := range opts.Others {
		assets[string(a.Form)] = a.asset()
	}
	doc["assets"] = assets
	title, about := "", ""
	for _, g := range st.Groups() {
		if g.Path == "/" {
			title, about = cf.TextIn(g.Attributes, "title"), cf.TextIn(g.Attributes, "summary")
		}
	}
	c.describe(doc, opts, title, about)
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// describe adds the texts, which are at other places in items and in collections.
func (c *cube) describe(doc map[string]any, opts *STACOptions, title, about string) {
	to := doc
	if properties, ok := doc["properties"].(map[string]any); ok {
		to = properties
	}
	if title != "" {
		to["title"] = title
	}
	switch {
	case about != "":
		to["description"] = about
	case title != "":
		to["description"] = title
	default:
		to["description"] = "Zarr dataset " + opts.ID // collections must have one
	}
}

func (c *cube) item() (map[string]any, error) {
	if c.begin == "" {
		return nil, fmt.Errorf("the dataset has no times, which an item must have; write a collection: %w", errors.ErrUnsupported)
	}
	doc := map[string]any{"type": "Feature", "geometry": nil}
	if box := c.box(); box != nil {
		doc["bbox"], doc["geometry"] = box, geometry(box)
	}
	doc["properties"] = map[string]any{
		"datetime": nil, "start_datetime": c.begin, "end_datetime": c.end, "cube:dimensions": c.Dimensions, "cube:variables": c.Variables,
	}
	return doc, nil
}

func (c *cube) collection() map[string]any {
	box := c.box()
	if box == nil {
		box = []float64{-180, -90, 180, 90} // a collection must have one
	}
	interval := []any{nil, nil}
	if c.begin != "" {
		interval = []any{c.begin, c.end}
	}
	return map[string]any{
		"type": "Collection", "license": "other", "cube:dimensions": c.Dimensions, "cube:variables": c.Variables,
		"extent": map[string]any{"spatial": map[string]any{"bbox": []any{box}}, "temporal": map[string]any{"interval": []any{interval}}},
	}
}

// box returns the bounding box of all coordinates on the globe, or nil. West is east of east if it crosses the antimeridian.
func (c *cube) box() []float64 {
	if math.IsNaN(c.west) || math.IsNaN(c.south) {
		return nil
	}
	west, east := c.west, c.east
	if east-west >= 360 || west < -180 && east > 180 {
		west, east = -180, 180
	} else if west < -180 || east > 180 {
		west, east = wrapped(west), wrapped(east)
	}
	return []float64{west, max(c.south, -90), east, min(c.north, 90)}
}

// wrapped returns a longitude from -180 to 180.
func wrapped(longitude float64) float64 {
	longitude = math.Mod(longitude, 360)
	switch {
	case longitude > 180:
		return longitude - 360
	case longitude < -180:
		return longitude + 360
	}
	return longitude
}

// geometry returns a box as GeoJSON. A box that crosses the antimeridian is cut there.
func geometry(box []float64) any {
	ring := func(west, east float64) any {
		south, north := box[1], box[3]
		return [][][]float64{{{west, south}, {east, south}, {east, north}, {west, north}, {west, south}}}
	}
	if box[0] <= box[2] {
		return map[string]any{"type": "Polygon", "coordinates": ring(box[0], box[2])}
	}
	return map[string]any{"type": "MultiPolygon", "coordinates": []any{ring(box[0], 180), ring(-180, box[2])}}
}

// keyOf returns the name of an array or a dimension in a document: its path without the first slash.
func keyOf(group, name string) string { return strings.TrimPrefix(path.Join(group, name), "/") }

// add adds an array, its dimensions, and what its values say about the dataset.
func (c *cube) add(ctx context.Context, a *store.Array) error {
	group, name, role := path.Dir(a.Path()), path.Base(a.Path()), cf.RoleOf(a.Path(), a.Schema())
	dims := []string{}
	for axis, n := range a.Grid().Shape() {
		key := keyOf(group, a.Schema().Dim(axis))
		dims = append(dims, key)
		if _, known := c.Dimensions[key]; !known {
			c.Dimensions[key] = stacDimension{Type: "index", Extent: []any{0, max(n-1, 0)}}
		}
	}
	unit, about := cf.TextIn(a.Schema().Attributes, "units"), cf.TextIn(a.Schema().Attributes, "long_name")
	isIndex := cf.IsCoordinate(a)
	if !isIndex {
		kind := "data"
		if role == cf.LongitudeRole || role == cf.LatitudeRole {
			kind = "auxiliary"
		}
		c.Variables[keyOf(group, name)] = stacVariable{Dimensions: dims, Type: kind, Description: about, Unit: unit}
	}
	if !isIndex && role != cf.LongitudeRole && role != cf.LatitudeRole {
		return nil
	}
	low, high, ok, err := ends(ctx, a)
	if err != nil || !ok {
		return err
	}
	if err := c.extend(role, low, high); err != nil {
		return fmt.Errorf("%s: %w", a.Path(), err)
	}
	if isIndex {
		c.Dimensions[dims[0]], err = dimensionOf(role, low, high, unit, about)
	}
	return err
}

// ends returns the smallest and the largest value of an array of numbers or times, and false if there are none.
func ends(ctx context.Context, a *store.Array) (low, high Number, ok bool, err error) {
	d, err := NewDecoder(a, nil)
	if err != nil || d.IsNumeric() != nil {
		return low, high, false, err
	}
	s, err := Measure(ctx, Whole(a), d)
	isFinite := s.Min.Time != "" || !math.IsNaN(s.Min.Float) && !math.IsInf(s.Min.Float, 0) && !math.IsInf(s.Max.Float, 0)
	return s.Min, s.Max, err == nil && s.Valid > 0 && isFinite, err
}

// extend makes the extents of the dataset include the values of a coordinate.
func (c *cube) extend(role cf.Role, low, high Number) error {
	switch role {
	case cf.LongitudeRole:
		c.west, c.east = union(c.west, c.east, low.Float, high.Float)
	case cf.LatitudeRole:
		c.south, c.north = union(c.south, c.north, low.Float, high.Float)
	case cf.TimeRole:
		begin, err := stacTime(low.Time)
		if err != nil {
			return err
		}
		end, err := stacTime(high.Time)
		if err != nil {
			return err
		}
		if c.begin == "" || begin < c.begin { // equal widths, so the order is that of the times
			c.begin = begin
		}
		c.end = max(c.end, end)
	}
	return nil
}

// union returns the range with both ranges in it. The first may be NaN.
func union(low, high, a, b float64) (float64, float64) {
	if math.IsNaN(low) {
		return a, b
	}
	return min(low, a), max(high, b)
}

// dimensionOf describes the dimension of a coordinate.
func dimensionOf(role cf.Role, low, high Number, unit, about string) (stacDimension, error) {
	d := stacDimension{Type: "coordinate", Extent: []any{low, high}, Unit: unit, Description: about}
	switch role {
	case cf.LongitudeRole, cf.XRole:
		d.Type, d.Axis = "spatial", "x"
	case cf.LatitudeRole, cf.YRole:
		d.Type, d.Axis = "spatial", "y"
	case cf.ZRole:
		d.Type, d.Axis = "spatial", "z"
	case cf.TimeRole:
		begin, err := stacTime(low.Time)
		if err != nil {
			return d, err
		}
		end, err := stacTime(high.Time)
		return stacDimension{Type: "temporal", Extent: []any{begin, end}, Description: about}, err
	}
	if role == cf.LongitudeRole || role == cf.LatitudeRole {
		d.Unit, d.ReferenceSystem = "", 4326
	}
	return d, nil
}

// stacTime returns a time as RFC 3339 has it. A day that only another calendar has, such as 30 February, becomes the last day of
// its month.
func stacTime(text string) (string, error) {
	date, clock, _ := strings.Cut(text, " ")
	if clock == "" {
		clock = "00:00:00"
	}
	for day := 31; ; day-- {
		if t, err := time.Parse(time.RFC3339, date+"T"+clock+"Z"); err == nil {
			return t.Format("2006-01-02T15:04:05Z"), nil
		}
		cut := strings.LastIndexByte(date, '-')
		if day < 28 || cut < 0 {
			return "", fmt.Errorf("the time %s is not one of the years 0 to 9999: %w", text, errors.ErrUnsupported)
		}
		date = fmt.Sprintf("%s-%02d", date[:cut], day)
	}
}
