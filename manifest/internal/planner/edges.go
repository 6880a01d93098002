package planner

import (
	"slices"

	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/internal/planner/internal/edge"
	"varve/manifest/internal/planner/internal/naming"
	"varve/zarrjson"
)

// cutting decides the chunk grid of an array.
type cutting struct {
	p       *survey
	a       *array
	members []member
	kept    []bool // for each member, whether its chunks can be served verbatim
	element int64  // size of an element in memory
	shape   []int64
	around  []int64      // chunk length (the longest) along dimensions in which files are not placed; 0 for other dimensions
	lists   [][]grid.Run // edges along dimensions in which files are not placed, if they differ; nil for other dimensions
	usual   []int64      // along dimensions in which files are placed: chunk length for positions that no tile covers
}

// gridOf decides the chunk grid of an array, and with Options.Padded its Array.CodecSizes. kept says for
// each of a.all() whether its chunks can be served verbatim.
func (p *survey) gridOf(a *array, shape []int64, kept []bool) (declared zarrjson.ChunkGrid, codecSizes [][][2]int64) {
	c := &cutting{p: p, a: a, members: a.all(), kept: kept, shape: shape}
	c.element = elementSize(c.members)
	c.chooseAround()
	axes := make([][]grid.Run, len(shape))
	// Readers support regular grids everywhere and rectilinear ones seldom, so a regular grid is
	// declared unless it would re-encode chunks and the user allows the alternative.
	regular := !p.env.opts.Rectilinear || len(a.placed) == 0
	sizes := make([]int64, len(shape))
	for k := range shape {
		if lengths := p.env.override(a, k); lengths != nil {
			axes[k] = edge.Repeat(lengths, shape[k])
			if !slices.Equal(edge.Declared(axes[k]), edge.Declared(c.edges(k))) {
				clear(c.lists) // no chunk stays verbatim
			}
		}
	}
	for k := range shape {
		if axes[k] == nil {
			axes[k] = c.edges(k)
		}
		even := false
		sizes[k], even = edge.Even(axes[k], shape[k])
		regular = regular && even && !(p.env.opts.Padded && edge.PaddedSizes(axes[k]) != nil)
	}
	// A rectilinear grid cannot describe an empty axis.
	if regular || slices.Contains(shape, 0) {
		return zarrjson.RegularGrid(sizes...), nil
	}
	edges := make([]grid.Sizes, len(shape))
	for k := range axes {
		edges[k] = grid.RunLength(edge.Declared(axes[k])...)
		if list := edge.PaddedSizes(axes[k]); p.env.opts.Padded && list != nil {
			if codecSizes == nil {
				codecSizes = make([][][2]int64, len(shape))
			}
			codecSizes[k] = list
		}
	}
	return zarrjson.RectilinearGrid(edges...), codecSizes
}

// override returns the chunk lengths that the user wants along an axis, or nil.
func (p *env) override(a *array, axis int) (lengths []int64) {
	at := a.dimAt(axis)
	for _, o := range p.opts.Schemas {
		if !naming.Matches([]string{o.Array}, a.path) {
			continue
		}
		for name, list := range o.Chunks {
			if len(list) > 0 && naming.Calls(name, at) {
				lengths = list
			}
		}
	}
	return lengths
}

// placedAt returns the index of an axis among the dimensions of the placing, or -1.
func (c *cutting) placedAt(axis int) int {
	if c.a.where == nil {
		return -1
	}
	at := c.a.dimAt(axis)
	return slices.IndexFunc(c.a.where.dims, func(d *dim) bool { return d.path == at })
}

// stored returns the chunk shape of a member in the array's axis order, new dimensions included. A
// length of 0 means that the storage is contiguous and can be cut anywhere. Along an axis whose edges
// differ, it is the longest edge; see storedEdges.
func (c *cutting) stored(m *member) []int64 {
	out := make([]int64, len(c.shape))
	for k := range out {
		switch own := k - len(c.a.made); {
		case own < 0:
			out[k] = 1
		case m.v.Storage.Layout != manifest.Chunked:
		case m.v.Storage.Chunks != nil:
			out[k] = m.v.Storage.Chunks[m.axes[own]]
		case m.v.Storage.Edges != nil:
			for _, e := range m.v.Storage.Edges[m.axes[own]] {
				out[k] = max(out[k], e[0])
			}
		}
	}
	return out
}

// storedEdges returns the edges of a member along an axis if they differ, or nil.
func (c *cutting) storedEdges(m *member, axis int) []grid.Run {
	own := axis - len(c.a.made)
	if own < 0 || m.v.Storage.Edges == nil {
		return nil
	}
	runs := edge.Within(m.v, m.axes[own])
	if _, even := edge.Even(runs, m.v.Shape[m.axes[own]]); even && edge.PaddedSizes(runs) == nil {
		return nil
	}
	return runs
}

// listed returns the storedEdges of member i if declaring them keeps its chunks verbatim, or nil. Few
// readers support rectilinear grids, so chunks that are re-encoded in any case get a regular one.
func (c *cutting) listed(i, axis int) []grid.Run {
	m := &c.members[i]
	if !c.kept[i] || !slices.IsSorted(m.axes) {
		return nil
	}
	return c.storedEdges(m, axis)
}

// chunksLike reports whether member i has the chunk lengths that were chosen along an axis in which
// files are not placed.
func (c *cutting) chunksLike(i, axis int) bool {
	m := &c.members[i]
	if c.lists[axis] != nil {
		return slices.Equal(c.storedEdges(m, axis), c.lists[axis])
	}
	return c.listed(i, axis) == nil && c.stored(m)[axis] == c.around[axis]
}

// weight returns the bytes with which a member votes for the shape of chunks. Members that must be
// re-encoded in any case have no vote.
func (c *cutting) weight(i int) int64 {
	m := &c.members[i]
	if l := m.v.Storage.Layout; !slices.IsSorted(m.axes) || l == manifest.Parted || l == manifest.Nothing {
		return 0
	}
	return max(coord.ElementsOf(m.v), 1) * int64(max(m.v.Type.Size, 1)) * c.p.classes[m.class].weight()
}

// chooseAround chooses the chunk lengths along dimensions in which files are not placed, and the
// lengths for uncovered positions along the others.
func (c *cutting) chooseAround() {
	c.around, c.usual, c.lists = make([]int64, len(c.shape)), make([]int64, len(c.shape)), make([][]grid.Run, len(c.shape))
	best := c.bestMember()
	var lengths []int64
	if best >= 0 {
		lengths = c.stored(&c.members[best])
	} else {
		lengths = c.free()
	}
	for k, n := range lengths {
		if c.placedAt(k) < 0 {
			c.around[k] = max(n, 1)
			if best >= 0 {
				c.lists[k] = c.listed(best, k)
			}
		}
	}
	for k := range c.shape {
		if c.placedAt(k) >= 0 {
			c.usual[k] = c.usualAlong(k)
		}
	}
}

// bestMember returns a member with the chunks that keep most bytes verbatim, or -1 if all storage is
// contiguous. The file that the user named comes first, then the chunks of most bytes that can be
// verbatim, and then the chunks of most bytes.
func (c *cutting) bestMember() int {
	if i, _ := c.p.chosen(c.a); i >= 0 && c.members[i].v.Storage.Layout == manifest.Chunked {
		return i
	}
	for _, wantKept := range []bool{true, false} {
		weights := map[string]int64{}
		members := map[string]int{}
		for i := range c.members {
			m := &c.members[i]
			if m.v.Storage.Layout != manifest.Chunked || wantKept && !c.kept[i] {
				continue
			}
			key := c.chunkKey(i)
			weights[key] += c.weight(i)
			members[key] = i
		}
		best := ""
		for i, key := range sorted(weights) {
			// Keys are sorted, so equal weights give the same result in every run.
			if i == 0 || weights[key] > weights[best] {
				best = key
			}
		}
		if len(weights) > 0 {
			return members[best]
		}
	}
	return -1
}

// chunkKey identifies the chunks of member i along dimensions in which files are not placed.
func (c *cutting) chunkKey(i int) string {
	b := appendShape(nil, c.masked(c.stored(&c.members[i])))
	for k := range c.shape {
		if c.placedAt(k) < 0 {
			for _, r := range c.listed(i, k) {
				b = appendShape(b, []int64{int64(k), r.Codec, r.Count, r.Data})
			}
		}
	}
	return string(b)
}

// usualAlong returns the chunk length that most bytes have along a dimension in which files are
// placed. If several lengths have as many bytes, it returns the longest.
func (c *cutting) usualAlong(axis int) (usual int64) {
	weights := map[int64]int64{}
	for i := range c.members {
		weights[c.chunkAlong(axis, &c.members[i])] += c.weight(i)
	}
	for _, n := range sorted(weights) {
		if usual == 0 || weights[n] >= weights[usual] {
			usual = n
		}
	}
	return max(usual, 1)
}

// masked returns a chunk shape with 0 for dimensions in which files are placed.
func (c *cutting) masked(s []int64) []int64 {
	out := slices.Clone(s)
	for k := range out {
		if c.placedAt(k) >= 0 {
			out[k] = 0
		}
	}
	return out
}

func appendShape(b []byte, s []int64) []byte {
	for _, n := range s {
		for i := range 8 {
			b = append(b, byte(n>>(56-8*i)))
		}
	}
	return b
}

// free chooses a chunk shape for contiguous storage: contiguous byte ranges of at most
// edge.MostBytes.
// Records that are stored apart from one another become separate chunks.
func (c *cutting) free() []int64 {
	lengths := make([]int64, len(c.shape))
	big := int64(-1)
	var of *member
	for i := range c.members {
		m := &c.members[i]
		if w := c.weight(i); w > big {
			big, of = w, m
		}
	}
	for k := range lengths {
		lengths[k] = 1
		if own := k - len(c.a.made); own >= 0 {
			lengths[k] = max(of.v.Shape[of.axes[own]], 1)
		}
	}
	return c.split(lengths, of.v.Storage.Stride)
}

// split shortens the leading axes of a shape until a chunk holds at most edge.MostBytes. Only the
// leading axes are cut, so that each chunk stays one contiguous byte range. stride is the distance
// between records in bytes, or 0 if nothing is between them.
func (c *cutting) split(lengths []int64, stride int64) []int64 {
	first := len(c.a.made)
	out := slices.Clone(lengths)
	inner := c.element
	k := len(out) - 1
	for ; k >= first && inner*out[k] <= edge.MostBytes; k-- {
		inner *= out[k]
	}
	if k >= first {
		out[k] = edge.EvenCut(out[k], inner, edge.MostBytes)
		for j := first; j < k; j++ {
			out[j] = 1
		}
	}
	if stride != 0 && first < len(lengths) {
		record := c.element
		for _, n := range out[first+1:] {
			record *= n
		}
		out[first] = edge.RecordsPerChunk(record, stride, lengths[first], c.shape[first])
	}
	return out
}

// edges returns the edges along one axis. They are cached in the placing.
func (c *cutting) edges(axis int) []grid.Run {
	at := c.placedAt(axis)
	if at < 0 {
		if c.lists[axis] == nil {
			return edge.Repeat([]int64{c.around[axis]}, c.shape[axis])
		}
		b := edge.Builder{Extent: c.shape[axis]}
		for _, r := range c.lists[axis] {
			b.Push(r)
		}
		// Another file may be longer, if files are padded.
		b.Chunks(b.Extent, c.around[axis], 0, true)
		return b.Runs
	}
	key := c.bandKey(axis)
	if runs, ok := c.a.where.runs[key]; ok {
		return runs
	}
	b := edge.Builder{Extent: c.shape[axis], Usual: c.usual[axis], Own: c.ownEdges(axis)}
	if old := c.oldEdges(axis, at); old != nil {
		b.Runs, b.At = old, c.p.env.earlier.Length
	}
	from := b.At
	c.eachBand(axis, at, func(s edge.Band) {
		if s.From >= from {
			b.Add(s)
		}
	})
	// Positions after the last tile need chunks, too.
	b.Fill(b.Extent)
	if c.a.where.runs == nil {
		c.a.where.runs = map[string][]grid.Run{}
	}
	c.a.where.runs[key] = b.Runs
	return b.Runs
}

// bandKey returns a key of everything on which the edges depend, except the tiles. Most arrays of a
// placing have equal keys.
func (c *cutting) bandKey(axis int) string {
	b := appendShape(nil, []int64{int64(axis - len(c.a.made)), c.shape[axis], c.usual[axis]})
	b = append(b, c.a.dimAt(axis)...)
	for i := range c.members {
		m := &c.members[i]
		b = appendShape(b, []int64{int64(m.class), c.chunkAlong(axis, m), c.bandWeight(i)})
		b = append(b, m.v.Storage.Layout...)
		if m.v.Storage.Edges != nil {
			b = append(b, c.a.path...)
		}
	}
	// The option may also have decided the edges of an earlier plan.
	if c.p.env.override(c.a, axis) != nil {
		b = append(b, c.a.path...)
	}
	return string(b)
}

// isBroadcastAlong reports whether the array is broadcast along an axis.
func (c *cutting) isBroadcastAlong(axis int) bool {
	if !c.a.broadcast || axis >= len(c.a.made) {
		return false
	}
	at := c.placedAt(axis)
	return at >= 0 && c.a.where.dims[at].by != byOption
}
