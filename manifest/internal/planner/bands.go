package planner

import (
	"slices"

	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/planner/internal/edge"
)

// bandSource makes bands from tiles.
type bandSource struct {
	c        *cutting
	axis, at int
	lengths  []int64
	weights  []int64
}

func (c *cutting) bandSource(axis, at int) *bandSource {
	s := &bandSource{c: c, axis: axis, at: at}
	for i := range c.members {
		s.lengths = append(s.lengths, c.chunkAlong(axis, &c.members[i]))
		s.weights = append(s.weights, c.bandWeight(i))
	}
	return s
}

// band returns the band of a tile and the weight of its vote.
func (s *bandSource) band(t *manifest.Tile) (b edge.Band, votes int64) {
	k := placeOf(s.c.members, s.c.p.classOfAny(t.File))
	m := &s.c.members[k]
	b = edge.Band{From: t.Origin[s.at], To: t.Origin[s.at] + t.Shape[s.at], Length: s.lengths[k], Member: -1}
	if own := s.axis - len(s.c.a.made); own >= 0 {
		if b.Length > 0 {
			b.Phase = t.Start[s.at] % b.Length
		}
		if m.v.Storage.Edges != nil {
			b.Member, b.Phase = int32(k), t.Start[s.at]
		}
		b.Padded = m.v.Storage.Layout == manifest.Chunked
	}
	votes = s.weights[k]
	if start := t.Start[s.at]; start < 0 {
		// Its chunks are re-encoded in any case. The first one is read from its end.
		b.Member, b.Padded, votes = -1, false, min(votes, 1)
		if b.Phase = 0; b.Length > 0 {
			b.Phase = b.Length - 1 - (-1-start)%b.Length
		}
	}
	for _, n := range t.Shape {
		votes *= max(n, 1)
	}
	return b, votes
}

// eachBand splits a dimension at the ends of tiles, and yields the bands in order.
func (c *cutting) eachBand(axis, at int, yield func(edge.Band)) {
	s := c.bandSource(axis, at)
	tiles := c.a.where.tiles
	if len(c.a.where.dims) == 1 {
		for i := range tiles { // sorted and disjoint
			b, _ := s.band(&tiles[i])
			yield(b)
		}
		return
	}
	votes, whole := make(map[edge.Band]int64), make(map[edge.Band]int64)
	d := c.a.where.dims[at]
	for i := range tiles {
		t := &tiles[i]
		b, n := s.band(t)
		votes[b] += n
		if d.views[int32(t.File)] == nil || t.Start[at] >= 0 && b.Length > 0 && (b.Length-b.Phase)%b.Length+b.Length <= t.Shape[at] {
			whole[b] += n
		}
	}
	bands := edge.Settle(votes)
	// A file that is reordered may have no whole chunk in a tile. The ends of this tile must not cut the chunks of other files.
	if d.isReordered() {
		if better := edge.Settle(whole); covers(better, c.shape[axis]) {
			bands = better
		}
	}
	for _, b := range bands {
		yield(b)
	}
}

// covers reports whether sorted bands cover a whole dimension.
func covers(bands []edge.Band, length int64) bool {
	reach := int64(0)
	for _, b := range bands {
		if b.From != reach {
			return false
		}
		reach = b.To
	}
	return reach == length
}

// bandWeight returns the weight of a member's vote per element. Chunks that can be served verbatim
// outweigh all others; matching chunks along the other dimensions do so even more, because only
// those actually stay verbatim. Members that are re-encoded in any case only break ties.
func (c *cutting) bandWeight(i int) int64 {
	m := &c.members[i]
	switch {
	case m.v.Storage.Layout == manifest.Nothing, !slices.IsSorted(m.axes):
		return 0
	case !c.kept[i]:
		return 1
	case m.v.Storage.Layout == manifest.Chunked && c.fits(i):
		return 1 << 20
	}
	return 1 << 10
}

// fits reports whether member i has the chunk lengths that chooseAround chose.
func (c *cutting) fits(i int) bool {
	for k := range c.shape {
		if c.around[k] > 0 && !c.chunksLike(i, k) {
			return false
		}
	}
	return true
}

// chunkAlong returns the chunk length of a member along a dimension in which files are placed.
func (c *cutting) chunkAlong(axis int, m *member) int64 {
	// A broadcast value is re-encoded in any case, so the chunks may be as long as is good for
	// readers.
	if c.isBroadcastAlong(axis) {
		return max(edge.LeastBytes/stepOf(m), 1)
	}
	if n := c.stored(m)[axis]; n > 0 {
		return n
	}
	own := m.axes[axis-len(c.a.made)]
	length := max(m.v.Shape[own], 1)
	lengths := slices.Clone(c.around)
	for k := range lengths {
		if lengths[k] == 0 {
			lengths[k] = 1
			if o := k - len(c.a.made); o >= 0 {
				lengths[k] = max(m.v.Shape[m.axes[o]], 1)
			}
		}
	}
	if !slices.IsSorted(m.axes) {
		return length
	}
	return min(c.split(lengths, m.v.Storage.Stride)[axis], length)
}

// ownEdges returns a function that returns the edges that a member lists along an axis.
func (c *cutting) ownEdges(axis int) func(int32) []grid.Run {
	return func(member int32) (runs []grid.Run) {
		m := &c.members[member]
		return edge.Within(m.v, m.axes[axis-len(c.a.made)])
	}
}
