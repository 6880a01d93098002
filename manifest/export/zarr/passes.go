package zarr

import (
	"context"
	"errors"
	"fmt"

	"varve/codec"
	"varve/grid"
	"varve/manifest/internal/change"
	"varve/manifest/store"
)

// Plan says how a copy reads and writes the values of its arrays.
type Plan struct {
	Arrays []ArrayPlan
	// Memory is the limit for chunks.
	Memory int64
}

// ArrayPlan is the plan of an array. Arrays without stored chunks have none.
type ArrayPlan struct {
	Array string
	// Chunks is the shape of the first chunk of the copy, or of the first shard.
	Chunks []int64
	// Size is the size of the decoded elements in bytes.
	Size int64
	// Passes is 0 if the chunks are copied as they are, unless codecs differ; 1 if stored chunks are decoded for the chunks of
	// the copy; 2 if temporary blocks are between them.
	Passes int
	// Decodes is how often a stored chunk is decoded, on average.
	Decodes float64
	// Direct is what Decodes would be with one pass.
	Direct float64
	// Temporary is the size of the temporary blocks in bytes, and Blocks is their number.
	Temporary, Blocks int64
	// Box is the memory for the elements that are read or written together.
	Box int64
}

// MemoryError reports a chunk that is larger than the memory for chunks.
type MemoryError struct {
	// IsStored is true for a chunk of the source, which must be decoded as a whole, and false for a chunk of the copy.
	IsStored bool
	// Limit is Options.Memory, and Need the least value with which the copy is possible.
	Limit, Need int64
}

// Error says which chunks are too large.
func (e *MemoryError) Error() string {
	what := "a chunk or shard of the copy"
	if e.IsStored {
		what = "a stored chunk"
	}
	return fmt.Sprintf("%s is larger than the memory limit for chunks (%d bytes)", what, e.Limit)
}

// passes is the way in which the chunks of an array are copied.
type passes struct {
	to      *boxing // boxes of chunks of the copy
	from    *boxing // boxes of stored chunks that a first pass reads; nil if one pass is enough
	region  grid.Region
	box     int64   // bytes of the elements of the largest box
	bytes   int64   // memory for a box and its workers
	workers int     // the number of chunks of a box that are encoded at the same time
	decodes float64 // of a stored chunk, on average
	direct  float64 // decodes without temporary blocks
}

const (
	// wholeBytes is the approximate size of a box of chunks that are copied unchanged.
	wholeBytes = 32 << 20
	// perElement is the assumed size in bytes of an element of varying length.
	perElement = 64
	// mostDecodes is the average number of decodes from which temporary blocks, which are written and read once, are faster.
	mostDecodes = 2
)

// area returns a box of chunk coordinates that contains all chunks to copy.
func (t *target) area() grid.Region {
	area := grid.Whole(t.grid.Counts()).Clone()
	first, last := make([]int64, t.grid.Rank()), make([]int64, t.grid.Rank())
	t.grid.Coords(t.from, first)
	t.grid.Coords(t.to-1, last)
	for k := range first {
		area.Origin[k], area.Shape[k] = first[k], last[k]-first[k]+1
		if first[k] != last[k] {
			break
		}
	}
	if t.old != nil && t.fresh.Kind == change.Tail {
		k := t.fresh.Axis
		end := area.End(k)
		area.Origin[k] = min(max(area.Origin[k], t.fresh.From), end)
		area.Shape[k] = end - area.Origin[k]
	}
	return area
}

// plan chooses boxes. Reading a box decodes all stored chunks that it intersects. One pass reads boxes of chunks of the copy. If
// that decoded stored chunks more than mostDecodes times, a first pass reads boxes of stored chunks, so that each is decoded once.
func (t *target) plan(o *Options) (*passes, error) {
	p := &passes{to: newBoxing(t.grid, t.area()), workers: 1, decodes: 1, direct: 1}
	var err error
	if p.region, err = t.grid.RegionOf(p.to.area); err != nil {
		return nil, err
	}
	unit := t.unit()
	if unit == 0 {
		unit = perElement
	}
	chunk := p.to.bytes(unit, o.Memory)
	if chunk > o.Memory {
		return nil, &MemoryError{Limit: o.Memory, Need: p.to.bytes(unit, anySize)}
	}
	if t.whole {
		p.to.grow(unit, max(min(o.Memory/int64(o.Workers), wholeBytes)/2, chunk), p.to.least)
		p.box = p.to.bytes(unit, o.Memory)
		p.bytes = min(2*p.box, o.Memory)
		return p, nil
	}
	// Each worker has the elements of a chunk and their encoded form.
	p.workers = int(min(int64(o.Workers), max(o.Memory/(8*chunk), 1)))
	room := int64(p.workers) * 2 * chunk
	limit := max(o.Memory-room, chunk)
	p.box = limit
	defer func() { p.bytes = min(p.box+room, o.Memory) }()
	stored, err := t.atoms(unit, limit)
	var tooLarge *MemoryError
	if errors.As(err, &tooLarge) {
		tooLarge.Limit, tooLarge.Need = o.Memory, tooLarge.Need+room
	}
	if err != nil {
		return nil, err
	}
	lengths := newBoxing(stored, grid.Whole(stored.Counts())).lengths()
	p.to.grow(unit, limit, func() int { return p.to.shortest(lengths) })
	p.to.grow(unit, limit, func() int { return p.to.leastAligned(stored) })
	p.box = p.to.bytes(unit, limit)
	for k := range p.to.step {
		p.direct *= p.to.decodes(stored, k)
	}
	if p.decodes = p.direct; p.direct <= mostDecodes || t.unit() == 0 {
		return p, nil
	}
	chunks, err := stored.ChunksOf(p.region)
	if err != nil {
		return nil, err
	}
	p.decodes, p.from, p.to = 1, newBoxing(stored, chunks), newBoxing(t.grid, p.to.area)
	lengths = p.to.lengths()
	p.from.grow(unit, limit, func() int { return p.from.shortest(lengths) })
	p.to.grow(unit, limit, func() int { return p.to.shortest(p.from.lengths()) })
	p.box = max(p.from.bytes(unit, limit), p.to.bytes(unit, limit))
	return p, nil
}

// anySize is larger than any chunk.
const anySize = 1 << 60

// atoms returns the grid of what is decoded as a whole: stored chunks, chunks in shards, or parts of uncompressed chunks that fit
// into limit bytes.
func (t *target) atoms(unit, limit int64) (*grid.Grid, error) {
	g := t.source.Grid()
	if t.kept() {
		return t.grid, nil // no chunk is decoded
	}
	if t.within != nil {
		g = t.within
	}
	size := newBoxing(g, grid.Whole(g.Counts())).bytes(unit, anySize)
	if size <= limit || g.Chunks() == 0 {
		return g, nil
	}
	p, err := t.source.Pipeline(make([]int64, g.Rank()))
	if err != nil {
		return nil, err
	}
	if p.Partial() != codec.PartialRows {
		return nil, &MemoryError{IsStored: true, Limit: limit, Need: size}
	}
	shape := firstSizes(g)
	for k, rows := range shape {
		rest := unit
		for _, n := range shape[k+1:] {
			rest *= n
		}
		if shape[k] = min(max(limit/rest, 1), rows); limit/rest >= 1 {
			break
		}
	}
	return grid.Regular(g.Shape(), shape)
}

// report returns the plan of the array for users.
func (t *target) report(p *passes) (ArrayPlan, error) {
	a := ArrayPlan{Array: t.spec.Path, Chunks: firstSizes(t.grid), Passes: 1, Decodes: p.decodes, Direct: p.direct, Box: p.box}
	n, err := p.region.Elements()
	if err != nil {
		return a, err
	}
	a.Size = n * max(t.unit(), 1)
	switch {
	case t.whole && !t.reencodesAll:
		a.Passes = 0
	case p.from != nil:
		a.Passes = 2
		for at := range p.from.all() {
			f, err := t.file(p, at)
			if err != nil {
				return a, err
			}
			a.Blocks += f.count()
			a.Temporary += f.size()
		}
	}
	return a, nil
}

// plan plans all arrays that have chunks to copy. total is the number of chunks of the slice.
func (c *copier) plan(ctx context.Context) (plan *Plan, total int64, err error) {
	for _, t := range c.arrays {
		total += t.grid.Chunks()
	}
	from, to := c.opts.Slice.Range(total)
	total = to - from
	plan = &Plan{Memory: c.opts.Memory}
	for _, t := range c.arrays {
		t.from, t.to = max(from, 0), min(to, t.grid.Chunks())
		from, to = from-t.grid.Chunks(), to-t.grid.Chunks()
		if t.from >= t.to {
			continue
		}
		isEmpty, err := t.isEmpty(ctx)
		if err == nil && !isEmpty {
			t.passes, err = t.plan(c.opts)
		}
		var a ArrayPlan
		switch {
		case err != nil || isEmpty:
		case t.passes.from != nil && c.journal != nil && c.isDone(t):
			t.passes.from = nil // its chunks are only counted
		default:
			a, err = t.report(t.passes)
			plan.Arrays = append(plan.Arrays, a)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", t.spec.Path, err)
		}
	}
	return plan, total, nil
}

// PlanCopy returns the plan of a copy to a destination with nothing in it. It writes nothing.
func PlanCopy(ctx context.Context, s *store.Store, dest string, opts *Options) (*Plan, error) {
	if err := s.CheckListed(); err != nil {
		return nil, err
	}
	o, err := opts.defaults(dest)
	if err != nil {
		return nil, err
	}
	c := &copier{opts: o, from: s, snapshot: s.Snapshot()}
	if c.arrays, err = targets(s, o); err != nil {
		return nil, err
	}
	plan, _, err := c.plan(ctx)
	return plan, err
}
