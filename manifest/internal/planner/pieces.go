package planner

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/internal/convert"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/internal/planner/internal/inline"
	"varve/manifest/report"
	"varve/zarrjson"
)

// Limits of values that are stored in the manifest.
const (
	mostTimes  = 64 << 20 // bytes of times that are converted to common units
	leastChunk = 512      // elements; a smaller chunk would make many requests once the dimension has grown
)

// decidePieces decides whether an array's values are stored in the manifest, which wants all of them.
func (p *arrangement) decidePieces(a *array) {
	a.orphan = p.isOrphan(a)
	switch was := p.env.earlier.array(a.path); {
	// The values of such an array are those of an old file, and may not be known any more. A single old file was
	// never compared, so its values were not known either.
	case was != nil && a.where == nil && p.survey.oldFiles(a) > 1:
		a.pieces = was.Placement == ""
	// The files store no chunks of such values, so a client cannot read them from there.
	case slices.ContainsFunc(a.members, func(m member) bool { return m.v.Storage.Layout == manifest.Valued }):
		a.pieces = true
	// Clients read coordinates first. Storing them in the manifest saves one request for each file.
	case p.alignment.isAxis(a):
		a.pieces = !p.alignment.dims[a.dims[0]].large
	case p.hasMovedBounds(a):
		a.pieces = true
	// The values are in other files. Only references to them are known.
	case a.parted():
	case p.keepsBroadcast(a):
		a.pieces = true
	// Times with different units share no encoding, so all are converted once, at build time.
	case p.needsCommonUnits(a) && p.alignment.bytesOf(a) <= mostTimes && (p.env.inherits(a) || !p.env.hasLarge(a)):
		a.pieces = true
	case p.needsCommonUnits(a) && p.env.inherits(a):
		p.env.find(p.env.odd(report.Finding{Code: report.BoundsTooLarge, Array: a.path, Effect: report.Refused, Args: report.Args{"limit": report.Bytes(mostTimes)},
			Remedies: []report.Remedy{report.DropPath(path.Base(a.path))}}, p.holders(a), int64(len(p.env.files))))
	// Values that the plan has read anyway cost nothing more to store.
	default:
		known, _ := p.survey.known(a)
		a.pieces = known && p.alignment.bytesOf(a) <= p.env.inline() && !p.env.hasLarge(a)
	}
}

// piecesWanted returns the missing values of an array that is stored in the manifest.
func (p *arrangement) piecesWanted(a *array) (missing []want, err error) {
	for _, f := range p.holders(a) {
		m := a.memberOf(p.survey.classOf[f])
		if m.v.Storage.Layout == manifest.Nothing || p.env.earlier.has(f) {
			continue
		}
		w := p.env.all(f, m.at, coord.ElementsOf(m.v))
		if _, ok, err := p.env.values(w); err != nil {
			return nil, err
		} else if !ok {
			missing = append(missing, w)
		}
	}
	if a.broadcast && len(missing) == 0 {
		p.refuseRepeated(a)
	}
	return missing, nil
}

// needsCommonUnits reports whether the times of an array must be converted to common units: their units
// differ, or they are bounds whose parent's units do.
func (p *arrangement) needsCommonUnits(a *array) bool {
	if p.parentUnitsDiffer(a) {
		return true
	}
	if a.where == nil {
		return false
	}
	var first *manifest.Variable
	for _, m := range a.members {
		for files := range p.survey.variants(m.class, m.at) {
			v := p.survey.withAttributesOf(m.class, m.at, p.survey.classes[m.class].meaning(m.at), files[0])
			if _, ok, err := cf.UnitsOf(v); !ok || err != nil {
				return false
			}
			if first == nil {
				first = v
			}
			if !coord.SameMeaning(first, v) {
				return true
			}
		}
	}
	return false
}

// parentUnitsDiffer reports whether an array holds bounds whose parent variables have different units in
// different files, including files without the bounds.
func (p *arrangement) parentUnitsDiffer(a *array) bool {
	bounded, _ := p.bounded(a)
	if len(bounded) == 0 {
		return false
	}
	return slices.ContainsFunc(p.arrays, func(b *array) bool { return bounded[b.path] && !b.sameUnits() })
}

// isOrphan reports whether an array holds bounds in all files, but no array of the plan names it as
// its bounds. The parents were dropped, or name other bounds in other files, so the array has to
// state its own units.
func (p *arrangement) isOrphan(a *array) bool {
	bounded, all := p.bounded(a)
	return all && !slices.ContainsFunc(p.arrays, func(b *array) bool {
		return bounded[b.path] && slices.ContainsFunc(cf.BoundsRoles, func(role string) bool {
			name := p.bounds(b, role)
			return name != "" && path.Join(path.Dir(b.path), name) == a.path
		})
	})
}

// bounded returns the paths of the parent variables of the array's members, which are their bounds.
// all is true if every member has a parent, even a dropped one.
func (p *arrangement) bounded(a *array) (paths map[string]bool, all bool) {
	paths, all = map[string]bool{}, true
	for _, m := range a.members {
		c := p.survey.classes[m.class]
		v := c.parents.Bounded(c.header.Variables[m.at])
		if v == nil {
			all = false
			continue
		}
		i := slices.IndexFunc(c.vars, func(x planVar) bool { return x.v == v })
		if i < 0 { // or it was broadcast, which replaced the variable
			i = slices.IndexFunc(c.vars, func(x planVar) bool { return c.header.Variables[x.at] == v })
		}
		if i >= 0 {
			paths[c.vars[i].path] = true
		}
	}
	return paths, all
}

// bounds returns the name of an array's bounds, or "". All files that name bounds must agree, and
// the other files must have no variable with that name.
func (p *arrangement) bounds(a *array, role string) string {
	name := ""
	for _, m := range a.members {
		if own := p.boundsIn(&m, role); own != "" && name != "" && own != name {
			return ""
		} else if own != "" {
			name = own
		}
	}
	at := path.Join(path.Dir(a.path), name)
	if name == "" || slices.ContainsFunc(a.members, func(m member) bool { return p.boundsIn(&m, role) == "" && p.survey.classes[m.class].find(at) >= 0 }) {
		return ""
	}
	return name
}

// boundsIn returns the bounds that a member names.
func (p *arrangement) boundsIn(m *member, role string) string {
	return coord.TextOf(p.survey.newNames(m.class, m.v), role)
}

// sameUnits reports whether all members have equal units and calendars.
func (a *array) sameUnits() bool {
	first := a.members[0].v.Attributes
	return !slices.ContainsFunc(a.members, func(m member) bool {
		differs := func(name string) bool {
			return !coord.SameAttribute(manifest.Lookup(first, name), manifest.Lookup(m.v.Attributes, name))
		}
		return differs(cf.UnitsName) || differs(cf.CalendarName)
	})
}

// inherits reports whether a member holds bounds that take their units from another variable.
func (p *env) inherits(a *array) bool {
	return slices.ContainsFunc(a.members, func(m member) bool {
		_, own, err := cf.UnitsOf(m.v)
		return !own && err == nil
	})
}

// referenceOf returns common units for the times of an array that is stored in the manifest, or nil
// if the units agree already.
func (p *arrangement) referenceOf(a *array) (*cf.Reference, error) {
	var first *manifest.Variable
	differ := p.parentUnitsDiffer(a)
	for _, m := range a.members {
		for files := range p.survey.variants(m.class, m.at) {
			v := p.survey.withAttributesOf(m.class, m.at, p.survey.meaningOf(a, &m), files[0])
			if _, ok, err := cf.UnitsOf(v); !ok || err != nil {
				// One member without valid times is enough: the array is not one of times.
				return nil, nil
			}
			if first == nil {
				first = v
			}
			differ = differ || !coord.SameMeaning(first, v)
		}
	}
	if !differ {
		return nil, nil
	}
	var all []cf.Times
	for _, f := range p.holders(a) {
		m := a.memberOf(p.survey.classOf[f])
		values := p.env.valuesIn(f, m.at)
		if values == nil || values.Summed {
			continue
		}
		t, err := cf.TimesOf(p.survey.withAttributesOf(m.class, m.at, p.survey.meaningOf(a, m), f), values)
		if err != nil {
			return nil, p.env.inFile(f, err)
		}
		all = append(all, t)
	}
	if len(all) == 0 {
		return nil, nil
	}
	r, err := cf.CommonReference(all)
	if other := (*cf.CalendarError)(nil); errors.As(err, &other) {
		return nil, nil // the schema refuses these, with the names of the files
	} else if err != nil {
		return nil, advise(fmt.Errorf("%s: %w", a.path, err), report.DropPath(a.path[1:]))
	}
	return &r, nil
}

// declarePieces converts the values of all files to the type of the schema and stores them in the
// plan.
func (p *declaration) declarePieces(a *array, out manifest.Array) error {
	chunk, grows := p.env.pieceChunk(a, out.Schema.Shape)
	out.Schema.ChunkGrid = zarrjson.RegularGrid(chunk...)
	// The codecs must not change either when an array grows.
	size := out.Schema.Shape
	if grows {
		size = chunk
	}
	out.Schema.Codecs = codec.CodecsOfCoordinates(codec.Form{Type: out.Schema.DataType.Type(), Shape: size})
	// The values that earlier plans have stored are not stored again.
	old, stored := p.env.earlier, int64(0)
	switch {
	case old.array(a.path) != nil && len(a.placed) == 0:
		out.Pieces = old.array(a.path).Pieces
		p.out.Arrays = append(p.out.Arrays, out)
		return nil
	case old.grows(out.Dims):
		if out.Dims[0] != old.Dim {
			return replanError{report.ReplanInnerDim} // pieces are split along the first axis only
		}
		stored = old.Length
	}
	rest := *out.Schema
	if stored > 0 {
		rest.Shape = slices.Clone(rest.Shape)
		rest.Shape[0] -= stored
	}
	c := inline.New(&rest)
	if err := p.arrangement.copyAll(a, &out, c, stored); err != nil {
		return err
	}
	for _, piece := range c.Pieces() {
		values := piece.Values
		values.SetID()
		if stored > 0 {
			piece.Origin[0] += stored
		}
		p.out.Values = append(p.out.Values, values)
		out.Pieces = append(out.Pieces, manifest.Piece{Origin: piece.Origin, Shape: piece.Shape, Values: values.ID})
	}
	p.out.Arrays = append(p.out.Arrays, out)
	return nil
}

// pieceChunk returns the chunk shape of an array in the manifest: one chunk for most arrays. grows
// reports that appended files make the array longer along its first dimension. Then the chunk length
// there is a power of two, or the one of the snapshot before, so that an append changes no chunk grid.
func (p *env) pieceChunk(a *array, shape []int64) (chunk []int64, grows bool) {
	chunk = make([]int64, len(shape))
	inner, most := int64(1), int64(1)
	for k := len(shape) - 1; k >= 0; k-- {
		// The inner dimensions are kept whole, so that a chunk is a contiguous range of elements.
		most = max(inline.PieceElements/inner, 1)
		chunk[k] = max(min(shape[k], most), 1)
		inner *= max(shape[k], 1)
	}
	if len(shape) == 0 || len(a.placed) == 0 || a.dimAt(0) != a.placed[0].path || a.placed[0].role == fixed {
		return chunk, false
	}
	// Earlier versions gave new dimensions chunks that are as short as the array was.
	if was := p.opts.ChunkLengths[a.path]; was >= min(leastChunk, most) && was <= most {
		chunk[0] = was
		return chunk, true
	}
	length := int64(leastChunk)
	for length < shape[0] && 2*length <= most {
		length *= 2
	}
	chunk[0] = min(length, most)
	return chunk, true
}

// madeArray returns the coordinate array of a new dimension. It adds a class for its variable.
func (p *survey) madeArray(d *dim) *array {
	c := d.order[0]
	h := &manifest.Header{Variables: []*manifest.Variable{c.Variable}}
	// The schema is decided from classes, and no class of the files has this variable.
	class := &class{header: h, files: d.filesWhose(func(*coord.Coord) bool { return true })}
	p.classes = append(p.classes, class)
	return &array{path: d.path, dims: []string{d.path}, pieces: true, placed: []*dim{d}, files: int64(len(class.files)),
		members: []member{{class: int32(len(p.classes) - 1), planVar: &planVar{v: h.Variables[0], path: d.path, dims: []string{d.path}}, axes: []int{0}}}}
}

// copyAll converts the values of all files and writes them to c, which begins at a position along the first
// dimension. Values before that position are left out.
func (p *arrangement) copyAll(a *array, out *manifest.Array, c *inline.Elements, from int64) error {
	conversions := map[*manifest.Variable]*convert.Conversion{}
	copyTo := func(v *manifest.Variable, values *manifest.Values, s inline.Target) error {
		if from > 0 {
			if s.Origin[0] < from {
				return nil
			}
			s.Origin = slices.Clone(s.Origin)
			s.Origin[0] -= from
		}
		conversion := conversions[v]
		if conversion == nil {
			var err error
			if conversion, err = convert.New(v, out.Schema, out.Reading); err != nil {
				return fmt.Errorf("%s: %w", a.path, err)
			}
			conversions[v] = conversion
		}
		return c.CopyTo(conversion, v, values, s)
	}
	// Files share coordinates, so each distinct one is copied once and not once for each file.
	if d := p.alignment.dims[a.path]; p.alignment.isCoordinate(a) && len(d.order) > 0 && d.order[0].Variable != nil {
		return p.copyCoordinate(d, copyTo)
	}
	if a.where == nil {
		f := p.holders(a)[0]
		m := a.memberOf(p.survey.classOf[f])
		return p.survey.copyFile(a, m, f, manifest.Tile{}, copyTo)
	}
	for i := range a.where.tiles {
		t := &a.where.tiles[i]
		if p.env.earlier.has(int32(t.File)) {
			continue
		}
		if err := p.survey.copyFile(a, a.memberOf(p.survey.classOf[t.File]), int32(t.File), *t, copyTo); err != nil {
			return err
		}
	}
	return nil
}

type copier func(v *manifest.Variable, values *manifest.Values, s inline.Target) error

// copyCoordinate copies each distinct coordinate once.
func (p *arrangement) copyCoordinate(d *dim, copyTo copier) error {
	order := d.order
	if d.role == fixed {
		order = []*coord.Coord{p.fixedCoord(d)}
	}
	for _, c := range order {
		if c.Values == coord.None {
			continue
		}
		parts := []coord.Part{{Origin: c.Start, Length: c.Len}}
		if d.by == byLabels {
			parts = c.Parts
		}
		for _, s := range parts {
			if err := copyTo(c.Variable, c.Values, inline.Target{Source: []int64{c.Len}, Origin: []int64{s.Origin}, Start: []int64{s.Start}, Shape: []int64{s.Length}}); err != nil {
				return p.env.inFile(c.File, err)
			}
		}
	}
	return nil
}

// fixedCoord returns the coordinate that all files have, or the one used for all of them.
func (p *arrangement) fixedCoord(d *dim) *coord.Coord {
	if d.first {
		return p.firstCoord(d)
	}
	return d.order[0]
}

// firstCoord returns the coordinate of the first file by rank.
func (p *arrangement) firstCoord(d *dim) *coord.Coord {
	first := int32(-1)
	for f, n := range d.of {
		if n >= 0 && d.coords[n].Len > 0 && (first < 0 || p.rank[f] < p.rank[first]) {
			first = int32(f)
		}
	}
	return d.coords[d.of[first]]
}

func (p *survey) copyFile(a *array, m *member, f int32, t manifest.Tile, copyTo copier) error {
	if m.v.Storage.Layout == manifest.Nothing || coord.ElementsOf(m.v) == 0 {
		return nil
	}
	s := inline.Target{Source: m.v.Shape, Order: m.axes}
	for range a.made {
		s.Origin, s.Start, s.Shape = append(s.Origin, 0), append(s.Start, 0), append(s.Shape, 1)
	}
	for k := range a.dims {
		s.Origin, s.Start, s.Shape = append(s.Origin, 0), append(s.Start, 0), append(s.Shape, m.v.Shape[m.axes[k]])
	}
	if a.where != nil {
		for i, d := range a.where.dims {
			k := slices.Index(a.allDims(), d.path)
			s.Origin[k], s.Shape[k] = t.Origin[i], t.Shape[i]
			if k >= len(a.made) {
				s.Start[k] = t.Start[i]
			}
		}
	}
	values := p.env.valuesIn(f, m.at)
	if values == nil || values.Summed {
		return p.env.inFile(f, fmt.Errorf("the values of %s are not known", m.v.Path))
	}
	if err := repeatAlong(s, m.v.Shape, len(a.made), func(s inline.Target) error {
		return copyTo(p.withAttributesOf(m.class, m.at, p.meaningOf(a, m), f), values, s)
	}); err != nil {
		return p.env.inFile(f, err)
	}
	return nil
}

// repeatAlong calls copyTo at every index along dimensions in which the variable has one element and
// the array has more.
func repeatAlong(s inline.Target, shape []int64, made int, copyTo func(inline.Target) error) error {
	for k := made; k < len(s.Shape); k++ {
		if s.Shape[k] <= 1 || shape[s.Order[k-made]] != 1 {
			continue
		}
		for i := range s.Shape[k] {
			one := s
			one.Origin, one.Start, one.Shape = slices.Clone(s.Origin), slices.Clone(s.Start), slices.Clone(s.Shape)
			one.Origin[k], one.Start[k], one.Shape[k] = s.Origin[k]+i, 0, 1
			if err := repeatAlong(one, shape, made, copyTo); err != nil {
				return err
			}
		}
		return nil
	}
	return copyTo(s)
}

// keepsBroadcast reports whether the values of a broadcast array are stored in the manifest.
func (p *arrangement) keepsBroadcast(a *array) bool {
	return a.broadcast && a.isSmall() && !p.env.hasLarge(a) && !slices.ContainsFunc(a.members, func(m member) bool { return m.v.Type.Varies() }) && p.alignment.bytesOf(a) <= mostTimes
}

// refuseRepeated refuses a broadcast array that is too large to store in the manifest.
func (p *arrangement) refuseRepeated(a *array) {
	size := int64(0)
	for i := range a.where.tiles {
		t := &a.where.tiles[i]
		m := a.memberOf(p.survey.classOf[t.File])
		values := p.env.valuesIn(int32(t.File), m.at)
		if values == nil {
			continue
		}
		bytes := int64(len(values.Data)) + textSize*int64(len(values.Texts))
		for _, text := range values.Texts {
			bytes += int64(len(text))
		}
		for k := range a.made {
			bytes *= t.Shape[k]
		}
		if size += bytes; size > mostTimes || size < 0 {
			files := p.holders(a)
			p.env.find(p.env.odd(report.Finding{Code: report.BroadcastTooLarge, Array: a.path, Effect: report.Refused,
				Args:     report.Args{"limit": report.Bytes(mostTimes), "dims": dimList(a.placed[:len(a.made)])},
				Remedies: []report.Remedy{report.DropPath(a.path[1:])}}, files, a.files))
			return
		}
	}
}
