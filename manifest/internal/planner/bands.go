package planner

import (
	"cmp"
	"slices"

	"varve/manifest"
)

// band is a range along a dimension, with the chunk length that most bytes in it have.
type band struct {
	from, to int64
	phase    int64 // offset of from within the tile's own chunk
	length   int64 // chunk length; 0 for a tile that is one chunk
	member   int32 // the member with a list of edges, or -1
	padded   bool  // a short last chunk is stored at full length
}

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
func (s *bandSource) band(t *manifest.Tile) (b band, votes int64) {
	k := placeOf(s.c.members, s.c.p.classOfAny(t.File))
	m := &s.c.members[k]
	b = band{from: t.Origin[s.at], to: t.Origin[s.at] + t.Shape[s.at], length: s.lengths[k], member: -1}
	if own := s.axis - len(s.c.a.made); own >= 0 {
		if b.length > 0 {
			b.phase = t.Start[s.at] % b.length
		}
		if m.v.Storage.Edges != nil {
			b.member, b.phase = int32(k), t.Start[s.at]
		}
		b.padded = m.v.Storage.Layout == manifest.Chunked
	}
	votes = s.weights[k]
	for _, n := range t.Shape {
		votes *= max(n, 1)
	}
	return b, votes
}

// eachBand splits a dimension at the ends of tiles, and yields the bands in order.
func (c *cutting) eachBand(axis, at int, yield func(band)) {
	s := c.bandSource(axis, at)
	tiles := c.a.where.tiles
	if len(c.a.where.dims) == 1 {
		for i := range tiles { // sorted and disjoint
			b, _ := s.band(&tiles[i])
			yield(b)
		}
		return
	}
	votes := make(map[band]int64)
	for i := range tiles {
		b, n := s.band(&tiles[i])
		votes[b] += n
	}
	for _, b := range settleBands(votes) {
		yield(b)
	}
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
		return max(leastBytes/stepOf(m), 1)
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

// settleBands resolves overlapping bands: at each position, the band with most votes wins. The
// result is sorted and disjoint.
func settleBands(votes map[band]int64) []band {
	all := make([]band, 0, len(votes))
	for b := range votes {
		if b.to > b.from {
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(a, b band) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(votes[b], votes[a]),
			cmp.Compare(a.length, b.length), cmp.Compare(a.phase, b.phase), cmp.Compare(a.member, b.member))
	})
	var out []band
	for i := 0; i < len(all); {
		// A group of bands that overlap one another.
		j, reach := i+1, all[i].to
		for j < len(all) && all[j].from < reach {
			reach = max(reach, all[j].to)
			j++
		}
		out = append(out, splitBands(all[i:j], votes)...)
		i = j
	}
	return out
}

// splitBands splits overlapping bands at all their ends, and keeps the band with most votes for each
// part.
func splitBands(group []band, votes map[band]int64) (out []band) {
	same := true
	for _, b := range group[1:] {
		same = same && b.from == group[0].from && b.to == group[0].to
	}
	if same {
		return []band{group[0]} // the band with most votes is first
	}
	var cuts []int64
	for _, b := range group {
		cuts = append(cuts, b.from, b.to)
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var here []band // the bands that cover cuts[i], in the order of the group
	for i := range len(cuts) - 1 {
		for len(group) > 0 && group[0].from <= cuts[i] {
			here, group = append(here, group[0]), group[1:]
		}
		here = slices.DeleteFunc(here, func(b band) bool { return b.to <= cuts[i] })
		b := slices.MaxFunc(here, func(a, b band) int { return cmp.Compare(votes[a], votes[b]) })
		s := band{from: cuts[i], to: cuts[i+1], length: b.length, member: b.member, phase: b.phase + cuts[i] - b.from}
		s.padded = b.padded && s.to == b.to
		if s.length > 0 && s.member < 0 {
			s.phase %= s.length
		}
		out = append(out, s)
	}
	return out
}

// builder appends the edges of bands.
type builder struct {
	extent, usual int64
	own           func(member int32) []run
	at            int64
	runs          []run
}

// fill appends edges of the usual length up to a position that the next tile covers.
func (b *builder) fill(to int64) {
	if b.at < to {
		b.chunks(to, b.usual, 0, false)
	}
}

func (b *builder) add(s band) {
	b.fill(s.from)
	if s.member >= 0 {
		b.list(s)
		return
	}
	length := s.length
	if length == 0 {
		length = s.to - s.from
	}
	b.chunks(s.to, length, s.phase, s.padded)
}

// chunks appends edges of a length up to a position. With a phase, the first edge is the rest of a
// chunk.
func (b *builder) chunks(to, length, phase int64, padded bool) {
	if phase > 0 {
		n := min(length-phase, to-b.at)
		b.push(run{n, 1, n})
	}
	if full := (to - b.at) / length; full > 0 {
		b.push(run{length, full, length})
	}
	if rest := to - b.at; rest > 0 {
		r := run{rest, 1, rest}
		if padded {
			r.length = length
		}
		b.push(r)
	}
}

// list appends the edges that a variable lists itself.
func (b *builder) list(s band) {
	at, origin := int64(0), s.from-s.phase
	for _, r := range b.own(s.member) {
		length := r.data
		if s.padded {
			length = r.length
		}
		for n := r.count; n > 0; {
			from, to := max(origin+at, b.at), min(origin+at+r.data, s.to)
			switch {
			case origin+at >= s.to:
				return
			case to <= from:
				at, n = at+r.data, n-1
			case to-from < r.data:
				b.push(run{to - from, 1, to - from})
				at, n = at+r.data, n-1
			default:
				full := min(n, (s.to-b.at)/r.data)
				b.push(run{length, full, r.data})
				at, n = at+full*r.data, n-full
			}
		}
	}
}

func (b *builder) push(r run) {
	b.at += r.data * r.count
	if k := len(b.runs) - 1; k >= 0 && b.runs[k].data == r.data && b.runs[k].length == r.length {
		b.runs[k].count += r.count
		return
	}
	b.runs = append(b.runs, r)
}

// ownEdges returns a function that returns the edges that a member lists along an axis.
func (c *cutting) ownEdges(axis int) func(int32) []run {
	return func(member int32) (runs []run) {
		m := &c.members[member]
		return edgesWithin(m.v, m.axes[axis-len(c.a.made)])
	}
}
