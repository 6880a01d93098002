package dap

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"varve/codec"
	"varve/manifest/export/netcdf"
	"varve/manifest/internal/cf"
	"varve/manifest/present"
	"varve/manifest/store"
)

// Dataset is a snapshot of a manifest as the protocols see it. It may be used by any number of goroutines.
type Dataset struct {
	name      string
	variables []*variable // sorted by path, so that parents come first
	byPath    map[string]*variable
	byName2   map[string]*variable
	groups    []group
	omitted   []string
	omitted2  []string         // what only DAP2 lacks
	onOmit    func(why string) // may be nil
	longest   int              // bytes of the longest path of a variable

	mu    sync.Mutex // guards the DAP2 types of variables, and omitted2
	typed bool
}

// group is a group with the dimensions that belong to it.
type group struct {
	path       string // "/" or "/a/b"
	attributes []netcdf.Attribute
	dims       []dim
}

// dim is a dimension of a group.
type dim struct {
	group, name string
	length      int64
}

// path returns the dimension's name with its groups.
func (d dim) path() string { return path.Join(d.group, d.name) }

// variable is an array of the dataset.
type variable struct {
	array      *store.Array
	path       string // "/a/b/name"
	name2      string // the name in DAP2, such as a__b__name
	dims       []dim  // without that of the characters of a text
	isText     bool
	chars      int64       // the length of texts that are stored as single characters, or 0
	maps       []*variable // the coordinate of each dimension, or nil where there is none; nil for a coordinate
	attributes []netcdf.Attribute
	// elements is the type of elements in DAP2, after _Unsigned was applied.
	elements codec.Type
	type2    type2
	isExact  bool   // all values are known to be exact in DAP2's type
	omitted2 string // why DAP2 lacks the variable, or empty
	longest  int64  // bytes of the longest text, or more; 0 if not known
	type4    string
}

// maxChars is the largest length of texts that are stored as single characters.
const maxChars = 64 << 10

// groupSeparator is between the names of groups and of a variable in DAP2, which has no groups. Most clients take a slash for
// something else.
const groupSeparator = "__"

// Name2 returns the name of the array at a path, as netCDF-C shows it in DAP2.
func Name2(p string) string { return escape2(flat(p)) }

// flat returns a path as a name of DAP2.
func flat(p string) string {
	return beginPlainly(strings.ReplaceAll(strings.Trim(p, "/"), "/", groupSeparator))
}

// isGrid reports whether the variable is a Grid in DAP2. A Grid needs a map for each dimension, with different names.
func (v *variable) isGrid() bool {
	for axis, m := range v.maps {
		if m == nil || m.omitted2 != "" || slices.Contains(v.maps[:axis], m) {
			return false
		}
	}
	return len(v.maps) > 0
}

// New describes the arrays of a store under a name. It calls onOmit, if it is not nil, for each array that is omitted: those that
// only DAP2 lacks are known at the first request of DAP2.
func New(st *store.Store, name string, onOmit func(why string)) *Dataset {
	d := &Dataset{name: name, byPath: map[string]*variable{}, byName2: map[string]*variable{}, onOmit: onOmit}
	groups := map[string]*group{"/": {path: "/"}}
	for _, g := range st.Groups() {
		at := &group{path: path.Join("/", g.Path)}
		for name, value := range g.Attributes.All() {
			at.attributes = append(at.attributes, present.NetCDFAttribute(name, value, g.AttributeTypes[name]))
		}
		groups[at.path] = at
	}
	for _, a := range st.Arrays() {
		v, err := newVariable(a)
		if err != nil {
			d.omit(&d.omitted, err.Error())
			continue
		}
		d.variables = append(d.variables, v)
		d.byPath[v.path] = v
		d.longest = max(d.longest, len(v.path))
		for up := path.Dir(v.path); groups[up] == nil; up = path.Dir(up) {
			groups[up] = &group{path: up}
		}
	}
	slices.SortFunc(d.variables, func(a, b *variable) int { return comparePaths(a.path, b.path) })
	d.flatten()
	d.findMaps()
	d.nameDims(groups)
	for _, g := range groups {
		d.groups = append(d.groups, *g)
	}
	slices.SortFunc(d.groups, func(a, b group) int { return comparePaths(a.path, b.path) })
	return d
}

// comparePaths sorts as a tree is walked: a/b comes before a.b.
func comparePaths(a, b string) int {
	return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
}

// Name returns the name of the dataset.
func (d *Dataset) Name() string { return d.name }

// Omitted says which arrays have no type in DAP, or are known to have none in DAP2, and why.
func (d *Dataset) Omitted() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Concat(d.omitted, d.omitted2)
}

func (d *Dataset) omit(list *[]string, why string) {
	*list = append(*list, why)
	if d.onOmit != nil {
		d.onOmit(why)
	}
}

func newVariable(a *store.Array) (*variable, error) {
	t := a.Schema().DataType.Type()
	v := &variable{array: a, path: path.Join("/", a.Path()), elements: t, isExact: true}
	for _, a := range present.NetCDFAttributes(a) {
		if a.Name != "_Encoding" { // it is for texts in arrays of characters; clients of DAP get decoded ones
			v.attributes = append(v.attributes, a)
		}
	}
	typ, ok := present.NetCDFType(t)
	if !ok && t.Kind == codec.Float && t.Size == 2 {
		typ, ok = netcdf.Float, true
	}
	if !ok {
		return nil, fmt.Errorf("%s is omitted: DAP has no type for %s", a.Path(), a.Schema().DataType.Name())
	}
	shape := a.Grid().Shape()
	if v.isText = typ == netcdf.Char; v.isText && t.Kind == codec.FixedBytes && t.Size == 1 && len(shape) > 0 {
		v.chars = shape[len(shape)-1]
		shape = shape[:len(shape)-1]
		if v.chars > maxChars || v.chars == 0 {
			return nil, fmt.Errorf("%s is omitted: texts of %d characters along %s are not supported, but at most %d", a.Path(), v.chars, a.Schema().Dim(len(shape)), maxChars)
		}
	}
	for axis, n := range shape {
		v.dims = append(v.dims, dim{name: a.Schema().Dim(axis), length: n})
	}
	v.type4 = types4[typ]
	v.applyUnsigned()
	v.type2 = smallest2(v.elements)
	v.isExact = v.type2 != typeInt64
	return v, nil
}

// flatten gives each variable its name in DAP2. Variables of the root group keep their names.
func (d *Dataset) flatten() {
	inGroups := func(v *variable) bool { return path.Dir(v.path) != "/" }
	for _, isTurn := range []func(*variable) bool{func(v *variable) bool { return !inGroups(v) }, inGroups} {
		for _, v := range d.variables {
			if !isTurn(v) {
				continue
			}
			for v.name2 = flat(v.path); d.byName2[v.name2] != nil; {
				v.name2 += "_"
			}
			d.byName2[v.name2] = v
		}
	}
}

// findMaps finds the coordinates of all dimensions.
func (d *Dataset) findMaps() {
	at := d.arrays()
	for _, v := range d.variables {
		maps := make([]*variable, len(v.dims))
		for axis := range v.dims {
			if c, ok := at.Coordinate(v.array, v.dims[axis].name); ok && d.byPath[path.Join("/", c.Path())].chars == 0 {
				maps[axis] = d.byPath[path.Join("/", c.Path())]
			}
		}
		if !slices.Contains(maps, v) {
			v.maps = maps
			continue
		}
		v.dims[0].group = path.Dir(v.path)
	}
}

// arrays finds the arrays of the dataset.
func (d *Dataset) arrays() cf.Hierarchy[*store.Array] {
	return func(p string) (*store.Array, bool) {
		if v := d.byPath[path.Join("/", p)]; v != nil {
			return v.array, true
		}
		return nil, false
	}
}

// nameDims gives each dimension a group: that of its coordinate, or that of the array. If a group has two dimensions with one
// name and different lengths, the name of one gets its length.
func (d *Dataset) nameDims(groups map[string]*group) {
	declare := func(at *group, one *dim) {
		for {
			i := slices.IndexFunc(at.dims, func(known dim) bool { return known.name == one.name })
			if i < 0 {
				at.dims = append(at.dims, *one)
				return
			}
			if at.dims[i].length == one.length {
				return
			}
			one.name = fmt.Sprintf("%s_%d", one.name, one.length)
		}
	}
	for _, v := range d.variables { // coordinates first: they keep their names
		if v.maps == nil && len(v.dims) == 1 {
			declare(groups[v.dims[0].group], &v.dims[0])
		}
	}
	for _, v := range d.variables {
		for axis, c := range v.maps {
			if c != nil {
				v.dims[axis] = c.dims[0]
				continue
			}
			v.dims[axis].group = path.Dir(v.path)
			declare(groups[v.dims[axis].group], &v.dims[axis])
		}
	}
}

// selection returns the selection of the elements in a hyperslab of a variable.
func (v *variable) selection(slabs []slab) *present.Selection {
	s := present.Whole(v.array)
	s.BlockBytes = blockBytes
	for axis, h := range slabs {
		s.Axes[axis].From, s.Axes[axis].To, s.Axes[axis].Step = h.first, h.last+1, h.step
	}
	return s
}

// blockBytes is the approximate size of the blocks in which values are read.
const blockBytes = 4 << 20

// each passes the texts or packed elements of a hyperslab to look, in C order.
func (v *variable) each(ctx context.Context, slabs []slab, look func(codec.Elems) error) error {
	if isEmpty(slabs) {
		return nil
	}
	t := v.array.Schema().DataType.Type()
	if !v.isText || t.Kind == codec.String {
		return v.selection(slabs).Each(ctx, look)
	}
	size := t.Size * int(max(v.chars, 1))
	return v.selection(slabs).Each(ctx, func(e codec.Elems) error {
		var texts codec.Elems
		for chunk := range slices.Chunk(e.Fixed, max(size, 1)) {
			texts.Var = append(texts.Var, present.AppendPlain(nil, codec.Type{Kind: t.Kind, Size: len(chunk)}, chunk))
		}
		return look(texts)
	})
}
