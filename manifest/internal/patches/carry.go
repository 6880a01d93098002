// Package patches keeps compacted chunks of arrays when a new plan is made or chunks are merged.
//
//	older snapshot    tiles     0 1 2 3      chunks 0 to 3 are compacted
//	newer snapshot    tiles x y 0 1 2 3 z    chunks 2 to 5 are the same, so they are kept
//
// Arrays and dimensions may have other names in the newer snapshot. A chunk is unchanged if it consists
// of the same parts of the same variables at the same positions, and is encoded in the same way. The package proves this for all chunks of an array together if all
// tiles moved alike, and else for each range of positions at which they did.
package patches

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/table"
	"varve/manifest/repo"
	"varve/zarrjson"
)

// pageCache is the cache for tables that are read only once, in bytes.
const pageCache = 8 << 20

// Options say what a new snapshot has of an older one.
type Options struct {
	// Merge gives schemas the older edges along dimensions along which chunks had been merged.
	Merge bool
	// Kept returns the row that a source of the older snapshot has in the new one, or -1 if the source is gone or was scanned
	// again. If it is nil, all sources must have the same rows as before, and others may follow.
	Kept Kept
}

// Kept is the type of Options.Kept.
type Kept func(row int) int

// Carry adds the compacted chunks of an older snapshot to the arrays of a new one, which must not be
// published yet. It adds only chunks that are still correct and that an array does not have already, and
// lists their files in the new snapshot. It returns the number of rows that it added. It does not update
// the counts of chunks. With Options.Merge it also sets the new snapshot's Merged.
//
// If all tiles moved alike, runs of chunks are adapted: see findDisplacement. Otherwise the chunks that are left get a new table
// of locations: see keptRanges.
func Carry(ctx context.Context, repository *repo.Repository, old, now *manifest.Snapshot, opts Options) (rows int64, err error) {
	if opts.Merge {
		now.Merged = renameMerged(old, now)
	}
	if !slices.ContainsFunc(old.Arrays, func(a manifest.Array) bool { return len(a.Patches) > 0 }) {
		return 0, nil
	}
	c := &carrier{repo: repository, old: old, now: now, opts: opts, moves: map[[2]string]*move{}}
	if c.was, err = table.Open(old.Tables, table.InRepository(repository), table.NewCache(pageCache)); err != nil {
		return 0, err
	}
	defer c.was.Close()
	if c.is, err = table.Open(now.Tables, table.InRepository(repository), table.NewCache(pageCache)); err != nil {
		return 0, err
	}
	defer c.is.Close()
	if opts.Kept == nil {
		// Tiles name sources by row, so equal rows must be equal sources in both snapshots.
		if same, err := table.Begins(ctx, c.was, c.is, false); errors.Is(err, codec.ErrCorrupt) {
			return 0, nil // meanwhile GC removed tables of the older snapshot
		} else if !same || err != nil {
			return 0, err
		}
	}
	for i := range now.Arrays {
		was := former(old, &now.Arrays[i])
		if was == nil {
			continue
		}
		n, err := c.array(ctx, was, &now.Arrays[i])
		if err != nil {
			return rows, err
		}
		rows += n
	}
	return rows + int64(len(c.rows)), c.writeFound(ctx)
}

// carrier carries compacted chunks from one snapshot to another.
type carrier struct {
	repo     *repo.Repository
	old, now *manifest.Snapshot
	opts     Options
	was, is  *table.Reader
	moves    map[[2]string]*move // by the IDs of the old and the new placement

	// The rows and runs of a new table.
	rows []table.Patch
	runs []foundRun
}

// move is how the tiles of a placement moved.
type move struct {
	by     []int64     // along each of its dimensions; nil if the tiles did not all move alike
	ranges []keptRange // where tiles moved alike, if not all did
}

// array adds the compacted chunks of one array to the new snapshot, and returns the number of rows that were adapted.
func (c *carrier) array(ctx context.Context, was, now *manifest.Array) (rows int64, err error) {
	if len(was.Patches) == 0 || was.Placement == "" || now.Placement == "" {
		return 0, nil
	}
	for _, a := range []*manifest.Array{was, now} {
		for i := range a.Patches {
			if err := a.Patches[i].Check(len(a.Dims)); err != nil {
				return 0, fmt.Errorf("%s: %w", a.Path, err)
			}
		}
	}
	if same, err := isSameReading(was, now); !same || err != nil {
		return 0, err
	}
	axes := axesOf(placement(c.now, now.Placement), now)
	if axes == nil || !slices.Equal(axes, axesOf(placement(c.old, was.Placement), was)) {
		return 0, nil
	}
	m, err := c.move(ctx, was.Placement, now.Placement)
	switch {
	case err != nil:
		return 0, err
	case m.by != nil:
		return c.adapt(ctx, was, now, axes, m.by)
	case len(m.ranges) > 0:
		return 0, c.find(ctx, was, now, axes[0], m.ranges)
	}
	return 0, nil
}

// adapt adds the runs of an array whose tiles all moved by the same amounts along axes.
func (c *carrier) adapt(ctx context.Context, was, now *manifest.Array, axes []int, amounts []int64) (rows int64, err error) {
	by := make([]int64, len(now.Dims))
	for k, axis := range axes {
		by[axis] = amounts[k]
	}
	if c.opts.Merge {
		if err := c.mergeAgain(was, now, by); err != nil {
			return 0, err
		}
	}
	b, err := now.Schema.Grid()
	if err != nil {
		return 0, err
	}
	hadRuns := len(now.Patches) > 0
	var present map[int64]bool // the chunks of now, if they have been read
	for _, p := range was.Patches {
		if hasRun(now, &p) {
			continue
		}
		left, err := adaptRun(&p, was.Schema, now.Schema, by)
		if err != nil {
			return rows, err
		}
		if !left {
			continue
		}
		// A damaged file is not carried over: its chunks are encoded again when they are read.
		files, err := c.files(ctx, p.Table, p.File)
		if err != nil {
			return rows, err
		}
		if len(files) == 0 {
			continue
		}
		fresh := p.Rows
		if hadRuns {
			if present == nil {
				if present, err = c.chunksOf(ctx, now, b); err != nil {
					return rows, err
				}
			}
			if fresh, err = c.addChunks(ctx, c.was, &p, b, present); err != nil {
				return rows, err
			}
			if fresh == 0 {
				continue
			}
		}
		for _, t := range files {
			List(c.now, t)
		}
		now.Patches = append(slices.Clip(now.Patches), p)
		rows += fresh
	}
	return rows, nil
}

// hasRun reports whether an array has a run already.
func hasRun(a *manifest.Array, p *manifest.Patched) bool {
	return slices.ContainsFunc(a.Patches, func(q manifest.Patched) bool { return p.Table == q.Table && p.Row == q.Row })
}

// mergeAgain gives a schema the edges of an older one along the axes along which chunks were merged.
func (c *carrier) mergeAgain(was, now *manifest.Array, by []int64) error {
	for axis, dim := range was.Dims {
		if lengthOf(dim, c.old.Merged) == 0 {
			continue
		}
		a, err := was.Schema.Grid()
		if err != nil {
			return err
		}
		b, err := now.Schema.Grid()
		if err != nil {
			return err
		}
		if edges := spliceEdges(a.Dim(axis), b.Dim(axis), by[axis]); edges != nil {
			if err := setEdges(now, b, axis, edges); err != nil {
				return err
			}
		}
	}
	return nil
}

// spliceEdges returns the edges of a dimension, with the edges of an older dimension from an index on.
// It is nil if the older edges do not start and end at chunk boundaries.
func spliceEdges(old, now grid.Dimension, from int64) []grid.Run {
	to, last := from+old.Extent(), old.Chunks()-1
	begin, ok := old.Offset(last)
	if !ok || to > now.Extent() || begin+old.Span(last).Data != old.Extent() {
		return nil
	}
	first, ok1 := boundary(now, from)
	next, ok2 := boundary(now, to)
	if !ok1 || !ok2 {
		return nil
	}
	edges := appendEdges(nil, now, 0, first)
	edges = appendEdges(edges, old, 0, last+1)
	return appendEdges(edges, now, next, now.Chunks())
}

// boundary returns the number of the chunk that starts at an index. The end of the dimension counts as
// a start too.
func boundary(d grid.Dimension, at int64) (chunk int64, ok bool) {
	if at == d.Extent() {
		return d.Chunks(), true
	}
	chunk, err := d.Find(at)
	begin, _ := d.Offset(chunk)
	return chunk, err == nil && begin == at
}

// appendEdges appends the edges of a range of chunks. It takes one step for each run.
func appendEdges(edges []grid.Run, d grid.Dimension, from, to int64) []grid.Run {
	for from < to {
		s := d.Span(from)
		count := min(s.First+s.Count, to) - from
		if k := len(edges) - 1; k >= 0 && edges[k].Edge == s.Edge {
			edges[k].Count += count
		} else {
			edges = append(edges, grid.Run{Edge: s.Edge, Count: count})
		}
		from += count
	}
	return edges
}

// files returns files of the older snapshot, or none if one of them is damaged or missing.
func (c *carrier) files(ctx context.Context, names ...string) (files []manifest.Table, err error) {
	for _, t := range c.old.Tables {
		if !slices.Contains(names, t.Name) {
			continue
		}
		f, err := c.repo.OpenTable(ctx, t)
		if err == nil {
			err = f.Close()
		}
		if errors.Is(err, codec.ErrCorrupt) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		files = append(files, t)
	}
	if len(files) != len(names) {
		return nil, nil
	}
	return files, nil
}

// List adds a table to a snapshot after the others of its kind, unless it is listed already.
func List(s *manifest.Snapshot, t manifest.Table) {
	t.First = 0
	for _, have := range s.Tables {
		if have.Name == t.Name {
			return
		}
		if have.Kind == t.Kind {
			t.First += have.Rows
		}
	}
	s.Tables = append(slices.Clip(s.Tables), t)
}

func placement(s *manifest.Snapshot, id string) *manifest.PlacementTable {
	i := slices.IndexFunc(s.Placements, func(p manifest.PlacementTable) bool { return p.ID == id })
	if i < 0 {
		return nil
	}
	return &s.Placements[i]
}

// axesOf returns the axes of an array along which the files of a placement are placed. It is nil if there is no such placement.
func axesOf(p *manifest.PlacementTable, a *manifest.Array) (axes []int) {
	if p == nil {
		return nil
	}
	axes = []int{}
	for _, dim := range p.Dims {
		axis := slices.Index(a.Dims, dim)
		if axis < 0 {
			return nil
		}
		axes = append(axes, axis)
	}
	return axes
}

// move compares two placements, once for all arrays that have them.
func (c *carrier) move(ctx context.Context, old, now string) (*move, error) {
	key := [2]string{old, now}
	if m, ok := c.moves[key]; ok {
		return m, nil
	}
	m := &move{}
	was, err := c.was.Placement(ctx, *placement(c.old, old))
	if err != nil {
		return nil, err
	}
	is, err := c.is.Placement(ctx, *placement(c.now, now))
	if err != nil {
		return nil, err
	}
	kept := c.opts.Kept
	if kept == nil {
		m.by = findDisplacement(was.Tiles, is.Tiles)
		kept = func(row int) int { return row }
	}
	if m.by == nil && len(was.Dims) > 0 {
		m.ranges = keptRanges(was.Tiles, is.Tiles, kept)
	}
	c.moves[key] = m
	return m, nil
}

// findDisplacement returns by how much all tiles moved along each axis. It is nil unless they all moved
// by the same amounts, are in the same order, and no other tile is inside the box that contains them.
func findDisplacement(was, now []manifest.Tile) (by []int64) {
	if len(was) == 0 || len(now) < len(was) {
		return nil
	}
	at := slices.IndexFunc(now, func(t manifest.Tile) bool { return sameTile(&was[0], &t) })
	if at < 0 {
		return nil
	}
	by = make([]int64, len(was[0].Origin))
	box := grid.MakeRegion(len(by))
	for k := range by {
		by[k] = now[at].Origin[k] - was[0].Origin[k]
		for i := range was {
			box.Shape[k] = max(box.Shape[k], was[i].Origin[k]+was[i].Shape[k])
		}
		box.Origin[k] = by[k]
	}
	next := 0
	shared := grid.MakeRegion(len(by))
	for i := range now {
		t := &now[i]
		switch {
		case next < len(was) && sameTile(&was[next], t) && isMoved(was[next].Origin, t.Origin, by):
			next++
		case shared.Intersect(box, grid.Region{Origin: t.Origin, Shape: t.Shape}):
			return nil
		}
	}
	if next < len(was) || slices.ContainsFunc(by, func(n int64) bool { return n < 0 }) {
		return nil
	}
	return by
}

// sameTile reports whether two tiles are the same part of one source, at any position.
func sameTile(a, b *manifest.Tile) bool {
	return a.File == b.File && slices.Equal(a.Start, b.Start) && slices.Equal(a.Shape, b.Shape)
}

func isMoved(from, to, by []int64) bool {
	for k := range by {
		if to[k]-from[k] != by[k] {
			return false
		}
	}
	return true
}

// adaptRun adapts a run of compacted chunks to a schema whose elements moved by the given amounts, and
// limits it to the chunks that both schemas have. by is nil if nothing moved. left reports whether any
// chunk is left.
func adaptRun(p *manifest.Patched, was, now *zarrjson.Array, by []int64) (left bool, err error) {
	a, err := was.Grid()
	if err != nil {
		return false, err
	}
	b, err := now.Grid()
	if err != nil || a.Rank() != b.Rank() {
		return false, err
	}
	left = true
	for axis := range a.Rank() {
		first := int64(0)
		if by != nil && by[axis] > 0 {
			var ok bool
			if first, ok = boundary(b.Dim(axis), by[axis]); !ok || first == b.Dim(axis).Chunks() {
				return false, nil // the elements moved out of the array, or to the middle of a chunk
			}
		}
		left = p.Move(axis, first, countCommon(a.Dim(axis), b.Dim(axis), first)) && left
	}
	return left, nil
}

// countCommon returns how many chunks at the start of a are equal to the chunks of b from first on.
func countCommon(a, b grid.Dimension, first int64) int64 {
	n := grid.CommonPrefix(a, b, first)
	// The end of one array can cut the last of these chunks, so that it has fewer elements.
	last, hasLast := a.DataSize(n - 1)
	if same, _ := b.DataSize(first + n - 1); hasLast && last != same {
		n--
	}
	return n
}
