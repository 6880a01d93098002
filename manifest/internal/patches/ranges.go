package patches

import (
	"fmt"
	"slices"
	"sort"

	"varve/grid"
	"varve/manifest"
)

// keptRange is a range of positions along the first dimension of a placement whose tiles are all kept. by is how far they moved.
type keptRange struct{ from, to, by int64 }

// keptRanges returns the ranges of positions along the first dimension of a placement at which all tiles are kept and moved
// alike along this dimension, and have no other tiles beside them now. The tiles are sorted.
func keptRanges(was, now []manifest.Tile, kept Kept) (out []keptRange) {
	places := map[string]int64{} // the new origins along the first dimension
	var starts, ends []int64     // of all new tiles
	for i := range now {
		t := &now[i]
		if slices.Contains(t.Shape, 0) {
			continue
		}
		starts, ends = append(starts, t.Origin[0]), append(ends, t.Origin[0]+t.Shape[0])
		places[placeKey(t, t.File)] = t.Origin[0]
	}
	slices.Sort(starts)
	slices.Sort(ends)
	s := sweep{by: map[int64]int{}}
	for i := range was {
		t := &was[i]
		if slices.Contains(t.Shape, 0) {
			continue
		}
		e := event{at: t.Origin[0], enters: true}
		if row := kept(t.File); row >= 0 {
			var at int64
			at, e.isKept = places[placeKey(t, row)]
			e.by = at - t.Origin[0]
		}
		s.events = append(s.events, e)
		e.at, e.enters = t.Origin[0]+t.Shape[0], false
		s.events = append(s.events, e)
	}
	slices.SortFunc(s.events, func(a, b event) int { return int(min(max(a.at-b.at, -1), 1)) })
	s.each(func(from, to, by int64, tiles int) {
		// As many tiles meet the new range as were in the old one, so there are no others.
		before := sort.Search(len(ends), func(i int) bool { return ends[i] > from+by })
		if sort.Search(len(starts), func(i int) bool { return starts[i] >= to+by })-before != tiles {
			return
		}
		if last := len(out) - 1; last >= 0 && out[last].to == from && out[last].by == by {
			out[last].to = to
		} else {
			out = append(out, keptRange{from, to, by})
		}
	})
	return out
}

// placeKey identifies a tile of a source, wherever it is along the first dimension.
func placeKey(t *manifest.Tile, row int) string {
	return fmt.Sprint(row, t.Start, t.Shape, t.Origin[1:])
}

// event is the beginning or the end of a tile along the first dimension.
type event struct {
	at             int64
	enters, isKept bool
	by             int64
}

// sweep visits the ranges between events.
type sweep struct {
	events []event
	by     map[int64]int // how many tiles moved by this much
	lost   int           // tiles that are not kept
	tiles  int
}

// each calls do with the ranges in which all tiles moved alike.
func (s *sweep) each(do func(from, to, by int64, tiles int)) {
	for i := 0; i < len(s.events); {
		at := s.events[i].at
		for ; i < len(s.events) && s.events[i].at == at; i++ {
			s.add(&s.events[i])
		}
		if i < len(s.events) && s.lost == 0 && len(s.by) == 1 {
			for by := range s.by {
				do(at, s.events[i].at, by, s.tiles)
			}
		}
	}
}

func (s *sweep) add(e *event) {
	n := 1
	if !e.enters {
		n = -1
	}
	s.tiles += n
	if !e.isKept {
		s.lost += n
		return
	}
	if s.by[e.by] += n; s.by[e.by] == 0 {
		delete(s.by, e.by)
	}
}

// chunkMap finds the new numbers of chunks that moved along one axis.
type chunkMap struct {
	a, b   *grid.Grid // the older and the newer one, equal along other axes
	axis   int
	ranges []keptRange
	known  map[int64]int64 // new coordinates along the axis; -1 for none
}

// number returns the new number of a chunk of a run. ok is false if it is not kept.
func (m *chunkMap) number(p *manifest.Patched, chunk int64) (number int64, ok bool) {
	coords, ok := coordsOf(p, chunk, m.a)
	if !ok {
		return 0, false
	}
	if coords[m.axis], ok = m.along(coords[m.axis]); !ok {
		return 0, false
	}
	return m.b.Number(coords)
}

// coordsOf returns the coordinates that a chunk of a run has in the array's grid. ok is false if the chunk is not valid any more.
func coordsOf(p *manifest.Patched, chunk int64, g *grid.Grid) (coords []int64, ok bool) {
	coords = make([]int64, g.Rank())
	for k := len(coords) - 1; k >= 0; k-- {
		if p.Counts[k] == 0 {
			return nil, false
		}
		coords[k] = chunk % p.Counts[k]
		chunk /= p.Counts[k]
		if coords[k] >= p.Limit[k] {
			return nil, false
		}
		if coords[k] += p.Shift[k]; coords[k] >= g.Counts()[k] {
			return nil, false
		}
	}
	return coords, chunk == 0
}

// along returns the new coordinate along the axis.
func (m *chunkMap) along(i int64) (j int64, ok bool) {
	j, known := m.known[i]
	if !known {
		if j, ok = m.find(i); !ok {
			j = -1
		}
		if m.known == nil {
			m.known = map[int64]int64{}
		}
		m.known[i] = j
	}
	return j, j >= 0
}

func (m *chunkMap) find(i int64) (j int64, ok bool) {
	a, b := m.a.Dim(m.axis), m.b.Dim(m.axis)
	begin, ok := a.Offset(i)
	size, hasSize := a.DataSize(i)
	if !ok || !hasSize {
		return 0, false
	}
	r := sort.Search(len(m.ranges), func(r int) bool { return m.ranges[r].to > begin })
	if r == len(m.ranges) || begin < m.ranges[r].from || begin+size > m.ranges[r].to {
		return 0, false
	}
	at := begin + m.ranges[r].by
	if at < 0 || at >= b.Extent() {
		return 0, false
	}
	if j, ok = boundary(b, at); !ok {
		return 0, false
	}
	now, _ := b.DataSize(j)
	was, _ := a.CodecSize(i)
	is, _ := b.CodecSize(j)
	return j, now == size && was == is
}

// mergeRanges gives a schema the edges of an older one where chunks had been merged, in ranges that are kept.
func (c *carrier) mergeRanges(was, now *manifest.Array, a *grid.Grid, first int, ranges []keptRange) error {
	for axis, dim := range was.Dims {
		if lengthOf(dim, c.old.Merged) == 0 {
			continue
		}
		parts := ranges
		if axis != first {
			parts = []keptRange{{0, a.Shape()[axis], 0}}
		}
		for _, part := range parts {
			b, err := now.Schema.Grid()
			if err != nil {
				return err
			}
			if edges := spliceRange(a.Dim(axis), b.Dim(axis), part); edges != nil {
				if err := setEdges(now, b, axis, edges); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// spliceRange returns the edges of a dimension, with the whole chunks of an older dimension in a range. It is nil if there are none,
// or if they do not start and end at chunk boundaries.
func spliceRange(old, now grid.Dimension, r keptRange) []grid.Run {
	first, err := old.Find(r.from)
	if err != nil {
		return nil
	}
	if begin, _ := old.Offset(first); begin < r.from {
		first++
	}
	end := first // the first chunk that is not whole
	at, to := int64(0), int64(0)
	if begin, ok := old.Offset(first); ok {
		at, to = begin, begin
	}
	for ; end < old.Chunks(); end++ {
		size, _ := old.DataSize(end)
		if size != old.Span(end).Data || to+size > r.to {
			break // cut by the end of the array, or not kept
		}
		to += size
	}
	if end == first || at+r.by < 0 || to+r.by > now.Extent() {
		return nil
	}
	before, ok1 := boundary(now, at+r.by)
	after, ok2 := boundary(now, to+r.by)
	if !ok1 || !ok2 {
		return nil
	}
	edges := appendEdges(nil, now, 0, before)
	edges = appendEdges(edges, old, first, end)
	return appendEdges(edges, now, after, now.Chunks())
}
