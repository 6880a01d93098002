package planner

import (
	"slices"

	"varve/grid"
	"varve/manifest"
	"varve/zarrjson"
)

// Limits for chunks of contiguous storage, whose length varve may choose. A request for less than a
// few KiB costs more than its bytes; in a chunk of many MiB, readers fetch much that they do not need.
const (
	mostBytes  = 4 << 20 // the largest chunk
	leastBytes = 4 << 10 // the smallest chunk, unless the array is smaller
)

// Limits for the records of netCDF-3 files, in which a record of one variable is followed by the
// records of other variables. A chunk of one record is verbatim; a chunk of several records is
// re-encoded. Records are joined if chunks of one record would be too small or too many.
const (
	longRecord   = 8 << 10 // bytes; a record of this size is always a chunk
	shortRecord  = 512     // bytes; records of this size are chunks if there are at most mostChunks
	mostChunks   = 10_000
	tinyRecord   = 8 // bytes; records of this size are chunks if there are at most fewChunks
	fewChunks    = 64
	joinedBytes  = 1 << 20 // bytes to read for a chunk of several records, with the other records between them
	leastRecords = 64      // the least number of records to join, if they are so far apart that each is read separately
)

// cutting decides the chunk grid of an array.
type cutting struct {
	p       *survey
	a       *array
	members []member
	kept    []bool // for each member, whether its chunks can be served verbatim
	element int64  // size of an element in memory
	shape   []int64
	around  []int64 // chunk length (the longest) along dimensions in which files are not placed; 0 for other dimensions
	lists   [][]run // edges along dimensions in which files are not placed, if they differ; nil for other dimensions
	usual   []int64 // along dimensions in which files are placed: chunk length for positions that no tile covers
}

// gridOf decides the chunk grid of an array, and with Options.Padded its Array.CodecSizes. kept says for
// each of a.all() whether its chunks can be served verbatim.
func (p *survey) gridOf(a *array, shape []int64, kept []bool) (declared zarrjson.ChunkGrid, codecSizes [][][2]int64) {
	c := &cutting{p: p, a: a, members: a.all(), kept: kept, shape: shape}
	c.element = elementSize(c.members)
	c.chooseAround()
	axes := make([][]run, len(shape))
	// Readers support regular grids everywhere and rectilinear ones seldom, so a regular grid is
	// declared unless it would re-encode chunks and the user allows the alternative.
	regular := !p.env.opts.Rectilinear || len(a.placed) == 0
	sizes := make([]int64, len(shape))
	for k := range shape {
		if lengths := p.env.override(a, k); lengths != nil {
			axes[k] = broadcast(lengths, shape[k])
			if !slices.Equal(plain(axes[k]), plain(c.edges(k))) {
				clear(c.lists) // no chunk stays verbatim
			}
		}
	}
	for k := range shape {
		if axes[k] == nil {
			axes[k] = c.edges(k)
		}
		even := false
		sizes[k], even = evenly(axes[k], shape[k])
		regular = regular && even && !(p.env.opts.Padded && paddedSizes(axes[k]) != nil)
	}
	// A rectilinear grid cannot describe an empty axis.
	if regular || slices.Contains(shape, 0) {
		return zarrjson.RegularGrid(sizes...), nil
	}
	edges := make([]grid.Sizes, len(shape))
	for k := range axes {
		edges[k] = grid.RunLength(plain(axes[k])...)
		if list := paddedSizes(axes[k]); p.env.opts.Padded && list != nil {
			if codecSizes == nil {
				codecSizes = make([][][2]int64, len(shape))
			}
			codecSizes[k] = list
		}
	}
	return zarrjson.RectilinearGrid(edges...), codecSizes
}

// paddedSizes returns the codec sizes of runs, or nil if no edge before the last one is padded.
func paddedSizes(runs []run) (list [][2]int64) {
	padded := false
	for i, r := range runs {
		padded = padded || r.length > r.data && i < len(runs)-1
		if k := len(list) - 1; k >= 0 && list[k][0] == r.length {
			list[k][1] += r.count
			continue
		}
		list = append(list, [2]int64{r.length, r.count})
	}
	if !padded {
		return nil
	}
	return list
}

// run is a number of equal edges in a row. If the last edge is padded, length is its codec size and
// data its data size; otherwise the two are equal.
type run struct {
	length, count int64
	data          int64
}

// plain converts runs to the form of a grid. The last edge may extend beyond the array.
func plain(runs []run) []grid.Run {
	var out []grid.Run
	for i, r := range runs {
		if i == len(runs)-1 {
			out = appendRun(out, r.data, r.count-1)
			out = appendRun(out, r.length, 1)
			break
		}
		out = appendRun(out, r.data, r.count)
	}
	return out
}

func appendRun(out []grid.Run, length, count int64) []grid.Run {
	if k := len(out) - 1; k >= 0 && out[k].Data == length {
		out[k].Count += count
		return out
	}
	if count > 0 {
		out = append(out, grid.Times(length, count))
	}
	return out
}

// evenly returns the common length of the chunks along an axis. ok is false if lengths differ; only
// the last chunk may be shorter, if it is padded.
func evenly(runs []run, extent int64) (size int64, ok bool) {
	if extent == 0 || len(runs) == 0 {
		if len(runs) > 0 {
			return max(runs[0].length, 1), true
		}
		return 1, true
	}
	size = runs[0].data
	for i, r := range runs {
		switch {
		case r.data == size:
		case i == len(runs)-1 && r.count == 1 && r.data < size && r.length == size:
		default:
			return size, false
		}
	}
	// A single chunk may be declared with its stored length, which exceeds the array.
	if len(runs) == 1 && runs[0].count == 1 {
		size = runs[0].length
	}
	return size, true
}

// broadcast repeats the last of the given lengths until they cover extent.
func broadcast(lengths []int64, extent int64) (runs []run) {
	at := int64(0)
	for _, n := range lengths[:len(lengths)-1] {
		runs = append(runs, run{n, 1, n})
		at += n
	}
	n := lengths[len(lengths)-1]
	if full := (extent - at) / n; full > 0 {
		runs = append(runs, run{n, full, n})
		at += full * n
	}
	if at < extent || len(runs) == 0 {
		runs = append(runs, run{n, 1, max(extent-at, 1)})
	}
	return runs
}

// override returns the chunk lengths that the user wants along an axis, or nil.
func (p *env) override(a *array, axis int) (lengths []int64) {
	at := a.dimAt(axis)
	for _, o := range p.opts.Schemas {
		if !matches([]string{o.Array}, a.path) {
			continue
		}
		for name, list := range o.Chunks {
			if len(list) > 0 && calls(name, at) {
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
func (c *cutting) storedEdges(m *member, axis int) []run {
	own := axis - len(c.a.made)
	if own < 0 || m.v.Storage.Edges == nil {
		return nil
	}
	runs := edgesWithin(m.v, m.axes[own])
	if _, even := evenly(runs, m.v.Shape[m.axes[own]]); even && paddedSizes(runs) == nil {
		return nil
	}
	return runs
}

// listed returns the storedEdges of member i if declaring them keeps its chunks verbatim, or nil. Few
// readers support rectilinear grids, so chunks that are re-encoded in any case get a regular one.
func (c *cutting) listed(i, axis int) []run {
	m := &c.members[i]
	if !c.kept[i] || !slices.IsSorted(m.axes) {
		return nil
	}
	return c.storedEdges(m, axis)
}

// edgesWithin returns a variable's edges along one of its axes as runs. If the last edge extends beyond the
// variable, it keeps its stored length. It returns nil if the edges are invalid: then no reader can use them.
func edgesWithin(v *manifest.Variable, axis int) (runs []run) {
	edges, err := v.Storage.CutEdges(axis)
	if err != nil {
		return nil
	}
	at, extent := int64(0), v.Shape[axis]
	for _, e := range edges {
		if full := min(e.Count, (extent-at)/max(e.Data, 1)); full > 0 {
			runs = append(runs, run{e.Codec, full, e.Data})
			at += full * e.Data
			if full == e.Count {
				continue
			}
		}
		if at < extent {
			runs = append(runs, run{e.Codec, 1, extent - at})
		}
		break
	}
	return runs
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
	return max(elementsOf(m.v), 1) * int64(max(m.v.Type.Size, 1)) * int64(len(c.p.classes[m.class].files))
}

// chooseAround chooses the chunk lengths along dimensions in which files are not placed, and the
// lengths for uncovered positions along the others.
func (c *cutting) chooseAround() {
	c.around, c.usual, c.lists = make([]int64, len(c.shape)), make([]int64, len(c.shape)), make([][]run, len(c.shape))
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
	if i := c.p.chosen(c.a); i >= 0 && c.members[i].v.Storage.Layout == manifest.Chunked {
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
				b = appendShape(b, []int64{int64(k), r.length, r.count, r.data})
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

// free chooses a chunk shape for contiguous storage: contiguous byte ranges of at most mostBytes.
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

// split shortens the leading axes of a shape until a chunk holds at most mostBytes. Only the
// leading axes are cut, so that each chunk stays one contiguous byte range. stride is the distance
// between records in bytes, or 0 if nothing is between them.
func (c *cutting) split(lengths []int64, stride int64) []int64 {
	first := len(c.a.made)
	out := slices.Clone(lengths)
	inner := c.element
	k := len(out) - 1
	for ; k >= first && inner*out[k] <= mostBytes; k-- {
		inner *= out[k]
	}
	if k >= first {
		out[k] = evenCut(out[k], inner, mostBytes)
		for j := first; j < k; j++ {
			out[j] = 1
		}
	}
	if stride != 0 && first < len(lengths) {
		record := c.element
		for _, n := range out[first+1:] {
			record *= n
		}
		out[first] = recordsPerChunk(record, stride, lengths[first], c.shape[first])
	}
	return out
}

// recordsPerChunk returns how many of n records in a file should be one chunk of an array that has
// `total` records.
func recordsPerChunk(record, stride, n, total int64) int64 {
	switch {
	case record >= longRecord, record >= shortRecord && total <= mostChunks, record >= tinyRecord && total <= fewChunks:
		return 1
	}
	most := max(joinedBytes/max(stride, 1), leastRecords)
	// Chunks of equal length need no list of lengths.
	if even := divisor(n, most); 4*even >= most || even == n {
		return even
	}
	return min(n, most)
}

// evenCut returns how many of n rows a chunk should hold, at most `most` bytes. It prefers a
// divisor of n, so that all chunks are equal, unless these chunks would be smaller than leastBytes.
func evenCut(n, row, most int64) int64 {
	if even := divisor(n, most/row); even*row >= leastBytes || even == n {
		return even
	}
	return max(min(n, most/row), 1)
}

// divisor returns the largest divisor of n that is at most limit.
func divisor(n, limit int64) int64 {
	limit = max(min(n, limit), 1)
	if limit == n {
		return n
	}
	best := int64(1)
	// Trial division up to the square root finds each pair of divisors once.
	for i := int64(1); i <= limit && i*i <= n; i++ {
		if n%i != 0 {
			continue
		}
		best = max(best, i)
		if n/i <= limit {
			best = max(best, n/i)
		}
	}
	return best
}

// edges returns the edges along one axis. They are cached in the placing.
func (c *cutting) edges(axis int) []run {
	at := c.placedAt(axis)
	if at < 0 {
		if c.lists[axis] == nil {
			return broadcast([]int64{c.around[axis]}, c.shape[axis])
		}
		b := builder{extent: c.shape[axis]}
		for _, r := range c.lists[axis] {
			b.push(r)
		}
		// Another file may be longer, if files are padded.
		b.chunks(b.extent, c.around[axis], 0, true)
		return b.runs
	}
	key := c.bandKey(axis)
	if runs, ok := c.a.where.runs[key]; ok {
		return runs
	}
	b := builder{extent: c.shape[axis], usual: c.usual[axis], own: c.ownEdges(axis)}
	c.eachBand(axis, at, b.add)
	// Positions after the last tile need chunks, too.
	b.fill(b.extent)
	if c.a.where.runs == nil {
		c.a.where.runs = map[string][]run{}
	}
	c.a.where.runs[key] = b.runs
	return b.runs
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
	return string(b)
}
