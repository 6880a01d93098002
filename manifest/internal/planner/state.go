package planner

import (
	"encoding/json"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"varve/manifest"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/internal/planner/internal/edge"
	"varve/manifest/internal/planner/internal/equal"
	"varve/manifest/plan"
)

// state is the input of Extend. It holds a few lines for each header, and nothing for each file, so
// that an append costs the same for ten files and for a million. keepState writes no state for
// plans that Extend could not continue: files placed along several dimensions or by name, cut
// tiles, hidden parts, or codecs that one more file could change.
type state struct {
	Options *plan.Options
	Dim     string // the dimension along which files are concatenated
	Coord   string // the path of the variable whose values place the files
	Nature  coord.Nature
	Units   string `json:",omitempty"` // only for coordinates that are not times
	Line    string `json:",omitempty"` // the calendar, only for times
	Last    [2]int64
	Falling bool `json:",omitempty"`
	Length  int64

	Headers []string
	// Chunks holds the chunk length along the dimension, by array and header. A negative length
	// means that the last chunk of a file is padded.
	Chunks map[string][]int64
	// Static holds, by array, the IDs of values that are equal in all files. If equal bytes do not
	// mean equal values, because headers differ in type, units or shape, an ID follows the number
	// of its header.
	Static map[string][]string
	// Broadcast lists arrays that are broadcast along the dimension and stored in the manifest.
	Broadcast []string `json:"Spread,omitempty"`
	// Small lists arrays that are stored in the manifest only while they are small.
	Small []string `json:",omitempty"`
	// Groups holds hashes of the attributes that groups declare.
	Groups map[string]map[string]uint64
	// Tails holds the elements of short last pieces, which the next append joins to its own.
	Tails map[string][]byte `json:",omitempty"`
}

// Limits of a state. With more headers or values, planning again is cheaper than a large state.
const (
	mostHeaders = 64
	mostStatic  = 8
	mostTail    = 1 << 8
)

// keepState writes the input of Extend, or nothing if Extend could not continue this plan.
func (p *declaration) keepState() error {
	d := p.arrangement.onlyFlow()
	if d == nil || len(p.survey.classes) > mostHeaders || p.env.opts.Strict || p.env.opts.Padded || p.env.opts.KeepShards || len(p.out.Inexact)+len(p.env.opts.Exact)+len(p.env.opts.Repack) > 0 {
		return nil
	}
	last := d.order[len(d.order)-1]
	end := last.High
	s := state{Options: p.env.opts, Dim: d.path, Coord: d.coord, Nature: d.nature, Units: last.Units, Length: d.length,
		Chunks: map[string][]int64{}, Static: map[string][]string{}, Groups: map[string]map[string]uint64{}, Tails: map[string][]byte{}}
	if d.nature == coord.Instant {
		s.Line = calendarOf(last)
	}
	// The first two coordinates decide if every file holds a single step, which has no direction.
	if slices.ContainsFunc(d.order, func(c *coord.Coord) bool { return c.Direction == -1 }) || len(d.order) > 1 && d.order[1].Low.Compare(d.order[0].Low) < 0 {
		s.Falling, end = true, last.Low
	}
	s.Last = end.Pair()
	for _, c := range p.survey.classes {
		s.Headers = append(s.Headers, c.header.ID)
	}
	for _, a := range p.arrangement.arrays {
		if !p.keepArray(&s, a, d) {
			return nil
		}
	}
	p.keepGroups(&s)
	p.keepTails(&s)
	var err error
	p.out.State, err = json.Marshal(s)
	return err
}

// onlyFlow returns the dimension along which files are placed. It returns nil if there are several
// such dimensions, or if something other than increasing or decreasing values places the files.
func (p *arrangement) onlyFlow() *dim {
	var only *dim
	for _, w := range p.placeOrder {
		if len(w.dims) == 0 {
			continue
		}
		// With two dimensions, or with gaps, a new file may belong between old ones.
		if len(w.dims) > 1 || w.cut || w.holes || only != nil && w.dims[0] != only {
			return nil
		}
		only = w.dims[0]
	}
	if only == nil || only.by != byValues || only.nature == coord.Text || only.nature == 0 || len(p.survey.hidden) > 0 || p.survey.includedSpare || p.survey.beside[only.path] {
		return nil
	}
	// Unordered values have no end after which a new file could start.
	if slices.ContainsFunc(only.order, func(c *coord.Coord) bool { return c.Direction == 2 }) {
		return nil
	}
	return only
}

func (p *declaration) keepArray(s *state, a *array, d *dim) bool {
	if a.where == nil || len(a.where.dims) == 0 {
		// The user does not want later files to be compared with the first.
		if p.env.opts.Coords == plan.CoordsFirst {
			return true
		}
		ids, ok := p.arrangement.staticIDs(a)
		s.Static[a.path] = ids
		return ok
	}
	if a.pieces {
		if a.broadcast {
			s.Broadcast = append(s.Broadcast, a.path)
		} else if !slices.ContainsFunc(a.members, func(m member) bool { return m.v.Storage.Layout == manifest.Valued }) && !p.alignment.isAxis(a) && !p.arrangement.needsCommonUnits(a) {
			s.Small = append(s.Small, a.path)
		}
		return true
	}
	c := &cutting{p: p.survey, a: a, members: a.members, kept: make([]bool, len(a.members)), shape: p.alignment.shapeOf(a), element: elementSize(a.members)}
	if out := p.arrayAt(a.path); out != nil {
		c.around = edge.Around(out.Schema.ChunkGrid, slices.Index(out.Dims, d.path))
	}
	s.Chunks[a.path] = make([]int64, len(p.survey.classes))
	axis := slices.Index(a.allDims(), d.path)
	for i := range a.members {
		m := &a.members[i]
		// A list of edges says nothing about the chunks of the next file.
		if m.v.Storage.Edges != nil {
			return false
		}
		n := c.chunkAlong(axis, m)
		if m.v.Storage.Layout == manifest.Chunked && !a.broadcast {
			n = -n // negative: each file ends with a padded chunk
		}
		s.Chunks[a.path][m.class] = n
	}
	return true
}

func (p *declaration) arrayAt(path string) *manifest.Array {
	i, ok := slices.BinarySearchFunc(p.out.Arrays, path, func(a manifest.Array, path string) int { return strings.Compare(a.Path, path) })
	if !ok {
		return nil
	}
	return &p.out.Arrays[i]
}

// staticIDs returns the distinct IDs of the values of an array that is equal in all files. ok is false
// if values are unknown, or if there are too many IDs to keep.
func (p *arrangement) staticIDs(a *array) (ids []string, ok bool) {
	alike := p.comparing(a).alike && a.sameShape()
	for _, m := range a.members {
		if m.v.Storage.Layout == manifest.Nothing || coord.ElementsOf(m.v) == 0 {
			continue
		}
		for _, f := range p.survey.classes[m.class].files {
			values := p.env.valuesIn(f, m.at)
			if values == nil {
				return nil, a.files == 1 // a single file was never compared, so its values are unknown, but the next file needs them
			}
			id := equal.IDOf(values)
			if !alike {
				id = staticOf(int(m.class), id)
			}
			if !slices.Contains(ids, id) {
				if ids = append(ids, id); len(ids) > mostStatic {
					return nil, false
				}
			}
		}
	}
	slices.Sort(ids)
	return ids, true
}

// sameShape reports whether the array has the same shape in all files.
func (a *array) sameShape() bool {
	return !slices.ContainsFunc(a.members, func(m member) bool { return !slices.Equal(m.v.Shape, a.members[0].v.Shape) })
}

// staticOf returns an ID that is only valid for files with one header.
func staticOf(header int, id string) string { return strconv.Itoa(header) + " " + id }

// keepGroups stores hashes of the group attributes that all files have in common.
func (p *declaration) keepGroups(s *state) {
	first := p.env.files[p.arrangement.inRank()[0]]
	renamer := p.env.renamer()
	of := map[string][]manifest.Attribute{}
	for _, g := range groupsOf(first) {
		if at, ok := renamer.GroupPath(g.Path); ok {
			of[at] = append(of[at], g.Attributes...)
		}
	}
	for _, schema := range p.out.Groups {
		declared := map[string]bool{}
		for name := range schema.Attributes.All() {
			declared[name] = true
		}
		sums := map[string]uint64{}
		for _, a := range of[schema.Path] {
			if declared[a.Name] {
				sums[a.Name] = attributeSum(&a)
			}
		}
		s.Groups[schema.Path] = sums
	}
}

func attributeSum(a *manifest.Attribute) uint64 {
	g := manifest.GroupAttributes{Groups: []manifest.Group{{Attributes: []manifest.Attribute{*a}}}}
	h := fnv.New64a()
	h.Write(g.AppendKey(nil))
	return h.Sum64()
}

// keepTails stores the elements of short last pieces, so that the next append can join its own to
// them. Otherwise a manifest that grows by one step a day would have one piece for each day.
func (p *declaration) keepTails(s *state) {
	values := map[string]*manifest.Values{}
	for _, v := range p.out.Values {
		values[v.ID] = v
	}
	for i := range p.out.Arrays {
		keepTail(s, &p.out.Arrays[i], func(id string) *manifest.Values { return values[id] })
	}
}

func keepTail(s *state, a *manifest.Array, values func(id string) *manifest.Values) {
	if s.Tails == nil {
		s.Tails = map[string][]byte{}
	}
	// The last piece has changed, so an older tail must not be joined to it.
	delete(s.Tails, a.Path)
	if len(a.Pieces) == 0 || len(a.Dims) == 0 || a.Dims[0] != s.Dim {
		return
	}
	if v := values(a.Pieces[len(a.Pieces)-1].Values); v != nil && v.Texts == nil && len(v.Data) <= mostTail {
		s.Tails[a.Path] = v.Data
	}
}
