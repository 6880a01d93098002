package planner

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/internal/convert"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/internal/planner/internal/edge"
	"varve/manifest/internal/planner/internal/equal"
	"varve/manifest/internal/planner/internal/inline"
)

// Extension is the change that new files make to a plan.
type Extension struct {
	Arrays     []manifest.Array     // all arrays, with their new shapes
	Placements []manifest.Placement // only the new tiles
	Values     []*manifest.Values   // only the new values
	State      json.RawMessage
}

// Extend plans new files that come after all files of an earlier plan, without reading the old files.
// first is the row of the first new file in the table of sources, to which Tile.File refers. If Extend
// returns nil, new files have to be compared with old ones: call New with all files. valueBytes is
// Options.ValueBytes. Arrays grow only at the end of a whole chunk, and keep their type, codecs and
// attributes.
func Extend(ctx context.Context, old json.RawMessage, arrays []manifest.Array, files []*manifest.File, first int, valueBytes int64, values Values) (*Extension, error) {
	if len(old) == 0 || string(old) == "null" || len(files) == 0 {
		return nil, nil
	}
	x := &extending{first: first, arrays: slices.Clone(arrays), ext: &Extension{}}
	if err := json.Unmarshal(old, &x.state); err != nil {
		return nil, fmt.Errorf("the state of the plan: %w", err)
	}
	if x.state.Options == nil {
		return nil, nil
	}
	x.p = newEnv(ctx, files, x.state.Options, values)
	x.p.opts.ValueBytes = valueBytes
	if !x.sameHeaders() {
		return nil, nil
	}
	same := false
	err := x.p.settle(func() (missing []want, err error) {
		same, missing = x.sameValues()
		return missing, nil
	})
	if err != nil || !same || !x.appendInOrder() {
		return nil, err
	}
	for i := range x.arrays {
		if !x.grow(&x.arrays[i]) {
			return nil, nil
		}
	}
	x.state.Length = x.length
	if x.ext.State, err = json.Marshal(x.state); err != nil {
		return nil, err
	}
	x.ext.Arrays = x.arrays
	return x.ext, nil
}

// extending holds an extension while it is made.
type extending struct {
	p      *env
	state  state
	first  int
	arrays []manifest.Array
	ext    *Extension

	classes []*class // for each file
	headers []int    // index into state.Headers, for each file
	dim     dim
	order   []newCoord
	length  int64
}

// newCoord is one distinct coordinate of the new files, with the files that have it.
type newCoord struct {
	*coord.Coord
	files []int32
}

// sameHeaders reports whether the new files have headers and group attributes of old files.
func (x *extending) sameHeaders() bool {
	known := map[string]*class{}
	for _, file := range x.p.files {
		at := slices.Index(x.state.Headers, file.Header.ID)
		if at < 0 || file.Header.ID == "" || file.Hidden || len(file.Parts) > 0 {
			return false
		}
		c := known[file.Header.ID]
		if c == nil {
			var err error
			if c, err = x.p.look(file); err != nil {
				return false
			}
			// New made a coordinate from this scalar of the old files, so do the same for new files.
			if scalar, _, ok := c.scalarAt(x.state.Coord); ok {
				c = c.withScalar(scalar, x.state.Dim)
			}
			known[file.Header.ID] = c
		}
		x.classes, x.headers = append(x.classes, c), append(x.headers, at)
		if !x.sameGroups(file) {
			return false
		}
	}
	return true
}

// sameValues collects the coordinates of the new files, and reports whether all values that it knows can
// be appended.
func (x *extending) sameValues() (same bool, missing []want) {
	for f := range x.p.files {
		lacks, same := x.sameStatics(int32(f))
		if missing = append(missing, lacks...); !same {
			return false, nil
		}
		missing = append(missing, x.broadcastWanted(int32(f))...)
	}
	lacks, same := x.coordinates()
	if !same {
		return false, nil
	}
	return true, append(missing, lacks...)
}

// lacks returns the values of a want, or adds it to missing. ok is false if the values do not fit their
// variable; New reports that.
func (x *extending) lacks(w want, missing *[]want) (values *manifest.Values, ok bool) {
	values, known, err := x.p.values(w)
	if err == nil && !known {
		*missing, values = append(*missing, w), nil
	}
	return values, err == nil
}

// broadcastWanted returns the missing values of a file that are broadcast along the dimension.
func (x *extending) broadcastWanted(f int32) (missing []want) {
	for _, at := range x.state.Broadcast {
		i := x.classes[f].find(at)
		if i < 0 {
			continue
		}
		if v := &x.classes[f].vars[i]; v.v.Storage.Layout != manifest.Nothing {
			x.lacks(x.p.all(f, v.at, coord.ElementsOf(v.v)), &missing)
		}
	}
	return missing
}

// sameStatics reports whether a file has the values that all files must share, as far as they are known.
func (x *extending) sameStatics(f int32) (missing []want, same bool) {
	for _, v := range x.classes[f].vars {
		ids, ok := x.state.Static[v.path]
		if !ok || v.v.Storage.Layout == manifest.Nothing || coord.ElementsOf(v.v) == 0 {
			continue
		}
		// The state has no digest of the old values, so new values cannot be compared with them.
		if len(ids) == 0 {
			return nil, false
		}
		values, ok := x.lacks(x.static(f, &v), &missing)
		if !ok {
			return nil, false
		}
		if values == nil {
			continue
		}
		if id := equal.IDOf(values); !slices.Contains(ids, id) && !slices.Contains(ids, staticOf(x.headers[f], id)) {
			return nil, false
		}
	}
	return missing, true
}

// static wants the values or digest that identify a variable's values. For large coordinates it wants
// the summary, because New needs that if Extend gives up.
func (x *extending) static(f int32, v *planVar) want {
	if len(v.dims) == 1 && v.dims[0] == v.path && x.p.isLarge(v.v) {
		return x.p.course(f, x.classes[f], v.at, v.v.Shape[0])
	}
	return digest(f, v.at)
}

// sameGroups reports whether a file has the attributes that groups declare.
func (x *extending) sameGroups(file *manifest.File) bool {
	renamer := x.p.renamer()
	seen := map[string]bool{}
	for _, g := range groupsOf(file) {
		at, ok := renamer.GroupPath(g.Path)
		if !ok {
			continue
		}
		sums, ok := x.state.Groups[at]
		if !ok {
			return false
		}
		seen[at] = true
		for name, sum := range sums {
			if a := manifest.Lookup(g.Attributes, name); a == nil || attributeSum(a) != sum {
				return false
			}
		}
	}
	for at, sums := range x.state.Groups {
		if len(sums) > 0 && !seen[at] {
			return false
		}
	}
	return true
}

// coordinates collects the coordinates of the new files, with summaries of large ones.
func (x *extending) coordinates() (missing []want, ok bool) {
	s := &x.state
	in := newInterned(x.p.files)
	x.dim = dim{path: s.Dim, coord: s.Coord, of: make([]int32, len(x.p.files)), nature: s.Nature}
	for f, c := range x.classes {
		at := c.find(s.Coord)
		if at < 0 {
			return nil, false
		}
		v := c.vars[at].v
		values := x.p.valuesIn(int32(f), c.vars[at].at)
		if values == nil || values.Summed {
			// A scan stores the values of all smaller coordinates, so something is wrong with this one.
			if !x.p.isLarge(v) || len(v.Shape) != 1 || v.Storage.Layout == manifest.Nothing {
				return nil, false
			}
			if values, ok = x.lacks(x.p.course(int32(f), c, c.vars[at].at, v.Shape[0]), &missing); !ok {
				return nil, false
			}
			if values == nil {
				continue
			}
		}
		if in.add(&x.dim, int32(f), v, values) != nil {
			return nil, false
		}
	}
	return missing, true
}

// appendInOrder sorts the new files and appends them to the old ones.
func (x *extending) appendInOrder() bool {
	s := &x.state
	for _, c := range x.dim.coords {
		if !x.fits(c) {
			return false
		}
		x.order = append(x.order, newCoord{Coord: c})
	}
	for f, n := range x.dim.of {
		x.order[n].files = append(x.order[n].files, int32(f))
	}
	slices.SortFunc(x.order, func(a, b newCoord) int {
		if s.Falling {
			a, b = b, a
		}
		return a.Low.Compare(b.Low)
	})
	return x.follow()
}

// fits reports whether a coordinate has the nature, units and direction of the old ones.
func (x *extending) fits(c *coord.Coord) bool {
	s := &x.state
	if c.Nature != s.Nature && !(s.Nature == coord.Real && c.Nature == coord.Whole) || c.Nature != coord.Instant && c.Unit != cf.UnitKey(s.Units) {
		return false
	}
	if c.Nature == coord.Instant && calendarOf(c) != s.Line {
		return false
	}
	if err := c.Measure(s.Nature, nil); err != nil || c.Len == 0 {
		return false
	}
	return c.Direction == 0 || c.Direction == 1 && !s.Falling || c.Direction == -1 && s.Falling
}

// follow places the coordinates one after another. It returns false if one does not start after the
// end of the previous one.
func (x *extending) follow() bool {
	s := &x.state
	last := coord.KeyOf(s.Last)
	x.length = s.Length
	for _, c := range x.order {
		if s.Falling && c.High.Compare(last) >= 0 || !s.Falling && c.Low.Compare(last) <= 0 {
			return false
		}
		c.Start = x.length
		x.length += c.Len
		if last = c.High; s.Falling {
			last = c.Low
		}
	}
	s.Last = last.Pair()
	return true
}

// grow adds the new files' part of an array.
func (x *extending) grow(a *manifest.Array) bool {
	axis := slices.Index(a.Dims, x.state.Dim)
	if axis < 0 {
		return true
	}
	schema := *a.Schema
	schema.Shape = slices.Clone(schema.Shape)
	schema.Shape[axis] = x.length
	if a.Placement == "" {
		// Pieces are split along the first axis only.
		if axis != 0 {
			return false
		}
		pieces, ok := x.newPieces(a)
		a.Schema = &schema
		return ok && x.addPieces(a, pieces)
	}
	runs, ok := x.growTiles(a)
	a.Schema = &schema
	return ok && edge.Extend(&schema, axis, x.state.Length, runs)
}

// growTiles adds tiles for the new files, and returns their chunk lengths.
func (x *extending) growTiles(a *manifest.Array) (runs []grid.Run, ok bool) {
	chunks := edge.Builder{At: x.state.Length}
	var tiles []manifest.Tile
	for _, c := range x.order {
		f, m := x.holder(a, &c)
		chunk := x.state.Chunks[a.Path]
		if m == nil || chunk == nil || chunk[x.headers[f]] == 0 {
			return nil, false
		}
		tiles = append(tiles, manifest.Tile{File: x.first + int(f), Origin: []int64{c.Start}, Start: []int64{0}, Shape: []int64{c.Len}})
		n := chunk[x.headers[f]]
		chunks.Chunks(c.Start+c.Len, max(n, -n), 0, n < 0)
	}
	x.addTiles(a, tiles)
	return chunks.Runs, true
}

// newPieces returns the new pieces of an array that is stored in the manifest. The dimension must
// be its first.
func (x *extending) newPieces(a *manifest.Array) (pieces []inline.Piece, ok bool) {
	for _, c := range x.order {
		f, m := x.holder(a, &c)
		if m == nil {
			return nil, false
		}
		more, ok := x.converted(a, m, f, c.Len)
		if !ok {
			return nil, false
		}
		for _, p := range more {
			p.Origin[0] += c.Start
			pieces = append(pieces, p)
		}
	}
	return pieces, true
}

// holder returns the only file with this coordinate that has the array, or nil if several have it.
// Files with equal coordinates may all have the coordinate itself.
func (x *extending) holder(a *manifest.Array, c *newCoord) (file int32, v *planVar) {
	for _, f := range c.files {
		at := x.classes[f].find(a.Path)
		if at < 0 {
			continue
		}
		// Only New can choose the file that provides the values.
		if v != nil && a.Path != x.state.Coord {
			return 0, nil
		}
		if v == nil {
			file, v = f, &x.classes[f].vars[at]
		}
	}
	return file, v
}

func (x *extending) addTiles(a *manifest.Array, tiles []manifest.Tile) {
	if slices.ContainsFunc(x.ext.Placements, func(p manifest.Placement) bool { return p.ID == a.Placement }) {
		return
	}
	x.ext.Placements = append(x.ext.Placements, manifest.Placement{ID: a.Placement, Dims: []string{x.state.Dim}, Tiles: tiles})
}

// converted returns the values of a file as pieces of the array's type, with the given length along
// the first dimension.
func (x *extending) converted(a *manifest.Array, m *planVar, f int32, length int64) ([]inline.Piece, bool) {
	values := x.p.valuesIn(f, m.at)
	if values == nil || values.Summed || !slices.Contains(x.state.Broadcast, a.Path) && !slices.Equal(m.dims, a.Dims) {
		return nil, false
	}
	shape := slices.Clone(a.Schema.Shape)
	shape[0] = length
	if lacks := len(a.Dims) - len(m.dims); lacks < 0 || !slices.Equal(m.dims, a.Dims[lacks:]) || !slices.Equal(m.v.Shape, shape[lacks:]) {
		return nil, false
	}
	v := (&survey{classes: []*class{x.classes[f]}}).meaningOf(&array{pieces: true}, &member{planVar: m})
	conversion, err := convert.New(v, a.Schema, a.Reading)
	if err != nil {
		return nil, false
	}
	part := *a.Schema
	part.Shape = shape
	elements := inline.New(&part)
	zero := make([]int64, len(shape))
	err = elements.CopyTo(conversion, v, values, inline.Target{Source: m.v.Shape, Origin: zero, Start: zero, Shape: shape})
	return elements.Pieces(), err == nil
}

// addPieces appends pieces, and joins the first one to a short last piece of the array.
func (x *extending) addPieces(a *manifest.Array, pieces []inline.Piece) bool {
	// An array that has become too large for the manifest needs another schema.
	if slices.Contains(x.state.Small, a.Path) && !x.small(a) || slices.Contains(x.state.Broadcast, a.Path) && !isWithin(a, mostTimes) {
		return false
	}
	a.Pieces = slices.Clone(a.Pieces)
	if tail, ok := x.state.Tails[a.Path]; ok && len(a.Pieces) > 0 {
		last := a.Pieces[len(a.Pieces)-1]
		a.Pieces = a.Pieces[:len(a.Pieces)-1]
		pieces = append([]inline.Piece{{Region: grid.Region{Origin: last.Origin, Shape: last.Shape}, Values: &manifest.Values{Data: tail}}}, pieces...)
	}
	pieces = joined(pieces)
	made := map[string]*manifest.Values{}
	for _, p := range pieces {
		p.Values.SetID()
		made[p.Values.ID] = p.Values
		x.ext.Values = append(x.ext.Values, p.Values)
		a.Pieces = append(a.Pieces, manifest.Piece{Origin: p.Origin, Shape: p.Shape, Values: p.Values.ID})
	}
	keepTail(&x.state, a, func(id string) *manifest.Values { return made[id] })
	return true
}

// small reports whether an array may still be stored in the manifest.
func (x *extending) small(a *manifest.Array) bool {
	return isWithin(a, x.state.Options.InlineBytes())
}

// isWithin reports whether an array of fixed-size elements takes at most `most` bytes.
func isWithin(a *manifest.Array, most int64) bool {
	n := codec.Form{Type: a.Schema.DataType.Type(), Shape: a.Schema.Shape}.Bytes()
	return n >= 0 && int64(n) <= most
}

// joined concatenates adjacent pieces of fixed-size elements that are short.
func joined(pieces []inline.Piece) (out []inline.Piece) {
	for _, p := range pieces {
		k := len(out) - 1
		if k < 0 || p.Values.Texts != nil || out[k].Values.Texts != nil || len(out[k].Values.Data) > mostTail {
			out = append(out, p)
			continue
		}
		both := inline.Piece{Region: grid.Region{Origin: out[k].Origin, Shape: slices.Clone(out[k].Shape)}, Values: &manifest.Values{}}
		both.Shape[0] += p.Shape[0]
		both.Values.Data = slices.Concat(out[k].Values.Data, p.Values.Data)
		out[k] = both
	}
	return out
}
