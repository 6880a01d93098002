// Package patches keeps what was re-encoded of arrays when their plan is made anew, or their
// chunks are merged.
//
//	before        a: tiles 0 1 2 3      chunks 0 1 2 3, kept
//	now     x y   a: tiles 0 1 2 3 z    chunks 0 … 6: 2 to 5 are the old ones, kept
//
// A chunk is the same if it is made of the same parts of the same variables, in the same
// places in it, and nothing else, and is encoded alike. That is shown for all chunks of an
// array at once, or none of them is kept.
package patches

import (
	"context"
	"errors"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/change"
	"varve/manifest/table"
	"varve/zarrjson"
)

// pageCache is for tables that are read once.
const pageCache = 8 << 20

// Chunks says what becomes of chunks that were merged.
type Chunks uint8

const (
	// AsPlanned leaves the schemas as they are.
	AsPlanned Chunks = iota
	// AsMerged gives schemas the edges that older ones had, where tiles are those that they
	// were of, and their chunks had been merged.
	AsMerged
)

// Carry gives the arrays of a snapshot, which is not published yet, those patches of an older
// one that are right for them and that they do not have, and lists their files. It returns
// how many rows of patches they got, and counts no chunks.
func Carry(ctx context.Context, repo *manifest.Repository, old, now *manifest.Snapshot, chunks Chunks) (rows int64, err error) {
	if !slices.ContainsFunc(old.Arrays, func(a manifest.Array) bool { return len(a.Patches) > 0 }) {
		return 0, nil
	}
	c := &carrier{repo: repo, old: old, now: now, chunks: chunks, moves: map[[2]string]*move{}}
	if c.was, err = table.Open(old.Tables, table.InRepository(repo), table.NewCache(pageCache)); err != nil {
		return 0, err
	}
	defer c.was.Close()
	if c.is, err = table.Open(now.Tables, table.InRepository(repo), table.NewCache(pageCache)); err != nil {
		return 0, err
	}
	defer c.is.Close()
	if same, err := table.Begins(ctx, c.was, c.is, false); errors.Is(err, codec.ErrCorrupt) {
		return 0, nil // of an older snapshot that was removed meanwhile
	} else if !same || err != nil {
		return 0, err
	}
	for i := range now.Arrays {
		at := slices.IndexFunc(old.Arrays, func(a manifest.Array) bool { return a.Path == now.Arrays[i].Path })
		if at < 0 {
			continue
		}
		n, err := c.array(ctx, &old.Arrays[at], &now.Arrays[i])
		if err != nil {
			return rows, err
		}
		rows += n
	}
	return rows, nil
}

// carrier compares two snapshots.
type carrier struct {
	repo     *manifest.Repository
	old, now *manifest.Snapshot
	chunks   Chunks
	was, is  *table.Reader
	moves    map[[2]string]*move // by the ids of placements, old and new
}

// move is what became of the tiles of a placement.
type move struct {
	by []int64 // along each of its dimensions; nil if they are not all there as they were
}

// array carries the patches of one array.
func (c *carrier) array(ctx context.Context, was, now *manifest.Array) (rows int64, err error) {
	if len(was.Patches) == 0 {
		return 0, nil
	}
	if was.Placement == "" || now.Placement == "" {
		return 0, nil
	}
	if why, err := change.OtherReading(was, now); why != "" || err != nil {
		return 0, err
	}
	m, err := c.move(ctx, was.Placement, now.Placement)
	if err != nil || m.by == nil {
		return 0, err
	}
	dims := placement(c.now, now.Placement).Dims
	by := make([]int64, len(now.Dims))
	for k, dim := range dims {
		axis := slices.Index(now.Dims, dim)
		if axis < 0 {
			return 0, nil
		}
		by[axis] = m.by[k]
	}
	if c.chunks == AsMerged {
		if err := c.mergeAgain(was, now, by); err != nil {
			return 0, err
		}
	}
	for _, p := range was.Patches {
		if slices.ContainsFunc(now.Patches, func(q manifest.Patched) bool { return p.Table == q.Table && p.Row == q.Row }) {
			continue
		}
		left, err := within(&p, was.Schema, now.Schema, by)
		if err != nil {
			return rows, err
		}
		if left, err = c.list(ctx, left, &p); err != nil {
			return rows, err
		}
		if left {
			now.Patches = append(slices.Clip(now.Patches), p)
			rows += p.Rows
		}
	}
	return rows, nil
}

// mergeAgain gives a schema the edges of an older one along the axes on which that was merged.
func (c *carrier) mergeAgain(was, now *manifest.Array, by []int64) error {
	for axis, dim := range now.Dims {
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
		if edges := spliced(a.Dim(axis), b.Dim(axis), by[axis]); edges != nil {
			if err := setEdges(now, b, axis, edges); err != nil {
				return err
			}
		}
	}
	return nil
}

// spliced are the edges of a dimension with those of another in place of its own from an
// index on, or nil if they do not fit in.
func spliced(old, now grid.Dimension, from int64) []grid.Run {
	to, last := from+old.Extent(), old.Chunks()-1
	if last < 0 || to > now.Extent() || old.Offset(last)+old.Span(last).Data != old.Extent() {
		return nil
	}
	first, ok := boundary(now, from)
	next, ok2 := boundary(now, to)
	if !ok || !ok2 {
		return nil
	}
	edges := appendEdges(nil, now, 0, first)
	edges = appendEdges(edges, old, 0, last+1)
	return appendEdges(edges, now, next, now.Chunks())
}

// boundary is the number of the chunk that begins at an index, which may be the end.
func boundary(d grid.Dimension, at int64) (chunk int64, ok bool) {
	if at == d.Extent() {
		return d.Chunks(), true
	}
	chunk, err := d.Find(at)
	return chunk, err == nil && d.Offset(chunk) == at
}

// appendEdges appends the edges of some chunks. It takes a step for each run.
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

// list lists the files of a run, unless they are not what was written.
func (c *carrier) list(ctx context.Context, left bool, p *manifest.Patched) (bool, error) {
	if !left {
		return false, nil
	}
	var files []manifest.Table
	for _, t := range c.old.Tables {
		if t.Name != p.Table && t.Name != p.File {
			continue
		}
		f, err := c.repo.OpenTable(ctx, t)
		if err == nil {
			err = f.Close()
		}
		if errors.Is(err, codec.ErrCorrupt) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		files = append(files, t)
	}
	if len(files) != 2 {
		return false, nil
	}
	for _, t := range files {
		List(c.now, t)
	}
	return true, nil
}

// List lists a file behind the others of its kind, unless it is listed.
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

// move compares placements, once for all arrays that have them.
func (c *carrier) move(ctx context.Context, old, now string) (*move, error) {
	key := [2]string{old, now}
	if m, ok := c.moves[key]; ok {
		return m, nil
	}
	m := &move{}
	a, b := placement(c.old, old), placement(c.now, now)
	if a != nil && b != nil && slices.Equal(a.Dims, b.Dims) {
		was, err := c.was.Placement(ctx, *a)
		if err != nil {
			return nil, err
		}
		is, err := c.is.Placement(ctx, *b)
		if err != nil {
			return nil, err
		}
		m.by = movedBy(was.Tiles, is.Tiles)
	}
	c.moves[key] = m
	return m, nil
}

// movedBy returns how far all tiles were moved, if they were moved alike, are there as they
// were, in the same order, and all others lie outside of the box that they are in.
func movedBy(was, now []manifest.Tile) (by []int64) {
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

// sameTile reports whether two tiles are the same part of one source, wherever they lie.
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

// within moves a run to a schema in which the elements of another are so much further along
// each axis, and bounds it to the chunks that both have. It reports whether there are any.
func within(p *manifest.Patched, was, now *zarrjson.Array, by []int64) (left bool, err error) {
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
			if first, err = b.Dim(axis).Find(by[axis]); err != nil || b.Dim(axis).Offset(first) != by[axis] {
				return false, nil // outside, or within a chunk
			}
		}
		left = p.Move(axis, first, common(a.Dim(axis), b.Dim(axis), first)) && left
	}
	return left, nil
}

// common counts the leading chunks of a dimension that another has from one on.
func common(a, b grid.Dimension, first int64) int64 {
	n := grid.CommonPrefix(a, b, first)
	// The last chunk may not have been filled by one of them.
	if n > 0 && a.DataSize(n-1) != b.DataSize(first+n-1) {
		n--
	}
	return n
}
