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

// chunkIndex finds the chunks of one dataset. An index says where chunks are by their
// place in the grid of chunks, or by the number of a slot.
type chunkIndex struct {
	f        *File
	path     string // of the dataset
	addr     uint64
	kind     indexKind
	version  int // of the layout message
	filtered bool
	chunk    []uint64 // shape of a chunk
	shape    []uint64 // of the dataset
	maxShape []uint64
	bytes    uint64 // of a chunk before filters
	size     uint64 // of an element
	oneSize  uint64
	oneMask  uint32
	flags    int
	findable bool // chunks that cannot be read are an error

	// unfound is told of chunks that are in the index and that a search of it does not find, and
	// says whether to hand them on. If it is nil nobody looks for such.
	unfound func(error) (keep bool, _ error)

	budget uint64        // how many refs the file has room for
	window source.Window // for blocks that are read once
	out    *refSink
}

// refSink hands refs on. Chunks beyond the dataset's shape are left out: a dataset that
// shrank leaves them in its index.
type refSink struct {
	yield   func(*readers.Ref, error) bool
	ref     readers.Ref
	grid    []uint64 // chunks that the shape needs, per dimension
	base    uint64
	end     uint64
	outside *Outside

	findable bool // chunks that cannot be read are an error
	stopped  bool
}

// Outside counts chunks that an index holds beyond the shape of its dataset.
type Outside struct {
	Chunks, Bytes uint64
}

// refs streams the refs of the index, and counts those outside the shape.
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

			outside:  outside,
			findable: x.findable,
		}
		run.budget = uint64(x.f.end)/uint64(x.f.super.offsets) + 1
		if err := run.read(ctx); err != nil && !run.out.stopped {
			yield(nil, x.f.locate(x.path, err))
		}
	}
}

// errStopped ends a traversal whose consumer wants no more.
var errStopped = errors.New("stopped")

func (x *chunkIndex) read(ctx context.Context) error {
	if x.addr == undefined {
		return nil
	}
	x.f.announceIndexes(ctx)
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
	return unsupported("chunk index %d", x.kind)
}

// gridOf is the number of chunks per dimension.
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

// inside reports whether the place in s.ref.Index lies within the shape.
func (s *refSink) inside() bool {
	grid := s.grid[:len(s.ref.Index)]
	for i, n := range s.ref.Index {
		if n >= grid[i] {
			return false
		}
	}
	return true
}

// emit hands on the ref of the chunk whose place is in s.ref.Index.
func (s *refSink) emit(addr, size uint64, mask uint32) error {
	if addr == undefined {
		return nil
	}
	if !s.inside() {
		s.outside.Chunks++
		s.outside.Bytes += size
		return nil
	}
	off := addr + s.base
	within := off >= addr && off <= s.end && size <= s.end-off
	if !within && (s.findable || off < addr || off > math.MaxInt64) {
		return readers.Corruptf("chunk %v of %d bytes at address %d lies beyond the end of the file", s.ref.Index, size, addr)
	}
	s.ref.Offset, s.ref.Size, s.ref.Mask = int64(off), size, mask
	if !s.yield(&s.ref, nil) {
		s.stopped = true
		return errStopped
	}
	return nil
}

// spend counts n entries of an index against what the file has room for.
func (x *chunkIndex) spend(n uint64) error {
	if n > x.budget {
		return readers.Corruptf("chunk index has more entries than the file has room for")
	}
	x.budget -= n
	return nil
}

// sizeWidth is how many bytes the size of a filtered chunk takes in an index.
func (x *chunkIndex) sizeWidth() int {
	if x.version >= 5 {
		return x.f.super.lengths
	}
	return min(8, 1+(bits.Len64(x.bytes)-1+8)/8)
}

// readSingle gives the one chunk, which stands in the layout message.
func (x *chunkIndex) readSingle() error {
	size := x.bytes
	if x.flags&flagSingleFilter != 0 {
		size = x.oneSize
	}
	clear(x.out.ref.Index)
	return x.out.emit(x.addr, size, x.oneMask)
}

// readImplicit gives chunks that lie one after another in C order, over the grid of the
// maximum shape. There is room for those outside the shape, but nothing in it yet.
func (x *chunkIndex) readImplicit(ctx context.Context) error {
	slots := newSlots(x.maxShape, x.shape, x.chunk, -1)
	n, ok := product(slots.grid)
	if hi, lo := bits.Mul64(n, x.bytes); !ok || hi != 0 || lo > x.out.end {
		return readers.Corruptf("%d chunks of %d bytes do not fit the file", n, x.bytes)
	}
	for i := range n {
		if i&4095 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		slots.place(x.out.ref.Index)
		if x.out.inside() {
			if err := x.out.emit(x.addr+i*x.bytes, x.bytes, 0); err != nil {
				return err
			}
		}
		slots.next()
	}
	return nil
}

// slots turns the numbers of slots into places in the grid. Slots are numbered in C order
// over the grid of the maximum shape; an extensible array puts the unlimited dimension
// first.
type slots struct {
	grid  []uint64 // in the order of numbering
	at    []uint64
	first int    // the dimension that comes first, or -1
	left  uint64 // slots that can hold something, the present one first
}

func newSlots(maxShape, shape, chunk []uint64, first int) *slots {
	grid := gridOf(maxShape, chunk)
	for i, n := range grid {
		if n == readers.Unlimited {
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

// place writes the place of the present slot.
func (s *slots) place(index []uint64) {
	if s.first <= 0 {
		copy(index, s.at)
		return
	}
	copy(index, s.at[1:s.first+1])
	index[s.first] = s.at[0]
	copy(index[s.first+1:], s.at[s.first+1:])
}

// next goes to the next slot. The slowest dimension counts on without end.
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

// skip goes n slots on.
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
