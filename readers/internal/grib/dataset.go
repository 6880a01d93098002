package grib

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"varve/codec"
	"varve/codec/grib/geo"
	"varve/readers"
)

// Dataset sorts the fields of the file into variables. Fields that cannot be decoded or sorted are listed as problems.
func (f *File) Dataset(names NameScheme, times Times) (*readers.Dataset, error) {
	if err := names.check(f.Fields); err != nil {
		return nil, asError(f.src, err)
	}
	s := &sorter{names: names, times: times, byKey: map[string]*gridGroup{}, byGrid: map[*geo.Grid]*gridGroup{}, cubes: map[kind]*cube{}}
	out := &readers.Dataset{Source: f.src, Format: f.format(), Root: &readers.Group{Path: "/"}, Problems: slices.Clone(f.Problems)}
	b := &builder{File: f, out: out, times: times}
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
		if times == ValidTimes {
			g.byLead()
		}
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

// attributes returns the attributes of the root group: the centre, if all fields come from the same.
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
	times    Times
	out      *readers.Dataset
	computed int // the numbers that reserve has granted
}

// maxComputed bounds the numbers of all coordinates that are computed when a file is opened: 64 MiB of float64.
const maxComputed = 1 << 23

// reserve reports whether n more numbers may be computed when the file is opened. A message of a hundred bytes can declare millions of
// rows and columns, and n fields can have n times and n steps, which are n² valid times.
func (b *builder) reserve(n int) bool {
	if n > maxComputed-b.computed {
		return false
	}
	b.computed += n
	return true
}

func (b *builder) problem(f *Field, err error) {
	path := fmt.Sprintf("/message at %d", f.Offset)
	if f.Count > 1 {
		path += fmt.Sprintf(", field %d", f.Index)
	}
	b.out.Problems = addProblem(b.out.Problems, path, &readers.Error{Source: b.src.Name(), Offset: f.Offset, Err: err})
}

// groupBuilder adds dimensions and variables to a group.
type groupBuilder struct {
	group  *readers.Group
	dims   map[string]*readers.Dimension // by name
	names  map[string]bool               // of the variables
	levels map[string]*singleLevels      // by type of level
}

// dimension returns the dimension of a name, and adds it if the group does not have it yet.
func (gb *groupBuilder) dimension(name string, length int) *readers.Dimension {
	d := gb.dims[name]
	if d == nil {
		d = &readers.Dimension{Name: name, Path: path.Join(gb.group.Path, name), Length: uint64(length)}
		gb.dims[name] = d
		gb.group.Dimensions = append(gb.group.Dimensions, d)
	}
	return d
}

// add adds a variable. It sets its path and shape.
func (gb *groupBuilder) add(v *readers.Variable) {
	gb.names[v.Name] = true
	v.Path = path.Join(gb.group.Path, v.Name)
	for _, d := range v.Dims {
		v.Shape, v.MaxShape = append(v.Shape, d.Length), append(v.MaxShape, d.Length)
	}
	gb.group.Variables = append(gb.group.Variables, v)
}

// inline adds a variable whose elements are in data, little-endian.
func (gb *groupBuilder) inline(name string, dims []*readers.Dimension, t *readers.Type, data []byte, attributes ...readers.Attribute) {
	v := &readers.Variable{Name: name, Dims: dims, Type: t, Attributes: attributes}
	v.Storage = readers.Storage{Layout: readers.Inline, Bytes: uint64(len(data)), Data: data, Plain: true, Pipeline: readers.Pipeline{Bytes: codec.InOrder(codec.LittleEndian)}}
	gb.add(v)
	v.ReadAll = func(ctx context.Context, limit uint64) (readers.Value, error) {
		if err := checkLimit(ctx, uint64(len(data)), limit); err != nil {
			return readers.Value{}, err
		}
		return readers.Value{Type: t, Shape: v.Shape, Data: data}, nil
	}
}

func checkLimit(ctx context.Context, n, limit uint64) error {
	if ctx.Err() == nil && n > limit {
		return fmt.Errorf("values take %d bytes, which is more than the limit of %d", n, limit)
	}
	return ctx.Err()
}

// hypercube adds the variables of a hypercube to a group.
func (b *builder) hypercube(group *readers.Group, h *hypercube) {
	gb := &groupBuilder{group: group, dims: map[string]*readers.Dimension{}, names: map[string]bool{}, levels: singleLevelsOf(h.cubes)}
	front := b.coordinates(gb, h)
	layout := b.grid(gb, h.grid)
	for _, c := range h.cubes {
		b.variable(gb, h, c, front, layout)
	}
}

// epoch is the units attribute of times.
const epoch = "seconds since 1970-01-01T00:00:00"

func timeAttributes(standard, long string) []readers.Attribute {
	return []readers.Attribute{textAttribute("standard_name", standard), textAttribute("long_name", long), textAttribute("units", epoch), textAttribute("calendar", "proleptic_gregorian")}
}

// axisNames has the names that cfgrib gives to the dimensions of members, times and steps.
var axisNames = [levelAxis]string{memberAxis: "number", timeAxis: "time", stepAxis: "step"}

var memberAttributes = []readers.Attribute{textAttribute("standard_name", "realization"), textAttribute("long_name", "ensemble member numerical id"), textAttribute("units", "1")}

// isMemberZero reports whether all fields state the member 0 of no ensemble, as many files of edition 1 do.
func (h *hypercube) isMemberZero() bool {
	for _, c := range h.cubes {
		for i := range c.fields {
			if n, ok := c.fields[i].Int("perturbationNumber"); !ok || n != 0 {
				return false
			}
		}
	}
	return true
}

// coordinates adds the dimensions in front of the grid and their coordinates. It returns the dimensions of members, times and steps; nil
// for one that the hypercube does not have.
func (b *builder) coordinates(gb *groupBuilder, h *hypercube) [levelAxis]*readers.Dimension {
	var dims [levelAxis]*readers.Dimension
	for a, list := range h.along {
		if len(list) > 0 {
			dims[a] = gb.dimension(axisNames[a], len(list))
		}
	}
	if d := dims[memberAxis]; d != nil {
		gb.inline("number", []*readers.Dimension{d}, integerType, integers(whole(h.along[memberAxis])), memberAttributes...)
	}
	if dims[memberAxis] == nil && h.isMemberZero() {
		gb.inline("number", nil, integerType, integers([]int64{0}), memberAttributes...)
	}
	if b.times == ValidTimes {
		b.validTimes(gb, h, dims[timeAxis])
	} else {
		b.referenceTimes(gb, h, dims[timeAxis], dims[stepAxis])
	}
	for _, name := range slices.Sorted(maps.Keys(h.levels)) {
		gb.addLevels(name, h.levels[name])
	}
	return dims
}

// referenceTimes adds the coordinates of reference times, lead times and valid times. step is nil if all lead times are 0.
func (b *builder) referenceTimes(gb *groupBuilder, h *hypercube, at, step *readers.Dimension) {
	times := whole(h.along[timeAxis])
	gb.inline("time", []*readers.Dimension{at}, integerType, integers(times), timeAttributes("forecast_reference_time", "initial time of forecast")...)
	steps, stepDims := h.along[stepAxis], []*readers.Dimension(nil)
	if step != nil {
		stepDims = []*readers.Dimension{step}
	} else {
		steps = []float64{0}
	}
	hours := make([]float64, len(steps))
	for i, s := range steps {
		hours[i] = s / float64(time.Hour)
	}
	gb.inline("step", stepDims, doubleType, doubles(hours), stepAttributes...)
	if b.reserve(len(times) * len(steps)) {
		valid := make([]int64, 0, len(times)*len(steps))
		for _, t := range times {
			for _, s := range steps {
				valid = append(valid, t+int64(s)/int64(time.Second))
			}
		}
		gb.inline("valid_time", append([]*readers.Dimension{at}, stepDims...), integerType, integers(valid), timeAttributes("time", "time")...)
	} else {
		b.problem(h.cubes[0].first, fmt.Errorf("no valid_time: %d times and %d steps would make the coordinates of the file larger than %d numbers: %w", len(times), len(steps), maxComputed, errors.ErrUnsupported))
	}
}

// whole converts numbers without a fraction to integers.
func whole(list []float64) []int64 {
	out := make([]int64, len(list))
	for i, v := range list {
		out[i] = int64(v)
	}
	return out
}

// levelAttributes has the units, the positive direction and the standard name of each type of level.
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

// addLevels adds a dimension of levels and its coordinate, with bounds if any level is a layer.
func (gb *groupBuilder) addLevels(name string, levels *levelDim) {
	list := levels.list
	d := gb.dimension(name, len(list))
	values, bounds, layers := make([]float64, len(list)), make([]float64, 0, 2*len(list)), false
	for i, l := range list {
		values[i] = l[0]
		bounds = append(bounds, l[0], l[1])
		layers = layers || l[0] != l[1]
	}
	attributes := attributesOfLevel(levels.levelType)
	if layers {
		attributes = append(attributes, textAttribute("bounds", name+"_bnds"))
	}
	gb.inline(name, []*readers.Dimension{d}, doubleType, doubles(values), attributes...)
	if layers {
		gb.inline(name+"_bnds", []*readers.Dimension{d, gb.dimension("bnds", 2)}, doubleType, doubles(bounds))
	}
}

// variable adds the variable of a cube.
func (b *builder) variable(gb *groupBuilder, h *hypercube, c *cube, front [levelAxis]*readers.Dimension, layout *gridLayout) {
	v := &readers.Variable{Name: gb.free(c.name), Type: floatType, Fill: readers.Fill{State: readers.FillUser, Value: binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(math.NaN())))}}
	chunk := []uint64{}
	for a, d := range front {
		if c.has[a] {
			v.Dims, chunk = append(v.Dims, d), append(chunk, 1)
		}
	}
	if c.has[levelAxis] {
		v.Dims, chunk = append(v.Dims, gb.dims[c.levelDim]), append(chunk, 1)
	}
	var coordinates []string
	for _, name := range []string{"step", "forecast_reference_time"} {
		if b.times == ValidTimes && gb.names[name] {
			coordinates = append(coordinates, name)
		}
	}
	if b.times != ValidTimes && (c.has[stepAxis] || front[stepAxis] == nil) { // otherwise valid_time and step have a dimension that the variable does not have
		if gb.names["valid_time"] {
			coordinates = append(coordinates, "valid_time")
		}
		coordinates = append(coordinates, "step")
	}
	if front[memberAxis] == nil && gb.names["number"] {
		coordinates = append(coordinates, "number")
	}
	coordinates = append(coordinates, layout.coordinates...)
	if !c.has[levelAxis] {
		if name := gb.level(c); name != "" {
			coordinates = append(coordinates, name)
		}
	}
	before := len(v.Dims)
	v.Dims = append(v.Dims, layout.dims...)
	for _, d := range layout.dims {
		chunk = append(chunk, d.Length)
	}
	v.Attributes = c.attributes(b.times, layout, coordinates)
	s := &v.Storage
	s.Layout, s.ChunkShape, s.Index, s.Plain = readers.Chunked, chunk, "messages", true
	s.Pipeline.Bytes = codec.Spec{Name: "grib.message", Config: layout.decoding(c)}
	if layout.transposed {
		order := make([]int, before+2)
		for i := range order {
			order[i] = i
		}
		order[before], order[before+1] = before+1, before
		config, _ := json.Marshal(map[string]any{"order": order})
		s.Pipeline.Arrays = []codec.Spec{{Name: "transpose", Config: config}}
	}
	refs := b.refs(h, c, len(layout.dims))
	if err := checkChunks(v, refs); err != nil {
		b.out.Problems = addProblem(b.out.Problems, path.Join(gb.group.Path, v.Name), &readers.Error{Source: b.src.Name(), Offset: refs[0].Offset, Err: err})
		return
	}
	for _, ref := range refs {
		s.Bytes += ref.Size
	}
	s.InOrder = true
	s.ReadIndex = refSeq(refs)
	v.ReadAll = b.readAll(v)
	gb.add(v)
}

// checkChunks returns an error if chunks of a variable are larger than a chunk may be in memory, or than its stored bytes allow.
func checkChunks(v *readers.Variable, refs []readers.Ref) error {
	form := codec.Form{}
	form.Type, _ = v.Type.Element()
	for _, n := range v.Storage.ChunkShape {
		form.Shape = append(form.Shape, int64(n))
	}
	if err := form.CheckSize(); err != nil {
		return err
	}
	for _, ref := range refs {
		if err := form.CheckGrowth(int64(ref.Size)); err != nil {
			return fmt.Errorf("%v: %w", err, errors.ErrUnsupported)
		}
	}
	return nil
}

// refSeq returns a ReadIndex that yields copies of refs.
func refSeq(refs []readers.Ref) func(context.Context) iter.Seq2[*readers.Ref, error] {
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

// refs returns the references of a cube's chunks in index order. gridRank is the number of dimensions of the grid. If several fields have
// the same coordinates, it takes the first and reports a problem.
func (b *builder) refs(h *hypercube, c *cube, gridRank int) []readers.Ref {
	refs := make([]readers.Ref, 0, len(c.fields))
	for i := range c.fields {
		x := &c.fields[i]
		index := append(h.index(c, x), make([]uint64, gridRank)...)
		refs = append(refs, readers.Ref{Index: index, Offset: x.From, Size: uint64(x.To - x.From), Mask: x.check})
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
	if doubled > 0 && b.times == ValidTimes {
		b.problem(c.first, fmt.Errorf("%s: fields with the member, valid time and level of a field with a lead time that is not longer: %d; these are not read: %w", c.name, doubled, errors.ErrUnsupported))
	} else if doubled > 0 {
		b.problem(c.first, fmt.Errorf("%s: fields with the member, time, step and level of an earlier field: %d; no known key distinguishes them, and only the earlier fields are read: %w", c.name, doubled, errors.ErrUnsupported))
	}
	return out
}

// free returns a name that no variable or dimension of the group has.
func (gb *groupBuilder) free(name string) string {
	for gb.names[name] || gb.dims[name] != nil {
		name += "_"
	}
	return name
}

// singleLevels says which levels of one type the cubes of a group have.
type singleLevels struct {
	top     float64 // of the first cube
	several bool    // cubes differ in their level, or one has a dimension of levels
}

func singleLevelsOf(cubes []*cube) map[string]*singleLevels {
	out := map[string]*singleLevels{}
	for _, c := range cubes {
		top := c.fields[0].top
		if out[c.levelType] == nil {
			out[c.levelType] = &singleLevels{top: top}
		}
		if l := out[c.levelType]; c.has[levelAxis] || l.top != top {
			l.several = true
		}
	}
	return out
}

// level adds the single level of a cube as a scalar coordinate and returns its name: the type of level, followed by the level if cubes of
// the group have several levels of this type. A level at 0, such as the surface, has no coordinate: level returns "".
func (gb *groupBuilder) level(c *cube) string {
	at := c.fields[0].place
	if at.top == 0 && at.base == 0 {
		return ""
	}
	name := c.levelType
	if gb.levels[c.levelType].several {
		name = strings.NewReplacer(".", "_", "-", "m", "+", "").Replace(fmt.Sprintf("%s_%g", c.levelType, at.top))
	}
	if !gb.names[name] {
		gb.inline(name, nil, doubleType, doubles([]float64{at.top}), attributesOfLevel(c.levelType)...)
	}
	return name
}

// attributes returns the CF attributes of a cube's variable, and the GRIB_ attributes that cfgrib gives it.
func (c *cube) attributes(times Times, layout *gridLayout, coordinates []string) []readers.Attribute {
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
	} else if method != "" && times == ValidTimes {
		add("cell_methods", "time: "+method)
	}
	add("coordinates", strings.Join(coordinates, " "))
	add("grid_mapping", layout.mapping)
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

// cellMethods has the CF cell methods of ecCodes' step types.
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
		if err := pipeline.WithCheck(ref.Mask).Decode(codec.Elems{Fixed: out[at*per : (at+1)*per]}, stored); err != nil {
			return readers.Value{}, &readers.Error{Source: b.src.Name(), Path: v.Path, Offset: ref.Offset, Err: err}
		}
	}
	return readers.Value{Type: v.Type, Shape: v.Shape, Data: out}, nil
}
