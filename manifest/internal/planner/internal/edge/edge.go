// Package edge makes chunk grids along one dimension from the chunk lengths of files.
package edge

import (
	"cmp"
	"slices"

	"varve/grid"
	"varve/manifest"
)

// Limits for chunks of contiguous storage, whose length varve may choose. A request for less than a
// few KiB costs more than its bytes; in a chunk of many MiB, readers fetch much that they do not need.
const (
	MostBytes  = 4 << 20 // the largest chunk
	LeastBytes = 4 << 10 // the smallest chunk, unless the array is smaller
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

// Declared returns runs as a rectilinear grid declares them: with their data sizes, except for the last edge, which
// may extend beyond the array.
func Declared(runs []grid.Run) (out []grid.Run) {
	for i, r := range runs {
		if i == len(runs)-1 {
			out = appendRun(out, r.Data, r.Count-1)
			out = appendRun(out, r.Codec, 1)
			break
		}
		out = appendRun(out, r.Data, r.Count)
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

// Even returns the common length of the chunks along an axis. ok is false if lengths differ; only
// the last chunk may be shorter, if it is padded.
func Even(runs []grid.Run, extent int64) (size int64, ok bool) {
	if extent == 0 || len(runs) == 0 {
		if len(runs) > 0 {
			return max(runs[0].Codec, 1), true
		}
		return 1, true
	}
	size = runs[0].Data
	for i, r := range runs {
		switch {
		case r.Data == size:
		case i == len(runs)-1 && r.Count == 1 && r.Data < size && r.Codec == size:
		default:
			return size, false
		}
	}
	// A single chunk may be declared with its stored length, which exceeds the array.
	if len(runs) == 1 && runs[0].Count == 1 {
		size = runs[0].Codec
	}
	return size, true
}

// Repeat repeats the last of the given lengths until they cover extent.
func Repeat(lengths []int64, extent int64) (runs []grid.Run) {
	at := int64(0)
	for _, n := range lengths[:len(lengths)-1] {
		runs = append(runs, grid.Times(n, 1))
		at += n
	}
	n := lengths[len(lengths)-1]
	if full := (extent - at) / n; full > 0 {
		runs = append(runs, grid.Times(n, full))
		at += full * n
	}
	if at < extent || len(runs) == 0 {
		runs = append(runs, grid.Run{Edge: grid.Edge{Codec: n, Data: max(extent-at, 1)}, Count: 1})
	}
	return runs
}

// Within returns a variable's edges along one of its axes as runs. If the last edge extends beyond the
// variable, it keeps its stored length. It returns nil if the edges are invalid: then no reader can use them.
func Within(v *manifest.Variable, axis int) (runs []grid.Run) {
	edges, err := v.Storage.CutEdges(axis)
	if err != nil {
		return nil
	}
	at, extent := int64(0), v.Shape[axis]
	for _, e := range edges {
		if full := min(e.Count, (extent-at)/max(e.Data, 1)); full > 0 {
			runs = append(runs, grid.Run{Edge: e.Edge, Count: full})
			at += full * e.Data
			if full == e.Count {
				continue
			}
		}
		if at < extent {
			runs = append(runs, grid.Run{Edge: grid.Edge{Codec: e.Codec, Data: extent - at}, Count: 1})
		}
		break
	}
	return runs
}

// PaddedSizes returns the codec sizes of runs, or nil if no edge before the last one is padded.
func PaddedSizes(runs []grid.Run) (list [][2]int64) {
	padded := false
	for i, r := range runs {
		padded = padded || r.Codec > r.Data && i < len(runs)-1
		if k := len(list) - 1; k >= 0 && list[k][0] == r.Codec {
			list[k][1] += r.Count
			continue
		}
		list = append(list, [2]int64{r.Codec, r.Count})
	}
	if !padded {
		return nil
	}
	return list
}

// RecordsPerChunk returns how many of n records in a file should be one chunk of an array that has
// `total` records.
func RecordsPerChunk(record, stride, n, total int64) int64 {
	switch {
	case record >= longRecord, record >= shortRecord && total <= mostChunks, record >= tinyRecord && total <= fewChunks:
		return 1
	}
	most := max(joinedBytes/max(stride, 1), leastRecords)
	// Chunks of equal length need no list of lengths.
	if even := Divisor(n, most); 4*even >= most || even == n {
		return even
	}
	return min(n, most)
}

// EvenCut returns how many of n rows a chunk should hold, at most `most` bytes. It prefers a
// divisor of n, so that all chunks are equal, unless these chunks would be smaller than LeastBytes.
func EvenCut(n, row, most int64) int64 {
	if even := Divisor(n, most/row); even*row >= LeastBytes || even == n {
		return even
	}
	return max(min(n, most/row), 1)
}

// Divisor returns the largest divisor of n that is at most limit.
func Divisor(n, limit int64) int64 {
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

// Band is a range along a dimension, with the chunk length that most bytes in it have.
type Band struct {
	From, To int64
	Phase    int64 // offset of From within the tile's own chunk
	Length   int64 // chunk length; 0 for a tile that is one chunk
	Member   int32 // the member with a list of edges, or -1
	Padded   bool  // a short last chunk is stored at full length
}

// Settle resolves overlapping bands: at each position, the band with most votes wins. The
// result is sorted and disjoint.
func Settle(votes map[Band]int64) []Band {
	all := make([]Band, 0, len(votes))
	for b := range votes {
		if b.To > b.From {
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(a, b Band) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(votes[b], votes[a]),
			cmp.Compare(a.Length, b.Length), cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Member, b.Member))
	})
	var out []Band
	for i := 0; i < len(all); {
		// A group of bands that overlap one another.
		j, reach := i+1, all[i].To
		for j < len(all) && all[j].From < reach {
			reach = max(reach, all[j].To)
			j++
		}
		out = append(out, splitBands(all[i:j], votes)...)
		i = j
	}
	return out
}

// splitBands splits overlapping bands at all their ends, and keeps the band with most votes for each
// part.
func splitBands(group []Band, votes map[Band]int64) (out []Band) {
	same := true
	for _, b := range group[1:] {
		same = same && b.From == group[0].From && b.To == group[0].To
	}
	if same {
		return []Band{group[0]} // the band with most votes is first
	}
	var cuts []int64
	for _, b := range group {
		cuts = append(cuts, b.From, b.To)
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var here []Band // the bands that cover cuts[i], in the order of the group
	for i := range len(cuts) - 1 {
		for len(group) > 0 && group[0].From <= cuts[i] {
			here, group = append(here, group[0]), group[1:]
		}
		here = slices.DeleteFunc(here, func(b Band) bool { return b.To <= cuts[i] })
		b := slices.MaxFunc(here, func(a, b Band) int { return cmp.Compare(votes[a], votes[b]) })
		s := Band{From: cuts[i], To: cuts[i+1], Length: b.Length, Member: b.Member, Phase: b.Phase + cuts[i] - b.From}
		s.Padded = b.Padded && s.To == b.To
		if s.Length > 0 && s.Member < 0 {
			s.Phase %= s.Length
		}
		out = append(out, s)
	}
	return out
}

// Builder makes the edges along a dimension from bands, which are added in order.
type Builder struct {
	Extent int64                         // the length of the dimension
	Usual  int64                         // the chunk length at positions without a band
	Own    func(member int32) []grid.Run // returns the list of edges of a member
	At     int64                         // where the next edge begins
	Runs   []grid.Run                    // the edges up to At
}

// Fill appends edges of the usual length up to a position that the next tile covers.
func (b *Builder) Fill(to int64) {
	if b.At < to {
		b.Chunks(to, b.Usual, 0, false)
	}
}

// Add appends the edges of a band, and edges of the usual length before it.
func (b *Builder) Add(s Band) {
	b.Fill(s.From)
	if s.Member >= 0 {
		b.list(s)
		return
	}
	length := s.Length
	if length == 0 {
		length = s.To - s.From
	}
	b.Chunks(s.To, length, s.Phase, s.Padded)
}

// Chunks appends edges of a length up to a position. With a phase, the first edge is the rest of a
// chunk.
func (b *Builder) Chunks(to, length, phase int64, padded bool) {
	if phase > 0 {
		n := min(length-phase, to-b.At)
		b.Push(grid.Times(n, 1))
	}
	if full := (to - b.At) / length; full > 0 {
		b.Push(grid.Times(length, full))
	}
	if rest := to - b.At; rest > 0 {
		r := grid.Times(rest, 1)
		if padded {
			r.Codec = length
		}
		b.Push(r)
	}
}

// list appends the edges that a variable lists itself.
func (b *Builder) list(s Band) {
	at, origin := int64(0), s.From-s.Phase
	for _, r := range b.Own(s.Member) {
		length := r.Data
		if s.Padded {
			length = r.Codec
		}
		for n := r.Count; n > 0; {
			from, to := max(origin+at, b.At), min(origin+at+r.Data, s.To)
			switch {
			case origin+at >= s.To:
				return
			case to <= from:
				at, n = at+r.Data, n-1
			case to-from < r.Data:
				b.Push(grid.Times(to-from, 1))
				at, n = at+r.Data, n-1
			default:
				full := min(n, (s.To-b.At)/r.Data)
				b.Push(grid.Run{Edge: grid.Edge{Codec: length, Data: r.Data}, Count: full})
				at, n = at+full*r.Data, n-full
			}
		}
	}
}

// Push appends equal edges.
func (b *Builder) Push(r grid.Run) {
	b.At += r.Data * r.Count
	if k := len(b.Runs) - 1; k >= 0 && b.Runs[k].Edge == r.Edge {
		b.Runs[k].Count += r.Count
		return
	}
	b.Runs = append(b.Runs, r)
}

// RunsOf returns the edges that a grid declares along an axis, up to the end of the array.
func RunsOf(sizes grid.Sizes, extent int64) (runs []grid.Run) {
	if n, regular := sizes.RegularSize(); regular {
		return Repeat([]int64{n}, extent)
	}
	b := Builder{}
	for _, r := range sizes.Runs() {
		whole := min(r.Count, (extent-b.At)/max(r.Data, 1))
		if whole > 0 {
			b.Push(grid.Run{Edge: r.Edge, Count: whole})
		}
		if whole < r.Count && b.At < extent {
			b.Push(grid.Run{Edge: grid.Edge{Codec: r.Codec, Data: extent - b.At}, Count: 1})
		}
	}
	return b.Runs
}

// Continues reports whether edges begin with older edges, and the last of the older edges is a whole chunk.
func Continues(edges, older []grid.Run) bool {
	if len(older) == 0 || older[len(older)-1].Data != older[len(older)-1].Codec {
		return false
	}
	passed := int64(0) // edges of edges[0] that are in older
	for _, r := range older {
		for n := r.Count; n > 0; {
			if len(edges) == 0 || edges[0].Data != r.Data {
				return false
			}
			same := min(n, edges[0].Count-passed)
			n, passed = n-same, passed+same
			if passed == edges[0].Count {
				edges, passed = edges[1:], 0
			}
		}
	}
	return true
}
