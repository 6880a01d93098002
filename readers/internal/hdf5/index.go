package hdf5

import (
	"context"
	"errors"
	"iter"
	"math"
	"math/bits"

	"varve/readers"
	"varve/readers/source"
)

// chunkIndex reads the chunk index of one dataset. Depending on its kind, an index identifies
// chunks by their position in the chunk grid, or by a slot number.
type chunkIndex struct {
	f               *File
	path            string // of the dataset
	addr            uint64
	kind            indexKind
	version         int // of the layout message
	isFiltered      bool
	chunk           []uint64 // shape of a chunk
	shape           []uint64 // shape of the dataset
	maxShape        []uint64
	bytes           uint64 // size of a chunk before filters
	size            uint64 // size of an element
	oneSize         uint64
	oneMask         uint32
	flags           int
	requireReadable bool // chunks that cannot be read are an error

	// onUnfound is called for each chunk that is in the index, but that a search of the index does
	// not find. It decides whether refs yields the chunk. If it is nil, no search is simulated.
	onUnfound func(error) (keep bool, _ error)

	budget uint64        // number of index entries that the file has room for
	window source.Window // for blocks that are read once
	out    *refSink
}

// refSink yields refs. It skips chunks outside the dataset's shape, which remain in the index when
// a dataset shrinks.
type refSink struct {
	yield   func(*readers.Ref, error) bool
	ref     readers.Ref
	grid    []uint64 // number of chunks of the shape, per dimension
	base    uint64
	end     uint64
	outside *Outside

	requireReadable bool // chunks that cannot be read are an error
	isStopped       bool
}

// Outside counts chunks in an index that are outside the shape of its dataset.
type Outside struct {
	Chunks, Bytes uint64
}

// refs streams the refs of the index. It skips chunks outside the shape and counts them in outside.
func (x *chunkIndex) refs(ctx context.Context, outside *Outside) iter.Seq2[*readers.Ref, error] {
	return func(yield func(*readers.Ref, error) bool) {
		run := *x
		if outside == nil {
			outside = new(Outside)
		}
		run.out = &refSink{
			yield: yield,
			ref:   readers.Ref{Index: make([]uint64, len(x.chunk))},
			grid:  gridOf(x.shape, x.chunk),
			base:  x.f.super.base,
			end:   uint64(x.f.end),

			outside:         outside,
			requireReadable: x.requireReadable,
		}
		// Every entry has at least an address, so a damaged count cannot exceed this.
		run.budget = uint64(x.f.end)/uint64(x.f.super.offsets) + 1
		if err := run.read(ctx); err != nil && !run.out.isStopped {
			yield(nil, x.f.locate(x.path, err))
		}
	}
}

// errStopped ends a traversal whose consumer stopped the iteration.
var errStopped = errors.New("stopped")

func (x *chunkIndex) read(ctx context.Context) error {
	if x.addr == undefined {
		return nil
	}
	x.f.prefetchIndexes(ctx)
	switch x.kind {
	case indexBTree1:
		return x.readBTree1(ctx)
	case indexSingle:
		return x.readSingle()
	case indexImplicit:
		return x.readImplicit(ctx)
	case indexFixedArray:
		return x.readFixedArray(ctx)
	case indexExtensibleArray:
		return x.readExtensibleArray(ctx)
	case indexBTree2:
		return x.readBTree2(ctx)
	}
	return unsupported("chunk index of type %d", x.kind)
}

// gridOf returns the number of chunks per dimension.
func gridOf(shape, chunk []uint64) []uint64 {
	grid := make([]uint64, len(shape))
	for i, n := range shape {
		if n == readers.Unlimited {
			grid[i] = readers.Unlimited
			continue
		}
		grid[i] = n / chunk[i]
		if n%chunk[i] != 0 {
			grid[i]++
		}
	}
	return grid
}

// isInside reports whether the chunk at s.ref.Index is within the shape.
func (s *refSink) isInside() bool {
	grid := s.grid[:len(s.ref.Index)]
	for i, n := range s.ref.Index {
		if n >= grid[i] {
			return false
		}
	}
	return true
}

// emit yields the ref of the chunk at s.ref.Index.
func (s *refSink) emit(addr, size uint64, mask uint32) error {
	if addr == undefined {
		return nil
	}
	if !s.isInside() {
		s.outside.Chunks++
		s.outside.Bytes += size
		return nil
	}
	off := addr + s.base
	within := off >= addr && off <= s.end && size <= s.end-off
	// Listing shows a truncated file's chunks at their addresses, unless these are out of range.
	if !within && (s.requireReadable || off < addr || off > math.MaxInt64) {
		return readers.Corruptf("chunk %v of %d bytes at address %d extends beyond the end of the file", s.ref.Index, size, addr)
	}
	s.ref.Offset, s.ref.Size, s.ref.Mask = int64(off), size, mask
	if !s.yield(&s.ref, nil) {
		s.isStopped = true
		return errStopped
	}
	return nil
}

// spend subtracts n entries of an index from the number that the file has room for.
func (x *chunkIndex) spend(n uint64) error {
	if n > x.budget {
		return readers.Corruptf("chunk index: more entries than fit in the file")
	}
	x.budget -= n
	return nil
}

// sizeWidth returns the number of bytes of a filtered chunk's size in an index.
func (x *chunkIndex) sizeWidth() int {
	if x.version >= 5 {
		return x.f.super.lengths
	}
	// libhdf5 allows one byte more than the unfiltered size needs, because filters can enlarge a
	// chunk.
	return min(8, 1+(bits.Len64(x.bytes)-1+8)/8)
}

// readSingle yields the only chunk, which the layout message describes.
func (x *chunkIndex) readSingle() error {
	size := x.bytes
	if x.flags&flagSingleFilter != 0 {
		size = x.oneSize
	}
	clear(x.out.ref.Index)
	return x.out.emit(x.addr, size, x.oneMask)
}

// readImplicit yields chunks that are stored consecutively in C order, over the grid of the maximum
// shape. Chunks outside the current shape have space in the file, but no data yet.
func (x *chunkIndex) readImplicit(ctx context.Context) error {
	slots := newSlots(x.maxShape, x.shape, x.chunk, -1)
	n, ok := product(slots.grid)
	if hi, lo := bits.Mul64(n, x.bytes); !ok || hi != 0 || lo > x.out.end {
		return readers.Corruptf("implicit chunk index: %d chunks of %d bytes do not fit in the file", n, x.bytes)
	}
	for i := range n {
		if i&4095 == 0 && ctx.Err() != nil { // the check is too slow for every chunk
			return ctx.Err()
		}
		slots.writePosition(x.out.ref.Index)
		if x.out.isInside() {
			if err := x.out.emit(x.addr+i*x.bytes, x.bytes, 0); err != nil {
				return err
			}
		}
		slots.next()
	}
	return nil
}

// slots converts slot numbers to positions in the chunk grid. Slots are numbered in C order over
// the grid of the maximum shape; an extensible array puts its unlimited dimension first.
type slots struct {
	grid  []uint64 // number of chunks per dimension, in the order of numbering
	at    []uint64 // position of the current slot, in the same order
	first int      // the dimension that is moved to the front, or -1
	left  uint64   // slots that can be in use, including the current one
}

func newSlots(maxShape, shape, chunk []uint64, first int) *slots {
	grid := gridOf(maxShape, chunk)
	for i, n := range grid {
		if n == readers.Unlimited {
			// The slowest dimension may grow without limit, so its length does not affect the
			// numbering.
			grid[i] = max(gridOf(shape, chunk)[i], 1)
		}
	}
	s := &slots{grid: grid, at: make([]uint64, len(grid)), first: first, left: math.MaxUint64}
	if first > 0 {
		n := grid[first]
		copy(grid[1:first+1], grid[:first])
		grid[0] = n
	}
	return s
}

// writePosition writes the grid position of the current slot to index.
func (s *slots) writePosition(index []uint64) {
	if s.first <= 0 {
		copy(index, s.at)
		return
	}
	copy(index, s.at[1:s.first+1])
	index[s.first] = s.at[0]
	copy(index[s.first+1:], s.at[s.first+1:])
}

// next advances to the next slot. The slowest dimension has no limit.
func (s *slots) next() {
	s.left--
	for d := len(s.at) - 1; d > 0; d-- {
		if s.at[d]++; s.at[d] < s.grid[d] {
			return
		}
		s.at[d] = 0
	}
	if len(s.at) > 0 {
		s.at[0]++
	}
}

// skip advances by n slots.
func (s *slots) skip(n uint64) {
	s.left -= min(s.left, n)
	for d := len(s.at) - 1; d > 0; d-- {
		total := s.at[d] + n%s.grid[d]
		n /= s.grid[d]
		if total >= s.grid[d] {
			total -= s.grid[d]
			n++
		}
		s.at[d] = total
	}
	if len(s.at) > 0 {
		s.at[0] += n
	}
}
