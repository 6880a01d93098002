package grib

import (
	"encoding/json"
	"fmt"

	"varve/codec"
	"varve/codec/grib/geo"
	"varve/readers"
)

// space is the grid of a group: its dimensions and what variables name.
type space struct {
	dims        []*readers.Dimension
	coordinates []string // without those of dimensions
	mapping     string
	config      json.RawMessage // of the codec of messages
	transposed  bool            // values are stored by columns
}

// grid adds the dimensions, coordinates and mapping of a grid.
func (b *builder) grid(r *room, group *gridGroup) *space {
	g, s := group.first.Grid, &space{}
	if !g.Regular() {
		name := "values"
		if g.Spectral() {
			name = "coefficients"
		}
		s.dims = []*readers.Dimension{r.dimension(name, g.Points)}
		if g.HasCoordinates() {
			b.places(r, group, s)
		}
		return s
	}
	if g.Alternates() {
		s.config = json.RawMessage(fmt.Sprintf(`{"straight":%d}`, g.Columns()))
	}
	s.transposed = g.ByColumns()
	switch g.Type {
	case "regular_ll", "regular_gg":
		if lat, lon, err := g.Axes(); err == nil {
			y, x := r.dimension("latitude", g.Nj), r.dimension("longitude", g.Ni)
			s.dims = []*readers.Dimension{y, x}
			r.inline("latitude", s.dims[:1], doubleType, doubles(lat), places[0]...)
			r.inline("longitude", s.dims[1:], doubleType, doubles(lon), places[1]...)
			return s
		}
	case "rotated_ll", "rotated_gg":
		if lat, lon, err := g.Axes(); err == nil {
			b.rotated(r, s, g, lat, lon)
		}
	case "space_view":
		if v, err := g.View(); err == nil {
			b.view(r, s, g, v)
		}
	default:
		if p, err := g.Plane(); err == nil {
			b.plane(r, s, p)
		}
	}
	if s.dims == nil {
		s.dims = []*readers.Dimension{r.dimension("y", g.Nj), r.dimension("x", g.Ni)}
	}
	if g.HasCoordinates() {
		b.places(r, group, s)
	}
	return s
}

// places are the attributes of latitudes and longitudes.
var places = [2][]readers.Attribute{
	{textAttribute("units", "degrees_north"), textAttribute("standard_name", "latitude"), textAttribute("long_name", "latitude")},
	{textAttribute("units", "degrees_east"), textAttribute("standard_name", "longitude"), textAttribute("long_name", "longitude")},
}

// places adds the latitudes and longitudes of all points. They are made of the grid definition of the first field when they are read.
func (b *builder) places(r *room, group *gridGroup, s *space) {
	f := group.first
	for i, name := range []string{"latitude", "longitude"} {
		v := &readers.Variable{Name: name, Dims: s.dims, Type: doubleType, Attributes: places[i]}
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
		v.Storage.ReadIndex = listed([]readers.Ref{{Index: make([]uint64, len(s.dims)), Offset: f.GridOffset, Size: uint64(f.GridLength)}})
		r.add(v)
		v.ReadAll = b.readAll(v)
		s.coordinates = append(s.coordinates, name)
	}
}

// crs is the name of grid mappings.
const crs = "crs"

func (r *room) mapping(s *space, name string, numbers []geo.Number) {
	attributes := []readers.Attribute{textAttribute("grid_mapping_name", name)}
	for _, n := range numbers {
		attributes = append(attributes, numberAttribute(n.Name, n.Values...))
	}
	s.mapping = crs
	r.inline(crs, nil, mappingType, make([]byte, 4), attributes...)
}

func (b *builder) plane(r *room, s *space, p *geo.Plane) {
	s.dims = []*readers.Dimension{r.dimension("y", len(p.Y)), r.dimension("x", len(p.X))}
	r.inline("y", s.dims[:1], doubleType, doubles(p.Y), textAttribute("units", "m"), textAttribute("standard_name", "projection_y_coordinate"))
	r.inline("x", s.dims[1:], doubleType, doubles(p.X), textAttribute("units", "m"), textAttribute("standard_name", "projection_x_coordinate"))
	r.mapping(s, p.Name, p.Numbers)
}

func (b *builder) rotated(r *room, s *space, g *geo.Grid, lat, lon []float64) {
	s.dims = []*readers.Dimension{r.dimension("rlat", len(lat)), r.dimension("rlon", len(lon))}
	r.inline("rlat", s.dims[:1], doubleType, doubles(lat), textAttribute("units", "degrees"), textAttribute("standard_name", "grid_latitude"))
	r.inline("rlon", s.dims[1:], doubleType, doubles(lon), textAttribute("units", "degrees"), textAttribute("standard_name", "grid_longitude"))
	pole, _ := g.Pole()
	r.mapping(s, "rotated_latitude_longitude", []geo.Number{
		{Name: "grid_north_pole_latitude", Values: []float64{-pole.Lat}},
		{Name: "grid_north_pole_longitude", Values: []float64{geo.Normal(pole.Lon + 180)}},
		{Name: "north_pole_grid_longitude", Values: []float64{pole.Angle}},
	})
}

func (b *builder) view(r *room, s *space, g *geo.Grid, v *geo.View) {
	s.dims = []*readers.Dimension{r.dimension("y", len(v.Y)), r.dimension("x", len(v.X))}
	r.inline("y", s.dims[:1], doubleType, doubles(v.Y), textAttribute("units", "radian"), textAttribute("standard_name", "projection_y_angular_coordinate"))
	r.inline("x", s.dims[1:], doubleType, doubles(v.X), textAttribute("units", "radian"), textAttribute("standard_name", "projection_x_angular_coordinate"))
	earth := g.Earth()
	r.mapping(s, "geostationary", []geo.Number{
		{Name: "perspective_point_height", Values: []float64{v.Height}}, {Name: "longitude_of_projection_origin", Values: []float64{geo.Normal(v.Lon)}},
		{Name: "latitude_of_projection_origin", Values: []float64{0}},
		{Name: "semi_major_axis", Values: []float64{earth.Major}}, {Name: "semi_minor_axis", Values: []float64{earth.Minor}},
	})
}
