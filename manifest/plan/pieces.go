package plan

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/convert"
	"varve/manifest/internal/cf"
	"varve/manifest/report"
	"varve/zarrjson"
)

// Limits of what is kept in the manifest.
const (
	mostTimes     = 64 << 20 // bytes of times that are told anew
	pieceElements = 1 << 20  // of one piece
	leastChunk    = 512      // elements of a chunk along a dimension that may grow
)

// decidePieces says whether the values of an array are kept in the manifest, and asks for them.
func (p *layout) decidePieces(a *array) error {
	a.orphan = p.isOrphan(a)
	switch {
	case slices.ContainsFunc(a.members, func(m member) bool { return m.v.Storage.Layout == manifest.Valued }):
		a.pieces = true
	case p.isAxis(a):
		a.pieces = !p.dims[a.dims[0]].large
	case a.parted():
		return nil
	case p.keepsBroadcast(a):
		a.pieces = true
	case p.retold(a) && p.bytesOf(a) <= mostTimes && (p.inherits(a) || !p.hasLarge(a)):
		a.pieces = true
	case p.retold(a) && p.inherits(a):
		p.find(p.odd(report.Finding{Code: report.BoundsTooLarge, Array: a.path, Effect: report.Refused, Args: report.Args{"limit": report.Bytes(mostTimes)},
			Remedies: []report.Remedy{report.DropPath(path.Base(a.path))}}, p.holders(a), int64(len(p.files))))
	default:
		known, _ := p.known(a)
		a.pieces = known && p.bytesOf(a) <= p.inline() && !p.hasLarge(a)
	}
	if !a.pieces {
		return nil
	}
	for _, f := range p.holders(a) {
		m := a.memberOf(p.classOf[f])
		if m.v.Storage.Layout != manifest.Nothing {
			p.values(f, m.at, elementsOf(m.v))
		}
	}
	if a.broadcast {
		p.refuseRepeated(a)
	}
	return nil
}

// hasLarge reports whether the values of some file are too many to be looked at one by one.
func (p *inquiry) hasLarge(a *array) bool {
	return slices.ContainsFunc(a.members, func(m member) bool { return p.isLarge(m.v) })
}

// inline is the size up to which a whole array is kept in the manifest.
func (p *inquiry) inline() int64 { return cmp.Or(p.opts.Inline, DefaultInline) }

// memberOf is the member of a class.
func (a *array) memberOf(class int32) *member {
	i := placeOf(a.members, class)
	if i == len(a.members) || a.members[i].class != class {
		return nil
	}
	return &a.members[i]
}

// placeOf is where the member of a class is, if there is one: they are in the order of classes.
func placeOf(members []member, class int32) int {
	i, _ := slices.BinarySearchFunc(members, class, func(m member, c int32) int { return int(m.class - c) })
	return i
}

// holders are the files whose values of an array count.
func (p *layout) holders(a *array) []int32 {
	if a.where == nil {
		return []int32{p.counting(a)}
	}
	files := make([]int32, 0, len(a.where.tiles))
	for i := range a.where.tiles {
		files = append(files, int32(a.where.tiles[i].File))
	}
	return files
}

// retold reports whether the times of an array are in different units, or are bounds in units
// that may not be those in which all files' times are told.
func (p *layout) retold(a *array) bool {
	if p.adrift(a) {
		return true
	}
	if a.where == nil {
		return false
	}
	var first *manifest.Variable
	for _, m := range a.members {
		v := p.classes[m.class].meaning(m.at)
		if _, ok, err := cf.UnitsOf(v); !ok || err != nil {
			return false
		}
		if first == nil {
			first = v
		}
		if !sameMeaning(first, v) {
			return true
		}
	}
	return false
}

// adrift reports whether an array is of bounds that have their units from variables which have
// others in other files, be it files without the bounds.
func (p *layout) adrift(a *array) bool {
	bounded, _ := p.bounded(a)
	if len(bounded) == 0 {
		return false
	}
	return slices.ContainsFunc(p.arrays, func(b *array) bool { return bounded[b.path] && !b.sameUnits() })
}

// isOrphan reports whether an array is of bounds in all files, which have their units from
// variables of which no array says so: these are left out, or name other bounds in other files.
func (p *layout) isOrphan(a *array) bool {
	bounded, all := p.bounded(a)
	return all && !slices.ContainsFunc(p.arrays, func(b *array) bool {
		return bounded[b.path] && slices.ContainsFunc(cf.BoundsRoles, func(role string) bool {
			name := p.bounds(b, role)
			return name != "" && path.Join(path.Dir(b.path), name) == a.path
		})
	})
}

// bounded are the paths of the variables from which the members of an array have their units, as
// their bounds; all says that every member has such a variable, be it one that is left out.
func (p *layout) bounded(a *array) (paths map[string]bool, all bool) {
	paths, all = map[string]bool{}, true
	for _, m := range a.members {
		c := p.classes[m.class]
		v := c.parents.Bounded(c.header.Variables[m.at])
		if v == nil {
			all = false
			continue
		}
		i := slices.IndexFunc(c.vars, func(x lensed) bool { return x.v == v })
		if i < 0 { // or with an axis that it lacks in the file
			i = slices.IndexFunc(c.vars, func(x lensed) bool { return c.header.Variables[x.at] == v })
		}
		if i >= 0 {
			paths[c.vars[i].path] = true
		}
	}
	return paths, all
}

// bounds is what an array names as its bounds: what all files name that name any, if the others
// have nothing of that name.
func (p *layout) bounds(a *array, role string) string {
	name := ""
	for _, m := range a.members {
		if own := p.boundsIn(&m, role); own != "" && name != "" && own != name {
			return ""
		} else if own != "" {
			name = own
		}
	}
	at := path.Join(path.Dir(a.path), name)
	if name == "" || slices.ContainsFunc(a.members, func(m member) bool { return p.boundsIn(&m, role) == "" && p.classes[m.class].find(at) >= 0 }) {
		return ""
	}
	return name
}

// boundsIn is what a member names as its bounds.
func (p *layout) boundsIn(m *member, role string) string {
	return textOf(p.newNames(m.class, m.v), role)
}

// sameUnits reports whether the times of all members are told alike.
func (a *array) sameUnits() bool {
	first := a.members[0].v.Attributes
	return !slices.ContainsFunc(a.members, func(m member) bool {
		differs := func(name string) bool {
			return !sameAttribute(manifest.Lookup(first, name), manifest.Lookup(m.v.Attributes, name))
		}
		return differs(cf.UnitsName) || differs(cf.CalendarName)
	})
}

// inherits reports whether a member is of bounds that have their units from another variable.
func (p *inquiry) inherits(a *array) bool {
	return slices.ContainsFunc(a.members, func(m member) bool {
		_, own, err := cf.UnitsOf(m.v)
		return !own && err == nil
	})
}

func (p *directions) bytesOf(a *array) int64 {
	n := elementSize(a.members)
	for _, s := range p.shapeOf(a) {
		n *= s
	}
	return n
}

// elementSize is that of the largest elements in memory.
func elementSize(members []member) int64 {
	size := int64(1)
	for _, m := range members {
		size = max(size, int64(m.v.Type.Size))
	}
	return size
}

// referenceOf finds one reference for the times of an array that is kept in the manifest; nil
// if it needs none.
func (p *layout) referenceOf(a *array) (*cf.Reference, error) {
	var first *manifest.Variable
	differ := p.adrift(a)
	for _, m := range a.members {
		v := p.meaningOf(a, &m)
		if _, ok, err := cf.UnitsOf(v); !ok || err != nil {
			return nil, nil
		}
		if first == nil {
			first = v
		}
		differ = differ || !sameMeaning(first, v)
	}
	if !differ {
		return nil, nil
	}
	var all []cf.Times
	for _, f := range p.holders(a) {
		m := a.memberOf(p.classOf[f])
		values := p.valuesIn(f, m.at)
		if values == nil || values.Summed {
			continue
		}
		t, err := cf.TimesOf(p.meaningOf(a, m), values)
		if err != nil {
			return nil, p.inFile(f, err)
		}
		all = append(all, t)
	}
	if len(all) == 0 {
		return nil, nil
	}
	r, err := cf.Retime(all)
	if other := (*cf.CalendarError)(nil); errors.As(err, &other) {
		return nil, nil // which the schema refuses, with the files' names
	} else if err != nil {
		return nil, advise(fmt.Errorf("%s: %w", a.path, err), report.DropPath(a.path[1:]))
	}
	return &r, nil
}

// declarePieces lays the values of files on one canvas, in the type of the schema, and keeps it.
func (p *planner) declarePieces(a *array, out manifest.Array, f *declared) error {
	out.Schema.Codecs = kept(out.Schema.DataType.Type(), out.Schema.Shape)
	out.Schema.ChunkGrid = p.pieceGrid(a, out.Schema.Shape)
	c := newCanvas(out.Schema)
	if err := p.paintAll(a, &out, c); err != nil {
		return err
	}
	for _, piece := range c.pieces() {
		values := piece.values
		values.SetID()
		p.out.Values = append(p.out.Values, values)
		out.Pieces = append(out.Pieces, manifest.Piece{Origin: piece.Origin, Shape: piece.Shape, Values: values.ID})
	}
	p.out.Arrays = append(p.out.Arrays, out)
	return nil
}

// leastPacked is the size in bytes from which values in the manifest are compressed for
// clients: coordinates are steps, of which shuffling leaves next to nothing.
const leastPacked = 4096

// kept are the codecs of an array whose values are in the manifest.
func kept(t codec.Type, shape []int64) []codec.Spec {
	switch {
	case t.Kind == codec.String:
		return []codec.Spec{{Name: "vlen-utf8"}}
	case t.Kind == codec.Bytes:
		return []codec.Spec{{Name: "vlen-bytes"}}
	}
	specs := []codec.Spec{{Name: "bytes"}}
	if t.Size > 1 && t.Kind != codec.FixedBytes && t.Kind != codec.Raw {
		specs[0].Config = json.RawMessage(`{"endian":"little"}`)
	}
	bytes := int64(t.Size)
	for _, n := range shape {
		bytes *= max(n, 1)
	}
	if bytes < leastPacked || t.Size < 2 || t.Size > 16 {
		return specs
	}
	return append(specs, codec.Spec{Name: "blosc", Config: fmt.Appendf(nil,
		`{"typesize":%d,"cname":"zstd","clevel":5,"shuffle":"shuffle","blocksize":0}`, t.Size)})
}

// pieceGrid makes one chunk of most arrays.
func (p *inquiry) pieceGrid(a *array, shape []int64) zarrjson.ChunkGrid {
	chunk := make([]int64, len(shape))
	inner := int64(1)
	for k := len(shape) - 1; k >= 0; k-- {
		chunk[k] = max(min(shape[k], pieceElements/max(inner, 1)), 1)
		inner *= max(shape[k], 1)
	}
	if len(shape) == 1 && a.where != nil {
		chunk[0] = max(chunk[0], leastChunk)
	}
	return zarrjson.RegularGrid(chunk...)
}

// madeArray is the coordinate of a new dimension.
func (p *survey) madeArray(d *dim) *array {
	c := d.order[0]
	h := &manifest.Header{Variables: []*manifest.Variable{c.v}}
	class := &class{header: h, files: d.filesWhose(func(*coord) bool { return true })}
	p.classes = append(p.classes, class)
	return &array{path: d.path, dims: []string{d.path}, pieces: true, made: nil, placed: []*dim{d}, files: int64(len(class.files)),
		members: []member{{class: int32(len(p.classes) - 1), lensed: &lensed{v: h.Variables[0], path: d.path, dims: []string{d.path}}, axes: []int{0}}}}
}

// paintAll converts the values of files and puts them in their places.
func (p *layout) paintAll(a *array, out *manifest.Array, c *canvas) error {
	conversions := map[*manifest.Variable]*convert.Conversion{}
	paint := func(v *manifest.Variable, values *manifest.Values, s stamp) error {
		conversion := conversions[v]
		if conversion == nil {
			var err error
			if conversion, err = convert.New(v, out.Schema, out.Reading); err != nil {
				return fmt.Errorf("%s: %w", a.path, err)
			}
			conversions[v] = conversion
		}
		return c.paint(conversion, v, values, s)
	}
	if d := p.dims[a.path]; p.isCoordinate(a) && len(d.order) > 0 && d.order[0].v != nil {
		return p.paintCoordinate(d, paint)
	}
	if a.where == nil {
		f := p.holders(a)[0]
		m := a.memberOf(p.classOf[f])
		return p.paintFile(a, m, f, manifest.Tile{}, paint)
	}
	for i := range a.where.tiles {
		t := &a.where.tiles[i]
		if err := p.paintFile(a, a.memberOf(p.classOf[t.File]), int32(t.File), *t, paint); err != nil {
			return err
		}
	}
	return nil
}

type painter func(v *manifest.Variable, values *manifest.Values, s stamp) error

// paintCoordinate paints each of the different coordinates once.
func (p *layout) paintCoordinate(d *dim, paint painter) error {
	order := d.order
	if d.role == fixed {
		order = []*coord{p.fixedCoord(d)}
	}
	for _, c := range order {
		if c.values == none {
			continue
		}
		shape := []int64{c.n}
		if err := paint(c.v, c.values, stamp{source: shape, origin: []int64{c.start}, start: []int64{0}, shape: shape}); err != nil {
			return p.inFile(c.rep, err)
		}
	}
	return nil
}

// fixedCoord is the coordinate that all files have, or that counts for all.
func (p *layout) fixedCoord(d *dim) *coord {
	if d.first {
		return p.firstCoord(d)
	}
	return d.order[0]
}

// firstCoord is the coordinate of the first of all files.
func (p *layout) firstCoord(d *dim) *coord {
	first := int32(-1)
	for f, n := range d.of {
		if n >= 0 && d.coords[n].n > 0 && (first < 0 || p.rank[f] < p.rank[first]) {
			first = int32(f)
		}
	}
	return d.coords[d.of[first]]
}

func (p *survey) paintFile(a *array, m *member, f int32, t manifest.Tile, paint painter) error {
	if m.v.Storage.Layout == manifest.Nothing || elementsOf(m.v) == 0 {
		return nil
	}
	s := stamp{source: m.v.Shape, order: m.axes}
	for range a.made {
		s.origin, s.start, s.shape = append(s.origin, 0), append(s.start, 0), append(s.shape, 1)
	}
	for k := range a.dims {
		s.origin, s.start, s.shape = append(s.origin, 0), append(s.start, 0), append(s.shape, m.v.Shape[m.axes[k]])
	}
	if a.where != nil {
		for i, d := range a.where.dims {
			k := slices.Index(a.allDims(), d.path)
			s.origin[k], s.shape[k] = t.Origin[i], t.Shape[i]
			if k >= len(a.made) {
				s.start[k] = t.Start[i]
			}
		}
	}
	values := p.valuesIn(f, m.at)
	if values == nil || values.Summed {
		return p.inFile(f, fmt.Errorf("the values of %s are not known", m.v.Path))
	}
	if err := paintAlong(s, m.v.Shape, len(a.made), func(s stamp) error { return paint(p.meaningOf(a, m), values, s) }); err != nil {
		return p.inFile(f, err)
	}
	return nil
}

// paintAlong paints a variable at every index along axes that it lacks, where it has one element.
func paintAlong(s stamp, shape []int64, made int, paint func(stamp) error) error {
	for k := made; k < len(s.shape); k++ {
		if s.shape[k] <= 1 || shape[s.order[k-made]] != 1 {
			continue
		}
		for i := range s.shape[k] {
			one := s
			one.origin, one.start, one.shape = slices.Clone(s.origin), slices.Clone(s.start), slices.Clone(s.shape)
			one.origin[k], one.start[k], one.shape[k] = s.origin[k]+i, 0, 1
			if err := paintAlong(one, shape, made, paint); err != nil {
				return err
			}
		}
		return nil
	}
	return paint(s)
}
