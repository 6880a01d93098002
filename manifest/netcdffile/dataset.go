package netcdffile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/export/netcdf"
	"varve/manifest/internal/regular"
	"varve/manifest/present"
	"varve/manifest/store"
	"varve/zarrjson"
)

// dataset is a virtual dataset while it becomes a file.
type dataset struct {
	store   *store.Store
	opts    *Options
	root    *object
	groups  map[string]*group // by path
	dims    []*dimension
	growing map[string]bool // paths of dimensions along which files are concatenated
	omitted []Omission
	failed  []Omission // arrays of texts that cannot be read
	recent  *recent
	dense   int64   // chunks whose refs have been read
	bytes   float64 // of all chunks without filters, and of their index

	heap      heap
	heapBegin int64
}

// group is a group with its dimensions.
type group struct {
	*object
	path string
	dims map[string]*dimension
}

const propertiesName = "_NCProperties"

// hidden has the names of attributes that netCDF-4 and HDF5 use themselves. A dataset's own attributes of these names are omitted.
var hidden = []string{"CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_nc3_strict", propertiesName}

func (d *dataset) omit(path string, err error) {
	d.omitted = append(d.omitted, Omission{path, err})
}

func (d *dataset) build(ctx context.Context) error {
	d.root = &object{}
	d.groups = map[string]*group{"/": {object: d.root, path: "/", dims: map[string]*dimension{}}}
	d.growing = growingDims(d.store)
	arrays := slices.Clone(d.store.Arrays())
	depth := func(a *store.Array) int { return strings.Count(a.Path(), "/") }
	slices.SortStableFunc(arrays, func(a, b *store.Array) int { return depth(a) - depth(b) })
	for _, g := range d.store.Groups() {
		to, err := d.group(g.Path)
		if err != nil {
			d.omit(g.Path, err)
			continue
		}
		to.attributes = d.attributes(g.Path, g.Attributes, typedBy(g))
	}
	var added []*added
	for _, a := range arrays {
		v, err := d.describe(ctx, a)
		if errors.Is(err, errors.ErrUnsupported) {
			d.omit(a.Path(), err)
			continue
		}
		if err != nil {
			return err
		}
		added = append(added, v)
	}
	// Dimensions come first, so that a coordinate finds its dimension.
	for _, v := range added {
		d.setDims(v)
	}
	for _, v := range added {
		d.link(v)
	}
	d.addScales()
	return d.setContents(ctx, added)
}

// growingDims returns the paths of dimensions that are declared unlimited: those along which files are placed and that are the
// first dimension of each array that has them.
func growingDims(st *store.Store) map[string]bool {
	growing := map[string]bool{}
	for _, p := range st.Snapshot().Placements {
		for _, dim := range p.Dims {
			growing[dim] = true
		}
	}
	for _, a := range st.Arrays() {
		for axis, dim := range a.Spec().Dims {
			if axis > 0 {
				delete(growing, dim)
			}
		}
	}
	return growing
}

// group returns the group at a path, and makes it and its parents if they do not exist.
func (d *dataset) group(at string) (*group, error) {
	at = path.Join("/", at)
	if g := d.groups[at]; g != nil {
		return g, nil
	}
	name := path.Base(at)
	if err := checkName("group", name); err != nil {
		return nil, err
	}
	parent, err := d.group(path.Dir(at))
	if err != nil {
		return nil, err
	}
	g := &group{object: &object{name: name}, path: at, dims: map[string]*dimension{}}
	parent.members = append(parent.members, g.object)
	d.groups[at] = g
	return g, nil
}

// maxName is the longest name of netCDF, in bytes.
const maxName = 255

func checkName(what, name string) error {
	if len(name) > maxName {
		return fmt.Errorf("%s %.40q…: a name of %d bytes: %w, netCDF has names of up to %d", what, name, len(name), errors.ErrUnsupported, maxName)
	}
	return netcdf.CheckName(what, name)
}

// attributes returns attributes of an array or a group, and notes those that the file cannot have.
func (d *dataset) attributes(of string, all zarrjson.Attributes, typed func(name string, json []byte) netcdf.Attribute) (out []value) {
	for name, json := range all.All() {
		at := strings.TrimSuffix(of, "/") + "/@" + name
		err := checkName("attribute", name)
		if slices.Contains(hidden, name) {
			err = fmt.Errorf("netCDF-4 uses the name itself: %w", errors.ErrUnsupported)
		}
		v := value{}
		if err == nil {
			v.Attribute = typed(name, json)
			isNumber := v.Name != "" && v.Type != netcdf.Char // also of infinities alone, which are texts in JSON
			if texts, ok := textList(json); ok && !isNumber {
				v.Attribute, v.texts = netcdf.Text(name, ""), texts
				if slices.ContainsFunc(texts, isCut) {
					err = errCut
				}
			}
			if n := max(len(v.Data), varyingSize*len(v.texts)); n > maxAttribute && (v.Type != netcdf.Char || v.texts != nil) {
				err = fmt.Errorf("%d bytes: %w, an attribute of HDF5 without a heap has up to %d", n, errors.ErrUnsupported, maxAttribute)
			}
		}
		if err != nil {
			d.omit(at, err)
			continue
		}
		if v.Name != "" {
			out = append(out, v)
		}
	}
	return out
}

// typedBy returns the function that gives attributes of a group their types.
func typedBy(g manifest.GroupSchema) func(name string, json []byte) netcdf.Attribute {
	return func(name string, json []byte) netcdf.Attribute {
		return present.NetCDFAttribute(name, json, g.AttributeTypes[name])
	}
}

// textList parses a list of at least one text.
func textList(value []byte) (texts [][]byte, ok bool) {
	var list []string
	if !bytes.HasPrefix(value, []byte("[")) || json.Unmarshal(value, &list) != nil || len(list) == 0 {
		return nil, false
	}
	for _, t := range list {
		texts = append(texts, []byte(t))
	}
	return texts, true
}

// added is an array that becomes a variable.
type added struct {
	*object
	array *store.Array
	group *group
	shape []int64
	names []string // of dimensions
	chars int64    // the length of fixed texts, which becomes a dimension; 0 for other types
	order string   // of the bytes of an element
	kind  netcdf.Type

	content *arrayChunks // nil for texts
}

// describe returns the variable of an array, without its dimensions and values.
func (d *dataset) describe(ctx context.Context, a *store.Array) (*added, error) {
	schema := a.Schema()
	t := schema.DataType.Type()
	g, err := d.group(path.Dir(a.Path()))
	if err != nil {
		return nil, err
	}
	v := &added{object: &object{name: path.Base(a.Path()), variable: &variable{}}, array: a, group: g, shape: slices.Clone(schema.Shape), names: schema.Dims(), order: codec.LittleEndian}
	if err := checkName("variable", v.name); err != nil {
		return nil, err
	}
	for _, dim := range v.names {
		if err := checkName("dimension", dim); err != nil {
			return nil, err
		}
	}
	kind, ok := present.NetCDFType(t)
	v.kind = kind
	switch {
	case !ok:
		return nil, fmt.Errorf("%s: %w by netCDF-4", schema.DataType.Name(), errors.ErrUnsupported)
	case t.Kind == codec.FixedBytes:
		v.chars = int64(t.Size)
		v.variable.unit, v.variable.typ = 1, fixedText(1, charsASCII)
		if t.Size > 1 {
			v.shape = append(v.shape, v.chars)
			v.names = append(v.names, fmt.Sprintf("string%d", t.Size))
		}
	case kind == netcdf.Char:
		v.variable.unit, v.variable.typ = varyingSize, varyingText()
		if v.variable.texts, err = readTexts(ctx, a); err != nil {
			return nil, err
		}
		if failed := v.variable.texts.failed; failed != nil {
			d.failed = append(d.failed, Omission{a.Path(), failed})
		}
	default:
		if order, ok := schema.Codecs[0].ByteOrder(); ok && order == codec.BigEndian {
			v.order = order
		}
		v.variable.unit, v.variable.typ = kind.Size(), numberType(kind, v.order == codec.BigEndian)
		if v.variable.fill = slices.Clone(schema.Fill); v.order == codec.BigEndian {
			slices.Reverse(v.variable.fill)
		}
	}
	if v.variable.texts == nil {
		if v.content, err = d.content(v); err != nil {
			return nil, err
		}
	}
	if len(v.shape) > maxRank {
		return nil, fmt.Errorf("%d dimensions: %w, HDF5 has up to %d", len(v.shape), errors.ErrUnsupported, maxRank)
	}
	typed := present.NetCDFAttributes(a)
	v.attributes = d.attributes(a.Path(), schema.Attributes, func(name string, _ []byte) netcdf.Attribute {
		i := slices.IndexFunc(typed, func(at netcdf.Attribute) bool { return at.Name == name })
		if i < 0 {
			return netcdf.Attribute{} // netCDF has no such attribute for the type
		}
		return typed[i]
	})
	for _, at := range typed {
		if _, ok := schema.Attributes.Get(at.Name); !ok && at.Name != "_Encoding" {
			v.attributes = append(v.attributes, value{Attribute: at})
		}
	}
	return v, nil
}

// maxRank is the largest number of dimensions of HDF5.
const maxRank = 32

// setDims finds the dimensions of a variable, in its group or in one above, and makes those that do not exist.
func (d *dataset) setDims(v *added) {
	for axis, name := range v.names {
		isGrowing := v.shape[axis] == 0 // netCDF has no other dimension of length 0
		if paths := v.array.Spec().Dims; axis < len(paths) {
			isGrowing = isGrowing || d.growing[paths[axis]]
		}
		v.variable.dims = append(v.variable.dims, d.dimension(v.group, name, v.shape[axis], isGrowing))
	}
}

func (d *dataset) dimension(g *group, name string, length int64, isGrowing bool) *dimension {
	if d.groups[path.Join(g.path, name)] != nil {
		name += "_dim" // HDF5 has one name for the group and for the scale of the dimension
	}
	// Programs find a dimension by its name in the nearest group that has one.
	for at := g; ; at = d.groups[path.Dir(at.path)] {
		dim := at.dims[name]
		if dim != nil && dim.length == length {
			dim.isGrowing = dim.isGrowing || isGrowing
			return dim
		}
		if dim != nil && at == g {
			return d.dimension(g, fmt.Sprintf("%s_%d", name, length), length, isGrowing)
		}
		if dim != nil || at.path == "/" {
			break
		}
	}
	dim := &dimension{name: name, length: length, isGrowing: isGrowing, id: len(d.dims)}
	g.dims[name] = dim
	d.dims = append(d.dims, dim)
	return dim
}

// link adds a variable to its group, as the scale of its dimension if it is a coordinate.
func (d *dataset) link(v *added) {
	w := v.variable
	if dim := v.group.dims[v.name]; dim != nil {
		if len(w.dims) == 1 && w.dims[0] == dim {
			w.scale, dim.scale = dim, v.object
		} else {
			v.name = "_nc4_non_coord_" + v.name // as netCDF-C calls a variable that is not the coordinate of its name
		}
	}
	w.space.dims = v.shape
	for axis, dim := range w.dims {
		if w.scale == nil {
			dim.uses = append(dim.uses, use{v.object, axis})
		}
	}
	v.group.members = append(v.group.members, v.object)
}

// addScales adds the dimensions without a coordinate to their groups.
func (d *dataset) addScales() {
	for _, g := range d.groups {
		var scales []*object
		for _, dim := range g.dims {
			if dim.scale != nil {
				continue
			}
			w := &variable{typ: numberType(netcdf.Float, true), unit: 4, scale: dim, space: space{dims: []int64{dim.length}}}
			if dim.isGrowing {
				w.chunk, w.space.max = []int64{1024}, []int64{unlimited}
			}
			dim.scale = &object{name: dim.name, variable: w}
			scales = append(scales, dim.scale)
		}
		slices.SortFunc(scales, func(a, b *object) int { return a.variable.scale.id - b.variable.scale.id })
		g.members = append(scales, g.members...)
	}
}

// label returns the value of the attribute NAME of a dimension scale.
func (d *dimension) label(v *variable) string {
	if v.area == nil && len(v.dims) == 0 {
		return fmt.Sprintf("This is a netCDF dimension but not a netCDF variable.%10d", d.length)
	}
	return d.name
}

// variables returns all variables.
func (d *dataset) variables() (out []*variable) {
	var visit func(o *object)
	visit = func(o *object) {
		if o.variable != nil {
			out = append(out, o.variable)
		}
		for _, m := range o.members {
			visit(m)
		}
	}
	visit(d.root)
	return out
}

// maxDense limits the chunks whose refs are read when a file is opened.
const maxDense = 1 << 21

// setContents sets where the values of variables come from.
func (d *dataset) setContents(ctx context.Context, all []*added) error {
	for _, v := range all {
		w := v.variable
		isGrowing := slices.ContainsFunc(w.dims, func(dim *dimension) bool { return dim.isGrowing })
		if err := d.setContent(ctx, v, isGrowing); err != nil {
			return fmt.Errorf("%s: %w", v.array.Path(), err)
		}
		if w.chunk == nil {
			continue
		}
		w.space.max = slices.Clone(v.shape)
		for axis, dim := range w.dims {
			// A chunk may be longer than the array, but not longer than the array can be.
			w.space.max[axis] = max(v.shape[axis], w.chunk[axis])
			if dim.isGrowing {
				w.space.max[axis] = unlimited
			}
		}
	}
	return nil
}

func (d *dataset) setContent(ctx context.Context, v *added, isGrowing bool) error {
	w := v.variable
	if w.texts != nil {
		w.area = &area{chunks: &textChunks{w.texts.elements}, count: 1, slot: int64(len(w.texts.elements))}
		if len(w.texts.elements) == 0 {
			w.area.count, w.area.slot = 0, 1
		}
		if isGrowing {
			w.chunk = slices.Clone(v.shape)
			ones := make([]int64, len(v.shape))
			for axis, n := range v.shape {
				w.chunk[axis], ones[axis] = max(n, 1), 1
			}
			w.index = newIndex(w.area, ones, w.chunk, 0)
		}
		return nil
	}
	c := v.content
	g := c.plain.Grid()
	w.area = &area{chunks: c, count: g.Chunks(), slot: c.size}
	shape, _ := g.ChunkShape()
	tail := v.shape[g.Rank():]
	if len(w.filters) == 0 && !isGrowing && slices.Equal(shape, g.Shape()) {
		c.isComplete = true
		return nil
	}
	w.chunk = append(slices.Clone(shape), tail...)
	w.index = newIndex(w.area, g.Counts(), shape, len(tail))
	if d.dense += g.Chunks(); len(w.filters) > 0 && d.dense <= maxDense {
		w.area.slot, c.most = 0, maxChunk
		return w.area.measure(func(yield func(int64)) error {
			return c.each(ctx, 0, g.Chunks(), func(c chunk) { yield(c.size) })
		})
	}
	return nil
}

// content chooses the chunks and filters of a variable.
func (d *dataset) content(v *added) (*arrayChunks, error) {
	schema, w := v.array.Schema(), v.variable
	unit := int64(schema.DataType.Type().Size)
	order, filters, ok := codec.HDF5Filters(schema.Codecs, int(unit))
	isPlugin := func(f codec.Filter) bool { return f.IsPlugin() && !d.opts.Plugins }
	ok = ok && !slices.ContainsFunc(filters, isPlugin) && len(filters) < 32
	shape, isRegular := v.array.Grid().ChunkShape()
	if !isRegular {
		shape = make([]int64, v.array.Grid().Rank())
		for axis := range shape {
			shape[axis] = regular.CommonEdge(v.array.Grid().Dim(axis))
		}
	}
	isInManifest := v.array.Spec().Placement == ""
	if isInManifest {
		shape = slices.Clone(schema.Shape)
	}
	for axis := range shape {
		shape[axis] = max(shape[axis], 1)
	}
	limit := int64(maxPlain)
	if len(filters) > 0 {
		limit = maxChunk
	}
	c := &arrayChunks{array: v.array, recent: d.recent}
	// HDF5 has no chunks, and so no filters, of a variable without dimensions.
	isScalar := len(v.shape) == 0 && len(filters) > 0
	if !ok || !isRegular || isScalar || isInManifest || schema.ChunkGrid.Encoded != nil || float64(unit)*elements(shape) > float64(limit) {
		order, filters = v.order, nil
		if float64(unit)*elements(shape) > maxPlain {
			shape = divided(shape, unit, plainChunk)
		}
	} else {
		c.isVerbatim = true
	}
	var err error
	if c.plain, err = regular.NewChunks(v.array, shape, noFilters(order)); err != nil {
		return nil, err
	}
	c.size = unit * int64(elements(shape))
	const keyBytes = 1024                                                       // more than a chunk takes in an index
	own := float64(float64(c.plain.Grid().Chunks()) * float64(c.size+keyBytes)) // rounded before it is added, on all systems
	if d.bytes+own > maxFile {
		return nil, fmt.Errorf("the file would have more than 2^62 bytes: %w", errors.ErrUnsupported)
	}
	d.bytes += own
	c.most = c.size
	w.filters, c.skipAll = filters, uint32(1)<<len(filters)-1
	// The fill value of a text is one character in HDF5.
	c.isComplete = v.chars > 1 && len(bytes.Trim(schema.Fill, "\x00")) > 0
	if v.chars == 1 {
		w.fill = schema.Fill
	}
	return c, nil
}

// maxFile limits the size of a file, which must be an int64.
const maxFile = 1 << 62

// elements returns the number of elements of a shape.
func elements(shape []int64) float64 {
	n := 1.0
	for _, length := range shape {
		n *= float64(length)
	}
	return n
}
