package blosc

import (
	"math"

	"varve/codec/internal/corrupt"
)

// An array is the content b2nd of a frame (README_B2ND_METALAYER.rst of c-blosc2), as msgpack:
//
//	97 version, n, [shape: n times i64], [chunkshape: n times i32], [blockshape: n times i32],
//	   format of the type's name, the type's name
//
// Chunks tile the shape, blocks tile a chunk, both in C order and both padded where they stick
// out; within a block elements are in C order. So a chunk is a whole number of blocks, each of
// them whole, and padding is decoded and dropped.
type array struct {
	n                   int
	shape, chunk, block [maxDims]int
}

const maxDims = 15 // a fixarray's limit; c-blosc2 allows 8

// readArray reads the shapes.
func readArray(content []byte) (*array, error) {
	m := msgpack{content}
	a := new(array)
	if fields := m.array(); fields < 5 {
		return nil, corrupt.Errorf("b2nd: an array of %d at byte 0, at least 5 are expected", fields)
	}
	version := m.integer()
	a.n = int(m.integer())
	if version < 0 || a.n < 1 || a.n > maxDims {
		return nil, unsupported("b2nd: version %d, %d dimensions, allowed 1 to %d", version, a.n, maxDims)
	}
	for _, to := range []*[maxDims]int{&a.shape, &a.chunk, &a.block} {
		if n := m.array(); n != a.n {
			return nil, corrupt.Errorf("b2nd: a shape of %d, %d dimensions", n, a.n)
		}
		for i := range a.n {
			to[i] = int(m.integer())
		}
	}
	for i := range a.n {
		if a.shape[i] < 0 || a.shape[i] > maxBytes || a.block[i] < 1 || a.chunk[i] < a.block[i] || a.chunk[i] > math.MaxInt32 {
			return nil, corrupt.Errorf("b2nd: dimension %d: shape %d, chunk %d, block %d", i, a.shape[i], a.chunk[i], a.block[i])
		}
	}
	return a, nil
}

// check compares the shapes with what the frame says of its size, which also bounds them.
func (a *array) check(f *frame) error {
	chunk, all := f.typesize, f.typesize
	for i := range a.n {
		blocks := a.blocks(i)
		chunks := (a.shape[i] + a.chunk[i] - 1) / a.chunk[i]
		if !product(&chunk, blocks*a.block[i]) || !product(&all, blocks*a.block[i]) || !product(&all, chunks) {
			return corrupt.Errorf("b2nd: shape %v, chunks %v, blocks %v are too large", a.shape[:a.n], a.chunk[:a.n], a.block[:a.n])
		}
	}
	if all != f.nbytes || all > 0 && chunk != f.chunkSize {
		return corrupt.Errorf("b2nd: %d bytes in chunks of %d, the frame has %d in chunks of %d", all, chunk, f.nbytes, f.chunkSize)
	}
	if size := a.size(f.typesize); all/maxPadding > size+maxKept/maxPadding {
		return corrupt.Errorf("b2nd: %d bytes of which %d are no padding", all, size)
	}
	return nil
}

// maxPadding is how many times larger than its data an array may be with its padding, if it is
// not small: going through the padding must not take much longer than the data justify.
const maxPadding = 64

// product multiplies p by n, unless that gets near to overflow.
func product(p *int, n int) bool {
	if *p > 0 && n > maxBytes / *p {
		return false
	}
	*p *= n
	return true
}

// blocks is how many blocks a chunk has along dimension i.
func (a *array) blocks(i int) int { return (a.chunk[i] + a.block[i] - 1) / a.block[i] }

func (a *array) blockItems() int {
	n := 1
	for i := range a.n {
		n *= a.block[i]
	}
	return n
}

// size is the decoded size without padding; check made sure that it is no more than nbytes.
func (a *array) size(typesize int) int {
	for i := range a.n {
		typesize *= a.shape[i]
	}
	return typesize
}

// An arrayChunk is a chunk of an array, whose elements may be wider than the chunk itself
// can say.
type arrayChunk struct {
	*chunk2
	itemSize int
}

// place decodes chunk number i and copies what is no padding to where it belongs in dst.
func (a *array) place(dst []byte, i int, c arrayChunk, s *scratch) error {
	size := a.blockItems() * c.itemSize
	if c.blocksize != size {
		return corrupt.Errorf("b2nd: blocksize %d at byte 8, %v of %d bytes are expected", c.blocksize, a.block[:a.n], c.itemSize)
	}
	if size > maxKept+len(dst) {
		return corrupt.Errorf("b2nd: blocks of %d bytes in an array of %d", size, len(dst))
	}
	if n := len(c.value); n > 0 && size%n != 0 {
		return corrupt.Errorf("b2nd: blocks of %d bytes are full of a value of %d", size, n)
	}
	var origin, grid, at [maxDims]int
	for d := a.n - 1; d >= 0; d-- {
		chunks := (a.shape[d] + a.chunk[d] - 1) / a.chunk[d]
		origin[d] = i % chunks * a.chunk[d]
		i /= chunks
		grid[d] = a.blocks(d)
	}
	block, first := s.part.bytes(size), s.first.bytes(size)
	for b := range c.blocks() {
		out := block
		if b == 0 {
			out = first
		}
		rest := b
		for d := a.n - 1; d >= 0; d-- {
			at[d] = origin[d] + rest%grid[d]*a.block[d]
			rest /= grid[d]
		}
		extent, ok := a.extent(&origin, &at)
		if !ok && b > 0 {
			continue // nothing but padding
		}
		if err := c.decodeBlock(out, b, first, s); err != nil {
			return err
		}
		if ok {
			a.copyBlock(dst, out, &box{at, extent, c.itemSize})
		}
	}
	return nil
}

// extent is how much of the block at is neither beyond its chunk nor beyond the array.
func (a *array) extent(origin, at *[maxDims]int) (extent [maxDims]int, ok bool) {
	for d := range a.n {
		end := min(at[d]+a.block[d], origin[d]+a.chunk[d], a.shape[d])
		if extent[d] = end - at[d]; extent[d] <= 0 {
			return extent, false
		}
	}
	return extent, true
}

// A box is a part of the array.
type box struct {
	at, extent [maxDims]int
	itemSize   int
}

// copyBlock copies the beginning of a block in each dimension to its box in dst, row by row.
func (a *array) copyBlock(dst, block []byte, b *box) {
	last := a.n - 1
	row := b.extent[last] * b.itemSize
	var i [maxDims]int
	for {
		from, to := 0, 0
		for d := range a.n {
			from = from*a.block[d] + i[d]
			to = to*a.shape[d] + b.at[d] + i[d]
		}
		copy(dst[to*b.itemSize:][:row], block[from*b.itemSize:])
		d := last - 1
		for ; d >= 0; d-- {
			if i[d]++; i[d] < b.extent[d] {
				break
			}
			i[d] = 0
		}
		if d < 0 {
			return
		}
	}
}
