package grib

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"varve/codec"
	"varve/readers"
)

// Dataset puts the fields of the file into variables. Fields that have no place in one are among the problems.
func (f *File) Dataset() (*readers.Dataset, error) {
	s := &sorter{byKey: map[string]*gridGroup{}, cubes: map[kind]*cube{}}
	out := &readers.Dataset{Source: f.src, Format: f.format(), Root: &readers.Group{Path: "/"}, Problems: slices.Clone(f.Problems)}
	b := &builder{File: f, out: out}
	for _, field := range f.Fields {
		err := cmp.Or(field.GridErr, field.PackingErr)
		if err == nil {
			err = s.add(field)
		}
		if err != nil {
			b.problem(field, err)
		}
	}
	out.Root.Attributes = f.attributes()
	for _, g := range s.groups {
		g.splitLayers()
		g.splitCollisions()
		g.nameCubes()
	}
	titles := map[string]int{}
	for _, g := range s.groups {
		if len(g.cubes) == 0 {
			continue
		}
		into := out.Root
		if len(s.groups) > 1 {
			title := g.title()
			if titles[title]++; titles[title] > 1 {
				title = fmt.Sprintf("%s_%d", title, titles[title])
			}
			into = child(out.Root, title)
		}
		cubes := g.hypercubes()
		for _, h := range cubes {
			if len(cubes) > 1 {
				b.hypercube(child(into, h.name), h)
			} else {
				b.hypercube(into, h)
			}
		}
	}
	return out, nil
}

func (f *File) format() string {
	editions := [3]bool{}
	for _, field := range f.Fields {
		editions[field.Edition] = true
	}
	switch {
	case editions[1] && editions[2]:
		return "GRIB 1 and 2"
	case editions[1]:
		return "GRIB 1"
	}
	return "GRIB 2"
}

func child(g *readers.Group, name string) *readers.Group {
	c := &readers.Group{Name: name, Path: path.Join(g.Path, name)}
	g.Groups = append(g.Groups, c)
	return c
}

// attributes are those of the root: the centre, if all fields are of one.
func (f *File) attributes() []readers.Attribute {
	first := f.Fields[0]
	for _, field := range f.Fields {
		if field.Centre() != first.Centre() {
			return nil
		}
	}
	return []readers.Attribute{textAttribute("Conventions", "CF-1.8"), textAttribute("GRIB_centre", first.Centre())}
}

// builder makes the groups and variables of a dataset.
type builder struct {
	*File
	out *readers.Dataset
}

func (b *builder) problem(f *Field, err error) {
	if len(b.out.Problems) < maxProblems {
		at := fmt.Sprintf("/message at %d", f.Offset)
		if f.Count > 1 {
			at += fmt.Sprintf(", field %d", f.Index)
		}
		b.out.Problems = append(b.out.Problems, readers.Problem{Path: at, Err: &readers.Error{Source: b.src.Name(), Offset: f.Offset, Err: err}})
	}
}

// room makes the names of dimensions and coordinates, which are made once, and those of variables differ.
type room struct {
	group *readers.Group
	dims  map[string]*readers.Dimension
	names map[string]bool
}

func (r *room) dimension(name string, length int) *readers.Dimension {
	d := r.dims[name]
	if d == nil {
		d = &readers.Dimension{Name: name, Path: path.Join(r.group.Path, name), Length: uint64(length)}
		r.dims[name] = d
		r.group.Dimensions = append(r.group.Dimensions, d)
	}
	return d
}

func (r *room) add(v *readers.Variable) {
	r.names[v.Name] = true
	v.Path = path.Join(r.group.Path, v.Name)
	for _, d := range v.Dims {
		v.Shape, v.MaxShape = append(v.Shape, d.Length), append(v.MaxShape, d.Length)
	}
	r.group.Variables = append(r.group.Variables, v)
}

// inline adds a variable whose elements are known. They are doubles, or integers of 8 bytes.
func (r *room) inline(name string, dims []*readers.Dimension, t *readers.Type, data []byte, attributes ...readers.Attribute) {
	v := &readers.Variable{Name: name, Dims: dims, Type: t, Attributes: attributes}
	v.Storage = readers.Storage{Layout: readers.Inline, Bytes: uint64(len(data)), Data: data, Plain: true, Pipeline: readers.Pipeline{Bytes: codec.Spec{Name: "bytes", Config: json.RawMessage(`{"endian":"little"}`)}}}
	r.add(v)
	v.ReadAll = func(ctx context.Context, limit uint64) (readers.Value, error) {
		if err := checkLimit(ctx, uint64(len(data)), limit); err != nil {
			return readers.Value{}, err
		}
		return readers.Value{Type: t, Shape: v.Shape, Data: data}, nil
	}
}

func checkLimit(ctx context.Context, n, limit uint64) error {
	if ctx.Err() == nil && n > limit {
		return fmt.Errorf("the values take %d bytes, more than the %d asked for", n, limit)
	}
	return ctx.Err()
}

// hypercube makes the variables of a group.
func (b *builder) hypercube(group *readers.Group, h *hypercube) {
	r := &room{group: group, dims: map[string]*readers.Dimension{}, names: map[string]bool{}}
	front := r.coordinates(h)
	space := b.grid(r, h.grid)
	for _, c := range h.cubes {
		b.variable(r, h, c, front, space)
	}
}

// epoch is the unit of times.
const epoch = "seconds since 1970-01-01T00:00:00"

func timeAttributes(standard, long string) []readers.Attribute {
	return []readers.Attribute{textAttribute("standard_name", standard), textAttribute("long_name", long), textAttribute("units", epoch), textAttribute("calendar", "proleptic_gregorian")}
}

// axisNames are the names of dimensions, as cfgrib has them.
var axisNames = [axes]string{memberAxis: "number", timeAxis: "time", stepAxis: "step"}

// coordinates adds the dimensions in front of the grid, with their coordinates, and returns their names by the type of level.
func (r *room) coordinates(h *hypercube) [levelAxis]*readers.Dimension {
	var dims [levelAxis]*readers.Dimension
	for a, list := range h.along[:levelAxis] {
		if len(list) > 0 {
			dims[a] = r.dimension(axisNames[a], len(list))
		}
	}
	if d := dims[memberAxis]; d != nil {
		r.inline("number", []*readers.Dimension{d}, integerType, integers(whole(h.along[memberAxis], 1)),
			textAttribute("standard_name", "realization"), textAttribute("long_name", "ensemble member numerical id"), textAttribute("units", "1"))
	}
	times := whole(h.along[timeAxis], 1)
	r.inline("time", []*readers.Dimension{dims[timeAxis]}, integerType, integers(times), timeAttributes("forecast_reference_time", "initial time of forecast")...)
	steps, stepDims := h.along[stepAxis], []*readers.Dimension(nil)
	if dims[stepAxis] != nil {
		stepDims = []*readers.Dimension{dims[stepAxis]}
	} else {
		steps = []float64{0}
	}
	hours := make([]float64, len(steps))
	for i, s := range steps {
		hours[i] = s / float64(time.Hour)
	}
	r.inline("step", stepDims, doubleType, doubles(hours),
		textAttribute("standard_name", "forecast_period"), textAttribute("long_name", "time since forecast_reference_time"), textAttribute("units", "hours"))
	valid := make([]int64, 0, len(times)*len(steps))
	for _, t := range times {
		for _, s := range steps {
			valid = append(valid, t+int64(s)/int64(time.Second))
		}
	}
	r.inline("valid_time", append([]*readers.Dimension{dims[timeAxis]}, stepDims...), integerType, integers(valid), timeAttributes("time", "time")...)
	for _, t := range sortedKeys(h.levels) {
		r.levels(t, h.levels[t])
	}
	return dims
}

func whole(list []float64, unit float64) []int64 {
	out := make([]int64, len(list))
	for i, v := range list {
		out[i] = int64(v / unit)
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// levelAttributes are units, direction and standard names of types of levels.
var levelAttributes = map[string][3]string{
	"isobaricInhPa": {"hPa", "down", "air_pressure"}, "isobaricInPa": {"Pa", "down", "air_pressure"}, "isobaricLayer": {"hPa", "down", "air_pressure"},
	"heightAboveGround": {"m", "up", "height"}, "heightAboveGroundLayer": {"m", "up", "height"}, "heightAboveSea": {"m", "up", "altitude"},
	"hybrid": {"1", "down", "atmosphere_hybrid_sigma_pressure_coordinate"}, "hybridLayer": {"1", "down", ""}, "theta": {"K", "up", "air_potential_temperature"},
	"depthBelowLand": {"m", "down", "depth"}, "depthBelowLandLayer": {"m", "down", "depth"}, "depthBelowSea": {"m", "down", "depth"},
	"potentialVorticity": {"1e-9 K m2 kg-1 s-1", "up", ""}, "soilLayer": {"1", "down", ""}, "generalVerticalLayer": {"1", "down", ""}, "sigma": {"1", "down", "atmosphere_sigma_coordinate"},
}

func attributesOfLevel(levelType string) []readers.Attribute {
	known := levelAttributes[levelType]
	out := []readers.Attribute{textAttribute("long_name", levelType), textAttribute("units", cmp.Or(known[0], "1"))}
	if known[1] != "" {
		out = append(out, textAttribute("positive", known[1]))
	}
	if known[2] != "" {
		out = append(out, textAttribute("standard_name", known[2]))
	}
	return out
}

// levels adds a dimension of levels, with bounds if these are layers.
func (r *room) levels(levelType string, list [][2]float64) {
	d := r.dimension(levelType, len(list))
	values, bounds, layers := make([]float64, len(list)), make([]float64, 0, 2*len(list)), false
	for i, l := range list {
		values[i] = l[0]
		bounds = append(bounds, l[0], l[1])
		layers = layers || l[0] != l[1]
	}
	attributes := attributesOfLevel(levelType)
	if layers {
		attributes = append(attributes, textAttribute("bounds", levelType+"_bnds"))
	}
	r.inline(levelType, []*readers.Dimension{d}, doubleType, doubles(values), attributes...)
	if layers {
		r.inline(levelType+"_bnds", []*readers.Dimension{d, r.dimension("bnds", 2)}, doubleType, doubles(bounds))
	}
}

// variable adds the variable of a cube.
func (b *builder) variable(r *room, h *hypercube, c *cube, front [levelAxis]*readers.Dimension, space *space) {
	v := &readers.Variable{Name: r.free(c.name), Type: floatType, Fill: readers.Fill{State: readers.FillUser, Value: binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(math.NaN())))}}
	chunk := []uint64{}
	for a, d := range front {
		if c.has[a] {
			v.Dims, chunk = append(v.Dims, d), append(chunk, 1)
		}
	}
	if c.has[levelAxis] {
		v.Dims, chunk = append(v.Dims, r.dims[c.levelType]), append(chunk, 1)
	}
	coordinates := space.coordinates
	if c.has[stepAxis] || front[stepAxis] == nil { // or they are along a dimension that the variable does not have
		coordinates = append([]string{"valid_time", "step"}, coordinates...)
	}
	if !c.has[levelAxis] {
		if name := r.level(h, c); name != "" {
			coordinates = append(coordinates, name)
		}
	}
	before := len(v.Dims)
	v.Dims = append(v.Dims, space.dims...)
	for _, d := range space.dims {
		chunk = append(chunk, d.Length)
	}
	v.Attributes = c.attributes(space, coordinates)
	r.add(v)
	s := &v.Storage
	s.Layout, s.ChunkShape, s.Index, s.Plain = readers.Chunked, chunk, "messages", true
	s.Pipeline.Bytes = codec.Spec{Name: "grib.message", Config: space.config}
	if space.transposed {
		order := make([]int, before+2)
		for i := range order {
			order[i] = i
		}
		order[before], order[before+1] = before+1, before
		config, _ := json.Marshal(map[string]any{"order": order})
		s.Pipeline.Arrays = []codec.Spec{{Name: "transpose", Config: config}}
	}
	refs := b.refs(h, c, before)
	for _, ref := range refs {
		s.Bytes += ref.Size
	}
	s.InOrder = true
	s.ReadIndex = listed(refs)
	v.ReadAll = b.readAll(v)
}

func listed(refs []readers.Ref) func(context.Context) iter.Seq2[*readers.Ref, error] {
	return func(ctx context.Context) iter.Seq2[*readers.Ref, error] {
		return func(yield func(*readers.Ref, error) bool) {
			for i := range refs {
				if err := ctx.Err(); err != nil {
					yield(nil, err)
					return
				}
				ref := refs[i]
				if !yield(&ref, nil) {
					return
				}
			}
		}
	}
}

// refs says where the chunks of a cube are. Of several fields in one place it takes the first.
func (b *builder) refs(h *hypercube, c *cube, before int) []readers.Ref {
	refs := make([]readers.Ref, 0, len(c.cells))
	for i := range c.cells {
		x := &c.cells[i]
		index := h.index(c, x)
		index = append(index, make([]uint64, len(c.dims()))...)
		refs = append(refs, readers.Ref{Index: index, Offset: x.From, Size: uint64(x.To - x.From)})
	}
	slices.SortStableFunc(refs, func(x, y readers.Ref) int { return slices.Compare(x.Index, y.Index) })
	doubled := 0
	out := slices.CompactFunc(refs, func(x, y readers.Ref) bool {
		same := slices.Equal(x.Index, y.Index)
		if same {
			doubled++
		}
		return same
	})
	if doubled > 0 {
		b.problem(c.first, fmt.Errorf("%s: %d more fields are in the place of others, by all keys that tell fields apart; the first of each is taken", c.name, doubled))
	}
	return out
}

// dims are as many as a field has: two, or one if its rows differ in length.
func (c *cube) dims() []struct{} {
	if c.first.Grid.Regular() {
		return make([]struct{}, 2)
	}
	return make([]struct{}, 1)
}

// free is a name that no variable or dimension of the group has.
func (r *room) free(name string) string {
	for r.names[name] || r.dims[name] != nil {
		name += "_"
	}
	return name
}

// level adds the single level of a cube as a scalar coordinate, and returns its name: the type of level, if all that have a single one
// have the same, else with the level behind it. Types of levels that are at one height by their nature, such as the surface, are no
// coordinate.
func (r *room) level(h *hypercube, c *cube) string {
	at := c.cells[0].place
	if at.top == 0 && at.base == 0 {
		return ""
	}
	name := c.levelType
	other := func(o *cube) bool {
		return o.levelType == c.levelType && (o.has[levelAxis] || o.cells[0].top != at.top)
	}
	if slices.ContainsFunc(h.cubes, other) {
		name = strings.NewReplacer(".", "_", "-", "m", "+", "").Replace(fmt.Sprintf("%s_%g", c.levelType, at.top))
	}
	if lookup(r.group, name) == nil {
		r.inline(name, nil, doubleType, doubles([]float64{at.top}), attributesOfLevel(c.levelType)...)
	}
	return name
}

func lookup(g *readers.Group, name string) *readers.Variable {
	if i := slices.IndexFunc(g.Variables, func(v *readers.Variable) bool { return v.Name == name }); i >= 0 {
		return g.Variables[i]
	}
	return nil
}

// attributes of the variable of a cube: those of CF, and those that cfgrib gives.
func (c *cube) attributes(space *space, coordinates []string) []readers.Attribute {
	f, n := c.first, c.first.Names()
	var out []readers.Attribute
	add := func(name, value string) {
		if value != "" && value != unknown {
			out = append(out, textAttribute(name, value))
		}
	}
	add("long_name", n.Name)
	add("units", n.Units)
	add("standard_name", n.StandardName)
	if method := cellMethods[c.kind.statistic]; method != "" && c.has[stepAxis] {
		add("cell_methods", "step: "+method)
	}
	add("coordinates", strings.Join(coordinates, " "))
	add("grid_mapping", space.mapping)
	if n.ParamID != 0 {
		out = append(out, integerAttribute("GRIB_paramId", n.ParamID))
	}
	add("GRIB_shortName", n.ShortName)
	add("GRIB_name", n.Name)
	add("GRIB_units", n.Units)
	add("GRIB_cfName", n.StandardName)
	add("GRIB_cfVarName", n.VarName)
	add("GRIB_typeOfLevel", c.levelType)
	add("GRIB_stepType", c.kind.statistic)
	add("GRIB_gridType", f.Grid.Type)
	if f.Edition == 2 {
		for _, key := range []string{"discipline", "parameterCategory", "parameterNumber"} {
			if v, ok := f.Int(key); ok {
				out = append(out, integerAttribute("GRIB_"+key, v))
			}
		}
	}
	return out
}

// cellMethods are what CF calls statistics over time.
var cellMethods = map[string]string{"accum": "sum", "avg": "mean", "max": "maximum", "min": "minimum", "sd": "standard_deviation", "sum": "sum", "rms": "root_mean_square"}

// readAll returns a function that decodes all chunks of a variable.
func (b *builder) readAll(v *readers.Variable) func(context.Context, uint64) (readers.Value, error) {
	return func(ctx context.Context, limit uint64) (readers.Value, error) {
		value, err := b.decode(ctx, v, limit)
		var known *readers.Error
		if err != nil && !errors.As(err, &known) && ctx.Err() == nil {
			err = &readers.Error{Source: b.src.Name(), Path: v.Path, Offset: -1, Err: err}
		}
		return value, err
	}
}

func (b *builder) decode(ctx context.Context, v *readers.Variable, limit uint64) (readers.Value, error) {
	total, per := uint64(v.Type.Size), uint64(v.Type.Size)
	shape := make([]int64, len(v.Shape))
	for i, n := range v.Shape {
		if n > 0 && total > math.MaxInt64/n {
			return readers.Value{}, fmt.Errorf("the values take more than 2^63 bytes")
		}
		total *= n
		per *= v.Storage.ChunkShape[i]
		shape[i] = int64(v.Storage.ChunkShape[i])
	}
	if err := checkLimit(ctx, total, limit); err != nil {
		return readers.Value{}, err
	}
	element, _ := v.Type.Element()
	form := codec.Form{Type: element, Shape: shape, Fill: v.Fill.Value}
	if err := cmp.Or(form.CheckSize(), form.CheckGrowth(int64(v.Storage.Bytes))); err != nil {
		return readers.Value{}, err
	}
	specs, err := v.Storage.Pipeline.Specs(0)
	if err != nil {
		return readers.Value{}, err
	}
	pipeline, err := codec.New(specs, form)
	if err != nil {
		return readers.Value{}, err
	}
	out := make([]byte, total)
	codec.Elems{Fixed: out}.SetFill(codec.Form{Type: element, Fill: v.Fill.Value, Shape: []int64{int64(total) / int64(v.Type.Size)}})
	for ref, err := range v.Storage.Refs(ctx) {
		if err != nil {
			return readers.Value{}, err
		}
		at := uint64(0)
		for i, n := range ref.Index {
			at = at*(v.Shape[i]/v.Storage.ChunkShape[i]) + n
		}
		stored := make([]byte, ref.Size)
		if _, err := b.src.ReadAt(ctx, stored, ref.Offset); err != nil {
			return readers.Value{}, err
		}
		if err := pipeline.Decode(codec.Elems{Fixed: out[at*per : (at+1)*per]}, stored); err != nil {
			return readers.Value{}, &readers.Error{Source: b.src.Name(), Path: v.Path, Offset: ref.Offset, Err: err}
		}
	}
	return readers.Value{Type: v.Type, Shape: v.Shape, Data: out}, nil
}
