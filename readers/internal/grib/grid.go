package grib

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"

	"varve/codec"
	"varve/codec/grib/geo"
	"varve/readers"
)

// gridLayout says how the variables of a group use its grid.
type gridLayout struct {
	dims        []*readers.Dimension
	coordinates []string // the variables with latitudes and longitudes, if these are no dimensions
	mapping     string   // the variable with the grid mapping, or empty
	straight    int      // the length of rows if every second one is stored backwards, or 0
	transposed  bool     // values are stored by columns
}

// grid adds the dimensions, coordinates and mapping of a grid.
func (b *builder) grid(gb *groupBuilder, group *gridGroup) *gridLayout {
	g, s, err := group.first.Grid, &gridLayout{}, error(nil)
	if !g.Regular() {
		name := "values"
		if g.Spectral() {
			name = "coefficients"
		}
		s.dims = []*readers.Dimension{gb.dimension(name, g.Points)}
		b.addLatLon(gb, group, s, g.CheckCoordinates())
		return s
	}
	if g.Alternates() {
		s.straight = g.Columns()
	}
	s.transposed = g.ByColumns()
	kind := g.Type
	granted := b.reserve(g.Ni + g.Nj)
	if !granted {
		kind = "" // any grid has coordinates in two dimensions that are computed when they are read
		b.problem(group.first, fmt.Errorf("no coordinates of rows and columns: %d × %d would make the coordinates of the file larger than %d numbers: %w", g.Nj, g.Ni, maxComputed, errors.ErrUnsupported))
	}
	switch kind {
	case "":
	case "regular_ll", "regular_gg":
		if lat, lon, err := g.Axes(); err == nil {
			y, x := gb.dimension("latitude", g.Nj), gb.dimension("longitude", g.Ni)
			s.dims = []*readers.Dimension{y, x}
			gb.inline("latitude", s.dims[:1], doubleType, doubles(lat), latLonAttributes[0]...)
			gb.inline("longitude", s.dims[1:], doubleType, doubles(lon), latLonAttributes[1]...)
			return s
		}
	case "rotated_ll", "rotated_gg":
		if lat, lon, err := g.Axes(); err == nil {
			b.rotated(gb, s, g, lat, lon)
		}
	case "space_view":
		if v, err := g.View(); err == nil {
			b.view(gb, s, g, v)
		}
	default:
		if p, err := g.Plane(); err == nil {
			b.plane(gb, s, p)
		}
	}
	if s.dims == nil {
		s.dims = []*readers.Dimension{gb.dimension("y", g.Nj), gb.dimension("x", g.Ni)}
	}
	if granted {
		err = g.CheckCoordinates()
	}
	b.addLatLon(gb, group, s, err)
	return s
}

// latLonAttributes has the attributes of latitudes and of longitudes.
var latLonAttributes = [2][]readers.Attribute{
	{textAttribute("units", "degrees_north"), textAttribute("standard_name", "latitude"), textAttribute("long_name", "latitude")},
	{textAttribute("units", "degrees_east"), textAttribute("standard_name", "longitude"), textAttribute("long_name", "longitude")},
}

// addLatLon adds the latitudes and longitudes of all points, if the grid definition of the first field has them. The codec grib.coordinate
// computes them from it when they are read. err says why it cannot.
func (b *builder) addLatLon(gb *groupBuilder, group *gridGroup, s *gridLayout, err error) {
	f := group.first
	if !f.Grid.DefinesCoordinates() {
		return
	}
	for i, name := range []string{"latitude", "longitude"} {
		v := &readers.Variable{Name: name, Dims: s.dims, Type: doubleType, Attributes: latLonAttributes[i]}
		config := fmt.Sprintf(`{"edition":%d,"axis":%q}`, f.Edition, name)
		if f.Grid.Alternates() {
			config = fmt.Sprintf(`{"edition":%d,"axis":%q,"straight":%d}`, f.Edition, name, f.Grid.Columns())
		}
		v.Storage = readers.Storage{Layout: readers.Chunked, Index: "grid definition", Plain: true, InOrder: true, Bytes: uint64(f.GridLength)}
		v.Storage.Pipeline.Bytes = codec.Spec{Name: "grib.coordinate", Config: json.RawMessage(config)}
		if s.transposed {
			v.Storage.Pipeline.Arrays = []codec.Spec{{Name: "transpose", Config: json.RawMessage(`{"order":[1,0]}`)}}
		}
		for _, d := range s.dims {
			v.Storage.ChunkShape = append(v.Storage.ChunkShape, d.Length)
		}
		refs := []readers.Ref{{Index: make([]uint64, len(s.dims)), Offset: f.GridOffset, Size: uint64(f.GridLength), Mask: f.gridCheck}}
		if err == nil {
			err = checkChunks(v, refs)
		}
		if err != nil {
			b.out.Problems = addProblem(b.out.Problems, path.Join(gb.group.Path, name), &readers.Error{Source: b.src.Name(), Offset: f.GridOffset, Err: err})
			continue
		}
		v.Storage.ReadIndex = refSeq(refs)
		gb.add(v)
		v.ReadAll = b.readAll(v)
		s.coordinates = append(s.coordinates, name)
	}
}

// crs is the name of the grid mapping variable.
const crs = "crs"

func (gb *groupBuilder) mapping(s *gridLayout, name string, numbers []geo.Number) {
	attributes := []readers.Attribute{textAttribute("grid_mapping_name", name)}
	for _, n := range numbers {
		attributes = append(attributes, numberAttribute(n.Name, n.Values...))
	}
	s.mapping = crs
	gb.inline(crs, nil, mappingType, make([]byte, 4), attributes...)
}

func (b *builder) plane(gb *groupBuilder, s *gridLayout, p *geo.Plane) {
	s.dims = []*readers.Dimension{gb.dimension("y", len(p.Y)), gb.dimension("x", len(p.X))}
	gb.inline("y", s.dims[:1], doubleType, doubles(p.Y), textAttribute("units", "m"), textAttribute("standard_name", "projection_y_coordinate"))
	gb.inline("x", s.dims[1:], doubleType, doubles(p.X), textAttribute("units", "m"), textAttribute("standard_name", "projection_x_coordinate"))
	gb.mapping(s, p.Name, p.Numbers)
}

func (b *builder) rotated(gb *groupBuilder, s *gridLayout, g *geo.Grid, lat, lon []float64) {
	s.dims = []*readers.Dimension{gb.dimension("rlat", len(lat)), gb.dimension("rlon", len(lon))}
	gb.inline("rlat", s.dims[:1], doubleType, doubles(lat), textAttribute("units", "degrees"), textAttribute("standard_name", "grid_latitude"))
	gb.inline("rlon", s.dims[1:], doubleType, doubles(lon), textAttribute("units", "degrees"), textAttribute("standard_name", "grid_longitude"))
	pole, _ := g.Pole()
	gb.mapping(s, "rotated_latitude_longitude", []geo.Number{
		{Name: "grid_north_pole_latitude", Values: []float64{-pole.Lat}},
		{Name: "grid_north_pole_longitude", Values: []float64{geo.Normal(pole.Lon + 180)}},
		{Name: "north_pole_grid_longitude", Values: []float64{pole.Angle}},
	})
}

func (b *builder) view(gb *groupBuilder, s *gridLayout, g *geo.Grid, v *geo.View) {
	s.dims = []*readers.Dimension{gb.dimension("y", len(v.Y)), gb.dimension("x", len(v.X))}
	gb.inline("y", s.dims[:1], doubleType, doubles(v.Y), textAttribute("units", "radian"), textAttribute("standard_name", "projection_y_angular_coordinate"))
	gb.inline("x", s.dims[1:], doubleType, doubles(v.X), textAttribute("units", "radian"), textAttribute("standard_name", "projection_x_angular_coordinate"))
	earth := g.Earth()
	gb.mapping(s, "geostationary", []geo.Number{
		{Name: "perspective_point_height", Values: []float64{v.Height}}, {Name: "longitude_of_projection_origin", Values: []float64{geo.Normal(v.Lon)}},
		{Name: "latitude_of_projection_origin", Values: []float64{0}},
		{Name: "semi_major_axis", Values: []float64{earth.Major}}, {Name: "semi_minor_axis", Values: []float64{earth.Minor}},
	})
}

// decoding returns the configuration of the codec grib.message for the fields of a cube, or nil.
func (s *gridLayout) decoding(c *cube) json.RawMessage {
	config := map[string]any{}
	if s.straight > 0 {
		config["straight"] = s.straight
	}
	if slices.ContainsFunc(c.fields, func(x placedField) bool { return x.Count > 1 }) {
		config["part"] = true
	}
	if len(config) == 0 {
		return nil
	}
	text, _ := json.Marshal(config) // numbers and booleans have no errors
	return text
}
